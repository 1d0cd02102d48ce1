"""FIT: TMV-HLP, two views in one space and label propagation on a hypergraph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg, sparse

from superproto.baselines._shared.graphs import PoolMemory, edges, nearest_neighbors, row_shares, spread_labels
from superproto.baselines._shared.predicted_prototypes import KERNELS, RIDGE, start_prototypes, unit_semantics
from superproto.estimator.kernel_ridge import solve_ridge
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


def canonical_maps(left: Array, right: Array, n_components: int, ridge: float = 0.1) -> tuple[Array, Array, Array]:
    """Regularized canonical correlation of two centered views: maps (p, r), (q, r) and the correlations (r,), falling.

    SVD of C_ll^(-1/2) C_lr C_rr^(-1/2), C + ridge · mean eigenvalue in place of C.
    """
    roots = []
    for view in (left, right):
        values, basis = linalg.eigh(view.T @ view / len(view), check_finite=False)
        values = np.maximum(values, 0)
        roots.append((basis / np.sqrt(values + ridge * values.mean() + np.finfo(float).tiny ** 0.5)) @ basis.T)
    U, correlations, Vt = linalg.svd(roots[0] @ (left.T @ right / len(left)) @ roots[1], check_finite=False)
    r = min(n_components, len(correlations))
    return roots[0] @ U[:, :r], roots[1] @ Vt[:r].T, np.minimum(correlations[:r], 1)


def incidence(centers: Array, members: Array, k: int) -> tuple[sparse.csr_matrix, Array]:
    """(nodes, hyperedges) 0/1: hyperedge i holds node i and the k nodes nearest to center i; and their mean cosines."""
    index, cosines = nearest_neighbors(members, k + 1, centers)
    own = np.arange(len(centers))[:, None]
    held = edges(np.hstack([index, own]), np.ones((len(centers), index.shape[1] + 1)), len(members)).T.tocsr()
    held.data[:] = 1
    held.sum_duplicates()
    held.data = np.minimum(held.data, 1)
    return held, np.maximum(cosines.mean(axis=1), 1e-3)


def hypergraph_walk(holds: sparse.csr_matrix, weights: Array) -> sparse.csr_matrix:
    """Θ = D_v^(-1/2) H W D_e^(-1) Hᵀ D_v^(-1/2) (Zhou, Huang, Schölkopf 2006): symmetric, eigenvalues in [0, 1]."""
    edge_sizes = np.asarray(holds.sum(axis=0)).ravel()
    degrees = np.asarray(holds @ weights).ravel()
    half = sparse.diags(1 / np.sqrt(np.maximum(degrees, 1e-12))) @ holds
    return (half @ sparse.diags(weights / edge_sizes) @ half.T).tocsr()


@dataclass(eq=False, repr=False)
class TMVHLP(PoolMemory):
    """Transductive multi-view embedding: two views in one space, labels spread from the classes over a hypergraph.

    The views of a sample are its features and the description that ridge predicts from them. Canonical correlation of
    the unlabeled samples maps both to one space, with coordinates weighted by ``correlation^power``. Each node makes a
    hyperedge of itself and its nearest nodes in the other view; classes are nodes too. Labels spread from the classes,
    ``F = (1 − α)(I − αΘ)⁻¹ Y``, with Θ the normalized walk of the hypergraph.

    Parameters
    ----------
    n_components : int, default=100
        Dimension of the common space. Larger: directions of weaker correlation join.
    power : float, default=4.0
        Larger: strongly correlated directions count more.
    n_neighbors : int, default=10
        Nodes of a hyperedge. Larger: labels travel farther, also across class borders.
    alpha : float, default=0.9
        α, in [0, 1). Larger: labels travel along longer paths.
    ridge : float, default=0.1
        Ridge of the class vectors. Larger: unseen prototypes mix more seen classes, more evenly.
    kernel : {"linear", "rbf"}, default="linear"
        Kernel of the descriptions. "rbf" uses the nearest seen descriptions only.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. Nothing is random.

    Attributes
    ----------
    class_vectors_ : array of shape (C, d)
        Predicted prototypes; without unlabeled samples they answer by cosine.
    pool_rows_, pool_probabilities_ : arrays of shape (N_pool, d) and (N_pool, C)
        The unlabeled samples and their answers.

    Notes
    -----
    The paper has several semantic views and no class node in the view of features. Here there is one kind of
    description, and predicted prototypes are the class nodes in that view. A hyperedge weighs its mean cosine. Features
    are first reduced to ``n_components`` principal components. A new sample receives the mean answer of its nearest
    unlabeled samples. Published (deep features, as quoted by the HPL paper): AwA 80.5, CUB 47.9.

    References
    ----------
    Fu, Hospedales, Xiang and Gong, "Transductive multi-view zero-shot learning", TPAMI 2015.
    """

    method_key = "tmv-hlp"

    n_components: int = 100
    power: float = 4.0
    n_neighbors: int = 10
    alpha: float = 0.9
    ridge: float = RIDGE
    kernel: str = "linear"

    _positive: ClassVar[tuple[str, ...]] = ("n_components", "n_neighbors")
    _nonnegative: ClassVar[tuple[str, ...]] = ("power", "ridge")
    _fractions: ClassVar[tuple[str, ...]] = ("alpha",)
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"kernel": KERNELS}

    def _learn(self, X: Array, problem: Problem) -> None:
        self.class_vectors_ = unit_rows(start_prototypes(X, problem, self.ridge, self.kernel))
        if not problem.asked.any():
            self._keep_nothing(X, problem)
            return
        pool, n = X[problem.asked], int(problem.allowed.sum())
        views = self._common_space(X, problem)
        holds, weights = zip(*(incidence(mine, other, self.n_neighbors) for mine in views for other in views))
        seeds = np.vstack([np.zeros((len(pool), n)), np.eye(n)])
        walk = hypergraph_walk(sparse.hstack(holds).tocsr(), np.concatenate(weights))
        self._keep(pool, row_shares(spread_labels(walk, seeds, self.alpha)[: len(pool)]), problem)

    def _common_space(self, X: Array, problem: Problem) -> list[Array]:
        """For each view the (N_pool + n, r) unit rows of pool and candidate classes."""
        pool, known = np.asarray(X[problem.asked], dtype=np.float64), ~problem.asked
        A = unit_semantics(problem.semantics)
        prototypes = self.class_vectors_[problem.allowed]
        center = pool.mean(axis=0)
        described = A[problem.allowed] - A.mean(axis=0)
        visual = _principal_scores(pool - center, prototypes - prototypes.mean(axis=0), self.n_components)
        predicted = _predict_descriptions(X[known], A[problem.labels[known]], pool)
        semantic = _principal_scores(predicted - predicted.mean(axis=0), described, self.n_components)
        left, right, correlations = canonical_maps(visual[0], semantic[0], self.n_components)
        scale = correlations**self.power
        return [
            unit_rows(np.vstack(visual) @ (left * scale)),
            unit_rows(np.vstack(semantic) @ (right * scale)),
        ]

    def _score_new(self, X: Array) -> Array:
        if len(self.pool_rows_):
            return self._vote(X, self.n_neighbors)
        return np.asarray(X @ self.class_vectors_.T.astype(X.dtype))


def _principal_scores(rows: Array, classes: Array, n_components: int) -> tuple[Array, Array]:
    """Rows and classes in the first principal directions of the rows."""
    _, basis = linalg.eigh(rows.T @ rows, check_finite=False)
    directions = basis[:, ::-1][:, :n_components]
    return rows @ directions, classes @ directions


def _predict_descriptions(X: Array, wanted: Array, pool: Array, ridge: float = 1.0) -> Array:
    """Ridge from features to descriptions, learned on labeled rows, read off at the pool; ridge in mean eigenvalues."""
    X = np.asarray(X, dtype=np.float64)
    center, level = X.mean(axis=0), wanted.mean(axis=0)
    gram = (X - center).T @ (X - center)
    weights = solve_ridge(gram, (X - center).T @ (wanted - level), ridge)
    return np.asarray((pool - center) @ weights + level)
