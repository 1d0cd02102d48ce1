"""FIT: ESZSL, a bilinear score with a ridge on features and descriptions, in closed form."""

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


def two_sided_ridge(X_gram: Array, sums: Array, A: Array, gamma: float, lam: float) -> Array:
    """(m, d) the B = (AAᵀ + λI)⁻¹ YᵀX (XᵀX + γI)⁻¹ with Wᵀ = AᵀB, W = (XᵀX + γI)⁻¹ XᵀYA (AᵀA + λI)⁻¹; sums = YᵀX.

    The dual form in the descriptions, since there are fewer seen classes (m) than attributes as often as not.
    """
    half = linalg.solve(X_gram + gamma * np.eye(len(X_gram)), sums.T, assume_a="pos", check_finite=False)
    return np.asarray(linalg.solve(A @ A.T + lam * np.eye(len(A)), half.T, assume_a="pos", check_finite=False))


@dataclass(eq=False, repr=False)
class ESZSL(LinearBaseline):
    """Embarrassingly simple zero-shot learning: a bilinear score learned by a ridge on both sides.

    The problem ``min_W ‖X W Aᵀ − Y‖² + γ ‖W Aᵀ‖² + λ ‖X W‖² + γλ ‖W‖²`` has the solution
    ``W = (XᵀX + γI)⁻¹ XᵀYA (AᵀA + λI)⁻¹``. The score of class c is ``xᵀ W a_c``.

    Parameters
    ----------
    gamma : float, default=1.0
        Ridge on the features. Larger: smoother in the features, closer to comparing with class means.
    lam : float, default=1.0
        Ridge on the descriptions. Larger: smoother in the descriptions, closer to comparing the descriptions
        themselves.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. Nothing is random.

    Attributes
    ----------
    classifiers_ : array of shape (C, d)
        ``W a_c`` of each class.

    Notes
    -----
    The paper writes Y as −1 and 1; the authors' code has 0 and 1, as here. Descriptions have length 1. Both ridges are
    in units of the mean eigenvalue of their Gram matrix, so one default serves data sets of any size. The authors' γ is
    ``gamma * N / d``, their λ is ``lam * m / k``.

    The MIT-licensed code of github.com/mvp18/Popular-ZSL-Algorithms gives the same labels with equal weights. Published
    (ResNet-101, proposed split, Xian et al. 2019): CUB 53.9, AWA1 58.2, SUN 54.5, aPY 38.3.

    References
    ----------
    Romera-Paredes and Torr, "An embarrassingly simple approach to zero-shot learning", ICML 2015.
    """

    method_key = "eszsl"

    gamma: float = 1.0
    lam: float = 1.0

    _nonnegative: ClassVar[tuple[str, ...]] = ("gamma", "lam")

    def _learn(self, X: Array, problem: Problem) -> None:
        seen, A = problem.seen, unit_semantics(problem.semantics)
        sums, _ = labeled_class_sums(X, problem.labels, problem.n_classes)
        X_gram = gram(X[~problem.asked])
        gamma = _relative(self.gamma, np.trace(X_gram) / len(X_gram))
        lam = _relative(self.lam, float((A[seen] ** 2).sum()) / A.shape[1])
        self._store_linear(A @ A[seen].T @ two_sided_ridge(X_gram, sums[seen], A[seen], gamma, lam))


def _relative(weight: float, mean_eigenvalue: float) -> float:
    """A weight in units of the mean eigenvalue, and never quite 0, so that the system stays solvable."""
    return float((weight + 1e-10) * mean_eigenvalue + np.finfo(np.float64).tiny ** 0.5)
