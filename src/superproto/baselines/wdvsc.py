"""FIT: visual structure constraint, predicted centers moved to clusters of the pool (WDVSc, BMVSc, CDVSc).

    min_f  Σ_seen ‖f(a_s) − c_s‖² + weight · R({f(a_u)}, {k_1 … k_n}) + ρ ‖f‖²,        f kernel ridge on descriptions

c_s are the centers of the seen classes, k the K-means centers of the unlabeled samples. R is a distance of two sets of
points: optimal transport, one-to-one matching, or Chamfer. The published f is a network. Here two closed forms
alternate: R gives each class a target and a weight, then f is one weighted kernel ridge.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp
from sklearn.cluster import KMeans

from superproto.baselines._shared.graphs import row_groups
from superproto.baselines._shared.predicted_prototypes import (
    KERNELS,
    RIDGE,
    class_means,
    description_kernel,
    median_squared_distance,
    squared_distances,
    unit_semantics,
)
from superproto.baselines.base import LinearBaseline
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


def sinkhorn(cost: Array, regularization: float, max_iter: int = 1000, tol: float = 1e-6) -> Array:
    """argmin <Q, cost> + ε Σ Q log Q over Q ≥ 0 with uniform marginals: log-domain Sinkhorn, so that ε may be small.

    Stops when no row sum is off by more than ``tol`` of its due, column sums being exact.
    """
    rows, columns = cost.shape
    logits = -cost / regularization
    row_potential = -np.log(rows) - logsumexp(logits, axis=1)
    for _ in range(max_iter):
        column_potential = -np.log(columns) - logsumexp(logits + row_potential[:, None], axis=0)
        following = -np.log(rows) - logsumexp(logits + column_potential, axis=1)
        if np.abs(np.expm1(np.minimum(row_potential - following, 1))).max() <= tol:
            break
        row_potential = following
    return np.asarray(np.exp(logits + row_potential[:, None] + column_potential))


def transport_targets(points: Array, centers: Array, regularization: float) -> tuple[Array, Array]:
    """Barycentric targets of entropic transport: t_j = Σ_k Q_jk k_k / Σ_k Q_jk, every class with weight 1."""
    plan = sinkhorn(squared_distances(points, centers), regularization, max_iter=200, tol=1e-2)
    return plan @ centers / plan.sum(axis=1, keepdims=True), np.ones(len(points))


def matching_targets(points: Array, centers: Array) -> tuple[Array, Array]:
    """The cluster center that each class has in the cheapest one-to-one matching; weight 0 for a class left over."""
    classes, clusters = linear_sum_assignment(squared_distances(points, centers))
    targets, weights = points.copy(), np.zeros(len(points))
    targets[classes], weights[classes] = centers[clusters], 1.0
    return targets, weights


def chamfer_targets(points: Array, centers: Array) -> tuple[Array, Array]:
    """Σ_j min_k + Σ_k min_j ||f_j − k_k||²: the mean of a class's nearest center and the centers nearest to it."""
    distances = squared_distances(points, centers)
    own, taker = distances.argmin(axis=1), distances.argmin(axis=0)
    sums, weights = centers[own].copy(), np.ones(len(points))
    np.add.at(sums, taker, centers)
    np.add.at(weights, taker, 1.0)
    return sums / weights[:, None], weights


def weighted_ridge(kernel: Array, targets: Array, weights: Array, penalty: float) -> Array:
    """argmin_f Σ_j w_j ||f(a_j) − t_j||² + penalty ||f||², at all classes: K_·o (K_oo + penalty W_o⁻¹)⁻¹ T_o, w > 0."""
    used = weights > 0
    system = kernel[np.ix_(used, used)] + np.diag(penalty / weights[used])
    return np.asarray(kernel[:, used] @ linalg.solve(system, targets[used], assume_a="pos", check_finite=False))


def raw_centers(pool: Array, n_clusters: int, random_state: Any) -> Array:
    """(n, d) K-means centers of the pool; fewer where the pool has fewer different rows."""
    n_clusters = min(n_clusters, int(row_groups(pool).max()) + 1)
    return np.asarray(
        KMeans(n_clusters, n_init=10, random_state=random_state).fit(pool).cluster_centers_, dtype=np.float64
    )


@dataclass(eq=False, repr=False)
class _VisualStructure(LinearBaseline):
    """The alternation that the three methods share; :meth:`_targets` says which distance of the two sets is meant."""

    structure_weight: float = 1.0
    n_iter: int = 20
    ridge: float = RIDGE
    kernel: str = "linear"

    _positive: ClassVar[tuple[str, ...]] = ("n_iter",)
    _nonnegative: ClassVar[tuple[str, ...]] = ("ridge", "structure_weight")
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"kernel": KERNELS}

    @abstractmethod
    def _targets(self, points: Array, centers: Array) -> tuple[Array, Array]:
        """(n, d) where each class's point should be, given the clusters' centers, and (n,) how much that counts."""

    def _learn(self, X: Array, problem: Problem) -> None:
        seen, allowed = problem.seen, problem.allowed
        A, targets = unit_semantics(problem.semantics), unit_rows(class_means(X, problem.labels, problem.n_classes))
        kernel = description_kernel(A, A, self.kernel, median_squared_distance(A[seen]))
        penalty = (self.ridge + 1e-10) * np.trace(kernel[np.ix_(seen, seen)]) / seen.sum()
        weights = seen.astype(np.float64)
        prototypes = np.where(seen[:, None], targets, unit_rows(weighted_ridge(kernel, targets, weights, penalty)))
        if problem.asked.any() and not seen.all():
            centers = unit_rows(raw_centers(X[problem.asked], int(allowed.sum()), self.random_state))
            for _ in range(self.n_iter):
                wanted, pull = self._targets(prototypes[allowed], centers)
                targets[allowed], weights[allowed] = wanted, self.structure_weight * pull
                # A seen class has its own center, whatever the pool says.
                targets[seen], weights[seen] = prototypes[seen], 1.0
                before = prototypes
                fitted = unit_rows(weighted_ridge(kernel, targets, weights, penalty))
                prototypes = np.where(seen[:, None], targets, fitted)
                if np.abs(prototypes - before).max() < 1e-6:
                    break
        self._store_linear(prototypes)


