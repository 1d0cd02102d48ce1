"""What methods share that label a pool by the relations among its rows: neighbors, graphs, spreading, and a memory.

No (N, N) matrix is ever formed: a graph is sparse, with k edges a row. Such a method has no rule for single samples,
so it keeps its pool: a row that equals one of the pool gets that row's answer, which makes ``predict`` on the pool
agree with ``transduction_``; any other row is answered by the method's own extension to new samples.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from superproto.baselines._shared.class_vectors import class_vectors
from superproto.baselines._shared.predicted_prototypes import KERNELS, RIDGE
from superproto.baselines.base import Baseline
from superproto.estimator.conjugate_gradient import conjugate_gradient
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array, chunk_length
from superproto.samples.kernels import unit_rows

# In any feature of a unit row: preparing it alone or in a batch differs by rounding, far less than this.
SAME_ROW = 1e-5
_TINY = np.finfo(np.float64).tiny


def nearest_neighbors(rows: Array, k: int, queries: Array | None = None) -> tuple[Array, Array]:
    """(n, k) the rows with the largest cosine to each query, and the cosines; no queries: rows, each without itself.

    Unit rows are taken for granted. Products are made a chunk of queries at a time. Fewer columns come back where there
    are not k rows.
    """
    asked = rows if queries is None else queries.astype(rows.dtype, copy=False)
    k = min(k, len(rows) - (queries is None))
    index, cosines = np.empty((len(asked), k), dtype=np.int64), np.empty((len(asked), k))
    for start in range(0, len(asked) if k else 0, chunk_length(len(rows), rows.itemsize)):
        part = slice(start, start + chunk_length(len(rows), rows.itemsize))
        products = asked[part] @ rows.T
        if queries is None:
            np.fill_diagonal(products[:, start:], -np.inf)
        chosen = np.argpartition(-products, k - 1, axis=1)[:, :k]
        index[part], cosines[part] = chosen, np.take_along_axis(products, chosen, axis=1)
    return index, cosines


def edges(index: Array, weights: Array, n_columns: int) -> sparse.csr_matrix:
    """(n, n_columns) sparse matrix with ``weights[i, r]`` at (i, ``index[i, r]``)."""
    n, k = index.shape
    return sparse.csr_matrix((weights.ravel(), index.ravel(), k * np.arange(n + 1)), shape=(n, n_columns))


def cosine_graph(rows: Array, k: int) -> sparse.csr_matrix:
    """w_ij = max(0, cos(x_i, x_j)) for the k nearest j of each i (unit rows): directed, no loops."""
    index, cosines = nearest_neighbors(rows, k)
    return edges(index, np.maximum(cosines, 0), len(rows))


def normalized_graph(graph: sparse.csr_matrix) -> sparse.csr_matrix:
    """S = D^(-1/2) W D^(-1/2) of a symmetric W, D its row sums; a node without edges keeps a row of zeros."""
    degree = np.asarray(graph.sum(axis=1)).ravel()
    scale = sparse.diags(1 / np.sqrt(np.where(degree > 0, degree, 1)))
    return (scale @ graph @ scale).tocsr()


def spread_labels(
    graph: sparse.csr_matrix, seeds: Array, alpha: float, tol: float = 1e-8, max_iter: int = 1000
) -> Array:
    """F = (1 − α)(I − αS)⁻¹ Y, S symmetric with eigenvalues in [−1, 1]: conjugate gradients, column by column."""
    # One layout, so that the order of the sums, and with it their rounding, does not hang on how seeds were made.
    right = (1 - alpha) * np.ascontiguousarray(seeds, dtype=np.float64).T

    def apply(rows: Array) -> Array:
        return rows - alpha * (graph @ rows.T).T

    return conjugate_gradient(right, right, apply, lambda rows: rows, tol, max_iter).T


def row_shares(scores: Array) -> Array:
    """Nonnegative scores divided by their row sum; a row of zeros becomes even."""
    scores = np.maximum(scores, 0)
    total = scores.sum(axis=1, keepdims=True)
    return np.where(total > 0, scores / np.maximum(total, _TINY), 1 / scores.shape[1])


def confident_seeds(scores: Array, n_seeds: int) -> Array:
    """(N, C) 0/1: the ``n_seeds`` rows of each class with the largest lead over their second class.

    Only rows that the class wins, except that a class which wins none is given its most favorable row.
    """
    best = scores.max(axis=1, keepdims=True)
    second = np.partition(scores, -2, axis=1)[:, -2, None] if scores.shape[1] > 1 else best - 1
    lead = np.where(scores == best, best - second, scores - best)
    rank = np.argsort(np.argsort(-lead, axis=0, kind="stable"), axis=0, kind="stable")
    return ((rank < n_seeds) & (lead > 0)) | (rank == 0)


def row_groups(rows: Array, spread: float = 1.0) -> Array:
    """(N,) a group number for each row, the same for rows that are equal up to rounding; see ``row_spread_``."""
    # Compared as bytes: NumPy's own comparison of whole rows goes feature by feature. Adding 0 turns -0 into 0.
    rounded = np.ascontiguousarray(np.round(rows / spread, 5) + 0.0)
    keys = rounded.view(np.dtype((np.void, rounded.itemsize * rounded.shape[1]))).ravel()
    return np.unique(keys, return_inverse=True)[1].ravel()


class PoolMemory(Baseline):
    """Base of methods that keep their pool: scores are log-probabilities; ``_score_new`` answers other rows."""

    def _keep(self, rows: Array, probabilities: Array, problem: Problem) -> None:
        """Store the pool and its answers over the allowed classes; equal rows get the mean of their answers."""
        group = row_groups(rows, self.row_spread_)
        members = sparse.csr_matrix((np.ones(len(rows)), (group, np.arange(len(rows)))))
        mean = (members @ probabilities) / np.asarray(members.sum(axis=1)).reshape(-1, 1)
        self.pool_rows_ = rows
        self.pool_probabilities_ = np.zeros((len(rows), problem.n_classes))
        self.pool_probabilities_[:, problem.allowed] = mean[group]

    def _keep_nothing(self, X: Array, problem: Problem) -> None:
        """There is no pool: the inductive setting."""
        self.pool_rows_ = X[:0]
        self.pool_probabilities_ = np.zeros((0, problem.n_classes))

    @abstractmethod
    def _score_new(self, X: Array) -> Array:
        """(N, C) scores of rows that are not in the pool; log-probabilities where there is a pool."""

    def _score(self, X: Array) -> Array:
        scores = np.asarray(self._score_new(X), dtype=np.float64)
        if len(self.pool_rows_):
            index = nearest_neighbors(self.pool_rows_, 1, X)[0][:, 0]
            known = np.abs(X - self.pool_rows_[index]).max(axis=1) < SAME_ROW * self.row_spread_
            scores[known] = log_shares(self.pool_probabilities_[index[known]])
        return scores

    def _vote(self, X: Array, k: int) -> Array:
        """(N, C) log of the mean answer of the k nearest pool rows, weighted by cosine."""
        index, cosines = nearest_neighbors(self.pool_rows_, k, X)
        return log_shares(edges(index, row_shares(cosines), len(self.pool_rows_)) @ self.pool_probabilities_)

    def _pool_scores(self, X: Array, problem: Problem) -> Array:
        return log_shares(self.pool_probabilities_)

    def _fit_sharpness(self, X: Array, problem: Problem) -> float:
        """Answers of a pool are probabilities already; without a pool the shared rule holds."""
        return 1.0 if len(self.pool_rows_) else super()._fit_sharpness(X, problem)


def log_shares(probabilities: Array) -> Array:
    """log p with a floor, so that a class that got nothing has a finite score."""
    return np.log(np.maximum(probabilities, _TINY))


@dataclass(eq=False, repr=False)
class GraphPropagation(PoolMemory):
    """Class vectors first, then :meth:`_propagate` over the pool; without a pool the class vectors answer by cosine."""

    n_neighbors: int = 10
    alpha: float = 0.9
    ridge: float = RIDGE
    kernel: str = "linear"

    _positive: ClassVar[tuple[str, ...]] = ("n_neighbors",)
    _nonnegative: ClassVar[tuple[str, ...]] = ("ridge",)
    _fractions: ClassVar[tuple[str, ...]] = ("alpha",)
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"kernel": KERNELS}

    def _takes_texts(self) -> bool:
        return True

    def _learn(self, X: Array, problem: Problem) -> None:
        self.class_vectors_ = class_vectors(X, problem, self.metric_, self.ridge, self.kernel)
        if not problem.asked.any():
            self._keep_nothing(X, problem)
            return
        pool = X[problem.asked]
        self._keep(pool, row_shares(self._propagate(pool, self.class_vectors_[problem.allowed])), problem)

    @abstractmethod
    def _propagate(self, pool: Array, vectors: Array) -> Array:
        """(N, n) nonnegative scores of the pool's rows for the candidate classes."""

    def _score_new(self, X: Array) -> Array:
        if len(self.pool_rows_):
            return self._vote(X, self.n_neighbors)
        return np.asarray(X @ self.class_vectors_.T.astype(X.dtype))


