"""Methods that look at a sample only through its softmax over the classes: EM-Dirichlet and InMaP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from superproto.baselines._shared.class_vectors import class_vectors
from superproto.baselines._shared.predicted_prototypes import KERNELS, RIDGE
from superproto.baselines.base import LinearBaseline
from superproto.baselines.em_dirichlet import FLOOR
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


def even_out(probabilities: Array, strength: float, n_rounds: int = 20) -> Array:
    """Rows of the simplex whose class totals are drawn to each other: P ← rows of P / (Pᵀ1)^strength, repeated.

    ``strength`` 1 is Sinkhorn with equal classes, 0 changes nothing.
    """
    for _ in range(n_rounds if strength else 0):
        weighted = probabilities / np.maximum(probabilities.sum(axis=0), FLOOR) ** strength
        probabilities = weighted / weighted.sum(axis=1, keepdims=True)
    return probabilities


def proxy_loss(flat: Array, X: Array, targets: Array, scale: float) -> tuple[float, Array]:
    """Cross entropy of softmax(scale · X Wᵀ) against the targets, W = unit rows of ``flat``, and its gradient."""
    free = flat.reshape(targets.shape[1], X.shape[1])
    lengths = np.maximum(np.linalg.norm(free, axis=1, keepdims=True), FLOOR)
    proxies = free / lengths
    logs = log_softmax(scale * (X @ proxies.T.astype(X.dtype)).astype(np.float64), axis=1)
    error = ((np.exp(logs) - targets) * (scale / len(X))).astype(X.dtype)
    slope = (error.T @ X).astype(np.float64)
    tangent = (slope - (slope * proxies).sum(axis=1, keepdims=True) * proxies) / lengths
    return float(-(targets * logs).sum() / len(X)), tangent.ravel()


@dataclass(eq=False, repr=False)
class InMaP(LinearBaseline):
    """Vision proxies: unit class vectors re-learned from the pool's own zero-shot predictions.

    ``min over unit w of − N⁻¹ Σ_ik P_ik log softmax_k(proxy_scale · <x_i, w_k>)``, P = softmax(logit_scale · cos(x,
    class vector)) with class totals drawn together. A softer softmax than the one that made P moves the proxies to
    where the images are: the gap between the modalities closes.

    The source takes many gradient steps of fixed length; here L-BFGS on the same loss. Reference: Qian, Xu, Hu,
    *Intra-Modal Proxy Learning for Zero-Shot Visual Categorization with CLIP* (NeurIPS 2023): about 60.3 → 63 % on
    ImageNet (ResNet-50).

    Parameters
    ----------
    logit_scale : float, default=100
        Grows: targets closer to one-hot.
    proxy_scale : float, default=5
        Grows: proxies are content with smaller margins and stay closer to the class vectors.
    evenness : float, default=0.6
        In [0, 1]: grows, and class sizes in the targets are drawn to each other; 1: all equal.
    n_steps : int, default=50
        Steps of L-BFGS at most: grows, and the targets are fitted more closely.
    ridge, kernel
        Of the predicted prototypes, as in ``prototypes``.
    candidates, whiten, random_state, seen_bias
        As in every method; nothing here is random.

    Attributes
    ----------
    classifiers_ : array of shape (C, d)
        The proxies; class vectors for classes that are no candidates.
    """

    method_key = "inmap"

    logit_scale: float = 100.0
    proxy_scale: float = 5.0
    evenness: float = 0.6
    n_steps: int = 50
    ridge: float = RIDGE
    kernel: str = "linear"

    _positive: ClassVar[tuple[str, ...]] = ("logit_scale", "proxy_scale", "n_steps")
    _nonnegative: ClassVar[tuple[str, ...]] = ("ridge", "evenness")
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"kernel": KERNELS}

    def _takes_texts(self) -> bool:
        return True

    def _learn(self, X: Array, problem: Problem) -> None:
        proxies = class_vectors(X, problem, self.metric_, self.ridge, self.kernel)
        if problem.asked.any():
            pool, first = X[problem.asked], proxies[problem.allowed]
            cosines = np.asarray(pool @ first.T.astype(pool.dtype), dtype=np.float64)
            targets = even_out(softmax(self.logit_scale * cosines, axis=1), self.evenness)
            found = minimize(
                proxy_loss,
                first.ravel(),
                args=(pool, targets, self.proxy_scale),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": self.n_steps},
            )
            proxies[problem.allowed] = unit_rows(found.x.reshape(first.shape))
        self._store_linear(proxies)