@dataclass(eq=False, repr=False)
class WDVSc(_VisualStructure):
    """Visual structure constraint: predicted centers move to cluster centers by optimal transport.

    The centers f(a) minimize ``Σ_seen ‖f(a_s) − c_s‖² + structure_weight · R + ρ‖f‖²``. R is the transport cost
    ``min_Q <Q, ‖f_j − k_k‖²> + ε Σ Q log Q`` with uniform marginals. The k are the K-means centers of the unlabeled
    samples. Two steps alternate: transport gives each class a target, then f is a weighted kernel ridge. The largest
    cosine wins.

    Parameters
    ----------
    structure_weight : float, default=1.0
        Larger: unseen centers follow the clusters more and their descriptions less.
    n_iter : int, default=20
        Largest number of rounds. Larger: farther from the predicted centers.
    ridge : float, default=0.1
        ρ, ridge of the regression. Larger: unseen centers mix more seen classes, more evenly.
    kernel : {"linear", "rbf"}, default="linear"
        Kernel of the descriptions. "rbf" uses the nearest seen descriptions only.
    regularization : float, default=0.01
        ε. Larger: a class is spread over more clusters.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` seeds K-means.

    Attributes
    ----------
    classifiers_ : array of shape (C, d)
        The class centers, at length 1.

    Notes
    -----
    The paper trains a network with weight 0.001 on R. Kernel ridge is less flexible, so the weight is larger. K-means
    runs ten times, not fifty. In the generalized setting there are as many clusters as candidates, and seen centers do
    not move. Published (ResNet-101): AWA2 87.3, SUN 63.4.

    References
    ----------
    Wan, Chen, Li, Yan, Zhang, Yu and Liao, "Transductive zero-shot learning with visual structure constraint", NeurIPS
    2019.
    """

    method_key = "wdvsc"

    regularization: float = 0.01

    _positive: ClassVar[tuple[str, ...]] = ("n_iter", "regularization")

    def _targets(self, points: Array, centers: Array) -> tuple[Array, Array]:
        return transport_targets(points, centers, self.regularization)


class BMVSc(_VisualStructure):
    """Visual structure constraint: predicted centers move to cluster centers by the cheapest one-to-one matching.

    As ``wdvsc``, with another distance of the two sets: ``R = min_σ Σ_j ‖f_j − k_σ(j)‖²`` over bijections σ. The
    Hungarian method finds the matching.

    Parameters
    ----------
    structure_weight : float, default=1.0
        Larger: unseen centers follow the clusters more and their descriptions less.
    n_iter : int, default=20
        Largest number of rounds. Larger: farther from the predicted centers.
    ridge : float, default=0.1
        Ridge of the regression. Larger: unseen centers mix more seen classes, more evenly.
    kernel : {"linear", "rbf"}, default="linear"
        Kernel of the descriptions. "rbf" uses the nearest seen descriptions only.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` seeds K-means.

    Attributes
    ----------
    classifiers_ : array of shape (C, d)
        The class centers, at length 1.

    References
    ----------
    Wan, Chen, Li, Yan, Zhang, Yu and Liao, "Transductive zero-shot learning with visual structure constraint", NeurIPS
    2019.
    """

    method_key = "bmvsc"

    def _targets(self, points: Array, centers: Array) -> tuple[Array, Array]:
        return matching_targets(points, centers)


class CDVSc(_VisualStructure):
    """Visual structure constraint: predicted centers move towards cluster centers by the Chamfer distance.

    As ``wdvsc``, with another distance of the two sets: ``R = Σ_j min_k ‖f_j − k_k‖² + Σ_k min_j ‖f_j − k_k‖²``.
    Several classes may share one cluster, which the other two distances avoid.

    Parameters
    ----------
    structure_weight : float, default=1.0
        Larger: unseen centers follow the clusters more and their descriptions less.
    n_iter : int, default=20
        Largest number of rounds. Larger: farther from the predicted centers.
    ridge : float, default=0.1
        Ridge of the regression. Larger: unseen centers mix more seen classes, more evenly.
    kernel : {"linear", "rbf"}, default="linear"
        Kernel of the descriptions. "rbf" uses the nearest seen descriptions only.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` seeds K-means.

    Attributes
    ----------
    classifiers_ : array of shape (C, d)
        The class centers, at length 1.

    References
    ----------
    Wan, Chen, Li, Yan, Zhang, Yu and Liao, "Transductive zero-shot learning with visual structure constraint", NeurIPS
    2019.
    """

    method_key = "cdvsc"

    def _targets(self, points: Array, centers: Array) -> tuple[Array, Array]:
        return chamfer_targets(points, centers)
