"""FIT: SAE, a linear autoencoder between features and descriptions, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg

from superproto.baselines._shared.predicted_prototypes import labeled_class_sums, unit_semantics
from superproto.baselines._shared.projections import gram
from superproto.baselines.base import LinearBaseline
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


def autoencoder(X_gram: Array, sums: Array, A: Array, counts: Array, lam: float) -> Array:
    """(k, d) the W of SᵀS W + λ W XᵀX = (1 + λ) SᵀX, with SᵀS = Aᵀ diag(counts) A and SᵀX = Aᵀ sums.

    W = V [ (1 + λ) VᵀSᵀX U / (s² + λ w) ] Uᵀ with XᵀX = U diag(w) Uᵀ and √counts A = L diag(s) Vᵀ (thin); where the
    equation leaves W free, it is 0.
    """
    w, U = linalg.eigh(X_gram, driver="evd", check_finite=False)
    _, s, V = linalg.svd(A * np.sqrt(counts)[:, None], full_matrices=False, check_finite=False)
    denominator = (s * s)[:, None] + lam * np.maximum(w, 0)
    denominator[denominator <= 1e-12 * denominator.max(initial=0.0)] = np.inf
    return np.asarray(V.T @ ((1 + lam) * (V @ (A.T @ sums) @ U) / denominator) @ U.T)


@dataclass(eq=False, repr=False)
class SAE(LinearBaseline):
    """Semantic autoencoder: a linear map from features to descriptions whose transpose maps back.

    It solves ``min_W ‖X − S W‖² + λ ‖X Wᵀ − S‖²``, where S has the description of each sample and W is (k, d). The
    solution is that of the Sylvester equation ``SᵀS W + λ W XᵀX = (1 + λ) SᵀX``. Samples and classes are compared by
    cosine, in the space of the features or in that of the descriptions.

    Parameters
    ----------
    lam : float, default=0.2
        λ, weight of the encoder. Larger: predicts descriptions better and features worse.
    direction : {"semantic-to-feature", "feature-to-semantic"}, default="semantic-to-feature"
        The space of the comparison: ``cos(x, Wᵀ a_c)`` or ``cos(W x, a_c)``. The first makes fewer hubs.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. Nothing is random.

    Attributes
    ----------
    projection_ : array of shape (k, d)
        W.

    Notes
    -----
    Both Gram matrices are symmetric, so two eigendecompositions solve the equation. Features and descriptions have
    length 1, so λ means the same on every data set. The paper leaves the direction to the reader.

    The MIT-licensed code of github.com/mvp18/Popular-ZSL-Algorithms finds the same W with equal λ. It then rescales the
    rows of W. Published (ResNet-101, proposed split, Xian et al. 2019): CUB 33.3, AWA1 53.0, SUN 40.3, aPY 8.3.

    References
    ----------
    Kodirov, Xiang and Gong, "Semantic autoencoder for zero-shot learning", CVPR 2017.
    """

    method_key = "sae"

    lam: float = 0.2
    direction: str = "semantic-to-feature"

    _positive: ClassVar[tuple[str, ...]] = ("lam",)
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"direction": ("semantic-to-feature", "feature-to-semantic")}

    def _learn(self, X: Array, problem: Problem) -> None:
        A = unit_semantics(problem.semantics)
        sums, counts = labeled_class_sums(X, problem.labels, problem.n_classes)
        self.projection_ = autoencoder(gram(X[~problem.asked]), sums, A, counts, self.lam)
        decoded = A @ self.projection_
        self._store_linear(unit_rows(decoded) if self.direction == "semantic-to-feature" else decoded)

    def _score(self, X: Array) -> Array:
        scores = super()._score(X)
        if self.direction == "semantic-to-feature":
            return scores
        lengths = np.linalg.norm(X @ self.projection_.T.astype(X.dtype), axis=1, keepdims=True)
        return scores / np.maximum(lengths, np.finfo(X.dtype).tiny)
