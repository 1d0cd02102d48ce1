"""Bilinear maps between features and descriptions in closed form: ESZSL and SAE."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from superproto.baselines.base import LinearBaseline
from superproto.baselines.start import class_sums, unit_semantics
from superproto.inputs import Problem
from superproto.rows import Array
from superproto.whitening import unit_rows


def gram(X: Array) -> Array:
    """XᵀX, summed in the precision of X and returned in float64."""
    return np.asarray(X.T @ X, dtype=np.float64)


def two_sided_ridge(X_gram: Array, sums: Array, A: Array, gamma: float, lam: float) -> Array:
    """(m, d) the B = (AAᵀ + λI)⁻¹ YᵀX (XᵀX + γI)⁻¹ with Wᵀ = AᵀB, W = (XᵀX + γI)⁻¹ XᵀYA (AᵀA + λI)⁻¹; sums = YᵀX.

    The dual form in the descriptions, since there are fewer seen classes (m) than attributes as often as not.
    """
    half = linalg.solve(X_gram + gamma * np.eye(len(X_gram)), sums.T, assume_a="pos", check_finite=False)
    return np.asarray(linalg.solve(A @ A.T + lam * np.eye(len(A)), half.T, assume_a="pos", check_finite=False))


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


class ESZSL(LinearBaseline):
    """Embarrassingly simple zero-shot learning: a bilinear score learned by a ridge on both sides.

    ``min_W ||X W Aᵀ − Y||² + γ ||W Aᵀ||² + λ ||X W||² + γλ ||W||²``, solved by ``W = (XᵀX + γI)⁻¹ XᵀYA (AᵀA + λI)⁻¹``;
    the score of class c is ``xᵀ W a_c``.

    Left open in the paper: the range of Y (written as −1/1, coded by the authors as 0/1: 0/1 here) and the scale of the
    weights. Here descriptions have length 1 and both weights are in units of the mean eigenvalue of their Gram matrix,
    so that one default serves packs of any size; the authors' γ is ``gamma * N / d``, their λ ``lam * m / k``.

    Reference: Romera-Paredes and Torr, "An embarrassingly simple approach to zero-shot learning", ICML 2015. Published
    (ResNet-101, proposed split, Xian et al. 2019): CUB 53.9, AWA1 58.2, SUN 54.5, aPY 38.3. The MIT-licensed code of
    github.com/mvp18/Popular-ZSL-Algorithms gave 57.8 / 55.9 % (unit / whitened features) on CUB with EfficientNet-Lite0
    and 53.7 / 48.1 % on Flowers; run beside this class with equal weights, it gives the same labels.

    Parameters
    ----------
    gamma : float, default=1.0
        Ridge on the features. Grows: smoother in the features, closer to comparing with class means.
    lam : float, default=1.0
        Ridge on the descriptions. Grows: smoother in the descriptions, closer to comparing descriptions themselves.
    candidates, whiten, random_state, seen_bias
        As everywhere in the zoo; nothing here is random.
    """

    _nonnegative: ClassVar[tuple[str, ...]] = ("gamma", "lam")

    def __init__(
        self,
        gamma: float = 1.0,
        lam: float = 1.0,
        *,
        candidates: Any = "unseen",
        whiten: bool | float = False,
        random_state: Any = None,
        seen_bias: float = 0.0,
    ) -> None:
        self.gamma = gamma
        self.lam = lam
        self.candidates = candidates
        self.whiten = whiten
        self.random_state = random_state
        self.seen_bias = seen_bias

    def _learn(self, X: Array, problem: Problem) -> None:
        seen, A = problem.seen, unit_semantics(problem.semantics)
        sums, _ = class_sums(X, problem.labels, problem.n_classes)
        X_gram = gram(X[~problem.asked])
        gamma = _relative(self.gamma, np.trace(X_gram) / len(X_gram))
        lam = _relative(self.lam, float((A[seen] ** 2).sum()) / A.shape[1])
        self._store_linear(A @ A[seen].T @ two_sided_ridge(X_gram, sums[seen], A[seen], gamma, lam))


class SAE(LinearBaseline):
    """Semantic autoencoder: a linear map to descriptions whose transpose maps back.

    ``min_W ||X − S W||² + λ ||X Wᵀ − S||²`` with S the description of each sample (rows), W (k, d), solved by the
    Sylvester equation ``SᵀS W + λ W XᵀX = (1 + λ) SᵀX``. Both Gram matrices are symmetric, so two eigendecompositions
    solve it and a general Sylvester solver is not needed.

    Which way to compare is left to the reader: from features to descriptions ``cos(W x, a_c)`` or from descriptions to
    features ``cos(x, Wᵀ a_c)``. Both are here; the second makes fewer hubs and is the default. Features and
    descriptions have length 1, so λ means the same on every pack.

    Reference: Kodirov, Xiang and Gong, "Semantic autoencoder for zero-shot learning", CVPR 2017. Published (ResNet-101,
    proposed split, Xian et al. 2019): CUB 33.3, AWA1 53.0, SUN 40.3, aPY 8.3; the MIT-licensed code of
    github.com/mvp18/Popular-ZSL-Algorithms reaches 46.7, 59.9, 59.9, 16.5, and on EfficientNet-Lite0 features, unit /
    whitened: CUB 57.9 / 59.4, Flowers 59.6 / 55.7 % (descriptions to features), 45.0 / 50.5 and 55.1 / 47.7 % (features
    to descriptions). Run beside this class with equal λ it finds the same W; it then rescales every row of W, which
    costs it up to 1.4 points.

    Parameters
    ----------
    lam : float, default=0.2
        Weight of the encoder. Grows: predicts descriptions better and features worse.
    direction : {"semantic-to-feature", "feature-to-semantic"}, default="semantic-to-feature"
        The space in which samples and classes are compared.
    candidates, whiten, random_state, seen_bias
        As everywhere in the zoo; nothing here is random.

    Attributes
    ----------
    projection_ : array of shape (k, d)
        W.
    """

    _positive: ClassVar[tuple[str, ...]] = ("lam",)
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"direction": ("semantic-to-feature", "feature-to-semantic")}

    def __init__(
        self,
        lam: float = 0.2,
        direction: str = "semantic-to-feature",
        *,
        candidates: Any = "unseen",
        whiten: bool | float = False,
        random_state: Any = None,
        seen_bias: float = 0.0,
    ) -> None:
        self.lam = lam
        self.direction = direction
        self.candidates = candidates
        self.whiten = whiten
        self.random_state = random_state
        self.seen_bias = seen_bias

    def _learn(self, X: Array, problem: Problem) -> None:
        A = unit_semantics(problem.semantics)
        sums, counts = class_sums(X, problem.labels, problem.n_classes)
        self.projection_ = autoencoder(gram(X[~problem.asked]), sums, A, counts, self.lam)
        decoded = A @ self.projection_
        self._store_linear(unit_rows(decoded) if self.direction == "semantic-to-feature" else decoded)

    def _score(self, X: Array) -> Array:
        scores = super()._score(X)
        if self.direction == "semantic-to-feature":
            return scores
        lengths = np.linalg.norm(X @ self.projection_.T.astype(X.dtype), axis=1, keepdims=True)
        return scores / np.maximum(lengths, np.finfo(X.dtype).tiny)


def _relative(weight: float, mean_eigenvalue: float) -> float:
    """A weight in units of the mean eigenvalue, and never quite 0, so that the system stays solvable."""
    return float((weight + 1e-10) * mean_eigenvalue + np.finfo(np.float64).tiny ** 0.5)
