"""FIT: InMaP, class vectors learned again from zero-shot predictions."""

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
    """Intra-modal proxy learning (InMaP): class vectors learned again from zero-shot predictions of unlabeled samples.

    Unit proxies w minimize ``− N⁻¹ Σ_ik P_ik log softmax_k(proxy_scale · <x_i, w_k>)``. The targets P are the softmax
    of ``logit_scale`` times the cosines with the class vectors, with class totals drawn to each other. The softmax of
    the proxies is softer than that of the targets, which moves the proxies towards the samples.

    Parameters
    ----------
    logit_scale : float, default=100.0
        Larger: targets are closer to one class.
    proxy_scale : float, default=5.0
        Larger: smaller margins are enough, and proxies stay closer to the class vectors.
    evenness : float, default=0.6
        In [0, 1]. Larger: class sizes in the targets are closer to each other. 1: all equal.
    n_steps : int, default=50
        Largest number of L-BFGS steps. Larger: fits the targets more closely.
    ridge : float, default=0.1
        Ridge of the class vectors. Larger: unseen prototypes mix more seen classes, more evenly.
    kernel : {"linear", "rbf"}, default="linear"
        Kernel of the descriptions. "rbf" uses the nearest seen descriptions only.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. Nothing is random.

    Attributes
    ----------
    classifiers_ : array of shape (C, d)
        The proxies; class vectors for other classes than the candidates.

    Notes
    -----
    The paper takes many gradient steps of fixed length; here L-BFGS minimizes the same loss. Published: about 60.3 to
    63 on ImageNet (CLIP, ResNet-50).

    References
    ----------
    Qian, Xu and Hu, "Intra-modal proxy learning for zero-shot visual categorization with CLIP", NeurIPS 2023.
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
            # In double precision: rounded gradients would draw the proxies of equal classes apart.
            pool, first = X[problem.asked].astype(np.float64), proxies[problem.allowed]
            cosines = pool @ first.T
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