def spread_predictions(embedded: Array, scores: Array, n_neighbors: int, alpha: float) -> Array:
    """(N, n) the argmax of the scores, spread over the cosine graph of the embedded rows: (1 − α)(I − αS)⁻¹ Y."""
    graph = cosine_graph(embedded, n_neighbors)
    seeds = scores == scores.max(axis=1, keepdims=True)
    return spread_labels(normalized_graph(graph.maximum(graph.T)), seeds / seeds.sum(axis=1, keepdims=True), alpha)


@dataclass(eq=False, repr=False)
class CommonSpacePropagation(PoolMemory):
    """Samples and classes are embedded in one space, where labels spread over the graph of unlabeled samples."""

    n_neighbors: int = 10
    alpha: float = 0.9

    _positive: ClassVar[tuple[str, ...]] = ("n_neighbors",)
    _fractions: ClassVar[tuple[str, ...]] = ("alpha",)

    @abstractmethod
    def _embed(self, X: Array) -> Array:
        """(N, q) rows in the common space."""

    @abstractmethod
    def _learn_embedding(self, X: Array, problem: Problem) -> Array:
        """Learn what :meth:`_embed` needs; return the classes (C, q) in the common space."""

    def _compare(self, embedded: Array) -> Array:
        """(N, C) cosine of embedded rows and classes."""
        return np.asarray(unit_rows(embedded) @ self.class_points_.T.astype(embedded.dtype))

    def _learn(self, X: Array, problem: Problem) -> None:
        self.class_points_ = unit_rows(self._learn_embedding(X, problem))
        if not problem.asked.any():
            self._keep_nothing(X, problem)
            return
        pool = X[problem.asked]
        embedded = self._embed(pool)
        scores = self._compare(embedded)[:, problem.allowed]
        answers = spread_predictions(unit_rows(embedded), scores, self.n_neighbors, self.alpha)
        self._keep(pool, row_shares(answers), problem)

    def _score_new(self, X: Array) -> Array:
        return self._vote(X, self.n_neighbors) if len(self.pool_rows_) else self._compare(self._embed(X))
