"""FIT: DIPL, one linear map between features and descriptions for seen and unseen classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.cluster import KMeans

from superproto.baselines._shared.predicted_prototypes import labeled_class_sums, squared_distances, unit_semantics
from superproto.baselines._shared.projections import invariant_map, principal_map, spectrum
from superproto.baselines.base import LinearBaseline
from superproto.errors import UserError
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


def two_sided_cost(X: Array, A: Array, W: Array, alpha: float) -> Array:
    """(N, n) (1 − α)||n(x_i) − n(a_j W)||² + α||n(x_i Wᵀ) − n(a_j)||², n(·) at length 1."""
    visual = squared_distances(unit_rows(X), unit_rows(A @ W))
    semantic = squared_distances(unit_rows(X @ W.T), unit_rows(A))
    return (1 - alpha) * visual + alpha * semantic


def shared_ties(cost: Array, tolerance: float) -> Array:
    """(N, n) weights, even over the classes with a cost within ``tolerance`` (relative) of the smallest."""
    best = cost.min(axis=1, keepdims=True)
    tied = cost <= best * (1 + tolerance)
    return tied / tied.sum(axis=1, keepdims=True)


@dataclass(eq=False, repr=False)
class DIPL(LinearBaseline):
    """Domain-invariant projection learning: one linear map and the labels of unlabeled samples, learned in turn.

    It minimizes ``Σ_pool Σ_j n_ij l_ij(W) + seen_weight Σ_seen l_i(W)`` over W and the labels n. The loss of a sample
    is ``l_ij = (1 − α)‖x_i − a_j W‖² + α‖x_i Wᵀ − a_j‖²``. W solves a Sylvester equation. A sample takes the class of
    the smallest cost at unit length, shared among classes within 2 % of it. In the end ``cos(x, a_j W)`` decides.

    Parameters
    ----------
    alpha : float, default=0.2
        α, in [0, 1]. Larger: the map from features to descriptions counts more, that from descriptions to features
        less.
    seen_weight : float, default=0.2
        Larger: labeled samples hold the map, and unlabeled ones move it less.
    n_components : int, default=400
        Largest number of principal components. Larger: keeps directions of smaller variance.
    n_superclasses : int, default=0
        Groups of classes in a first run of the loop, each described by its center; 0: none. Larger: smaller groups.
    n_iter : int, default=5
        Rounds of labels and map. Larger: farther from the map of the labeled samples.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` seeds the randomized
        principal components and K-means.

    Attributes
    ----------
    classifiers_, offsets_ : arrays of shape (C, d) and (C,)
        Scores are ``x · w_c + b_c``: the cosine, up to a factor that all classes share.
    map_ : array of shape (k, q)
        W, from unit descriptions to the principal components.

    Notes
    -----
    The loop starts from the labeled samples alone. Principal components are those of all samples together; the authors'
    dimension depends on the data set. The weights of the assignment are computed anew in each round; the authors' code
    never resets them. Published (proposed split): CUB 65.4, SUN 67.9, AWA1 85.6, aPY 69.6.

    References
    ----------
    Zhao, Ding, Guan, Lu, Xiang and Wen, "Domain-invariant projection learning for zero-shot recognition", NeurIPS 2018.
    """

    method_key = "dipl"

    alpha: float = 0.2
    seen_weight: float = 0.2
    n_components: int = 400
    n_superclasses: int = 0
    n_iter: int = 5

    _positive: ClassVar[tuple[str, ...]] = ("n_components", "n_iter")
    _nonnegative: ClassVar[tuple[str, ...]] = ("seen_weight", "n_superclasses")

    def _learn(self, X: Array, problem: Problem) -> None:
        if not 0 <= self.alpha <= 1:
            raise UserError(f"alpha is {self.alpha}, but it must be between 0 and 1.")
        center, directions = principal_map(X, self.n_components, self.random_state)
        rows = unit_rows((X - center) @ directions)
        A = unit_semantics(problem.semantics)
        if self.n_superclasses and problem.asked.any():
            self._fit_map(rows, self._grouped(A), problem)
            self._fit_map(rows, A, problem, self.map_)
        else:
            self._fit_map(rows, A, problem)
        prototypes = unit_rows(A @ self.map_) @ directions.T
        self._store_linear(prototypes, -prototypes @ center)

    def _grouped(self, A: Array) -> Array:
        """Every description replaced by the center of its group."""
        n_groups = min(self.n_superclasses, len(np.unique(A, axis=0)))
        groups = KMeans(n_groups, n_init=10, random_state=self.random_state).fit(A)
        return np.asarray(groups.cluster_centers_[groups.labels_])

    def _fit_map(self, rows: Array, A: Array, problem: Problem, start: Array | None = None) -> None:
        known, asked = ~problem.asked, problem.asked
        sums, counts = labeled_class_sums(rows, problem.labels, len(A))
        seen_A, cross = A * np.sqrt(counts)[:, None], A.T @ sums
        if start is None:
            start = invariant_map(spectrum(seen_A), spectrum(rows[known]), cross, self.alpha)
        self.map_ = start
        if not asked.any():
            return
        candidates, pool, share = A[problem.allowed], rows[asked], np.sqrt(self.seen_weight)
        both = spectrum(np.concatenate([pool, share * rows[known]]))
        for _ in range(self.n_iter):
            weights = shared_ties(two_sided_cost(pool, candidates, self.map_, self.alpha), tolerance=0.02)
            described = np.concatenate([candidates * np.sqrt(weights.sum(axis=0))[:, None], share * seen_A])
            pull = candidates.T @ (weights.T @ pool) + self.seen_weight * cross
            self.map_ = invariant_map(spectrum(described), both, pull, self.alpha)
