"""Gaussian mixtures of the pool, held by zero-shot predictions and a neighbor graph: TransCLIP and StatA.

Both minimize, over assignments z (rows of the simplex), means and diagonal variances,

    J = − T⁻¹ Σ_ik z_ik log N(x_i; μ_k, Σ_k) − ½ Σ_ij w_ij <z_i, z_j> + Σ_i <z_i, log z_i − λ log ŷ_i>,

ŷ = softmax(scale · cos(x, class vector)), w the mean of both directions of a k-nearest-neighbor graph, divided by k.
T is in the authors' code (50) and not in their equations: hundreds of features would else drown the other terms. The
methods differ in what holds the Gaussians. Each block has a closed form (means, put back at length 1 as the authors do,
for isotropic Σ alone); in z the quadratic term is replaced by its tangent, so all rows move at once.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.special import log_softmax, softmax

from superproto.baselines._shared.class_vectors import class_vectors
from superproto.baselines._shared.gaussians import Gaussians, Moments, labeled_moments, log_joint
from superproto.baselines._shared.graphs import PoolMemory, cosine_graph, edges, log_shares, nearest_neighbors
from superproto.baselines._shared.predicted_prototypes import KERNELS, RIDGE
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array


def soft_moments(X: Array, z: Array, labeled: Moments) -> Moments:
    """Moments of rows that are shared out among the classes, and of labeled ones beside them."""
    return Moments(labeled.counts + z.sum(axis=0), labeled.sums + z.T @ X, labeled.squares + z.T @ (X * X))


def log_densities(X: Array, means: Array, variances: Array) -> Array:
    """(N, K) log N(x_i; μ_k, diag Σ_k) up to a constant; ``variances`` (K, d), or (1, d) when shared."""
    return log_joint(X, Gaussians(means, variances, np.zeros(len(means))))


def update_assignments(density: Array, zero_shot: Array, pull: Array) -> Array:
    """z_i ∝ exp( T⁻¹ log N(x_i; ·) + λ log ŷ_i + Σ_j w_ij z_j ): the minimum of J with its quadratic term linearized.

    ``density`` is T⁻¹ log N, ``zero_shot`` λ log ŷ, ``pull`` W z.
    """
    return np.asarray(softmax(density + zero_shot + pull, axis=1))


def mixture_objective(z: Array, density: Array, zero_shot: Array, graph: sparse.csr_matrix) -> float:
    """J for symmetric ``graph``; ``density`` is T⁻¹ log N, ``zero_shot`` λ log ŷ."""
    return float((z * (np.log(np.maximum(z, np.finfo(float).tiny)) - density - zero_shot - 0.5 * (graph @ z))).sum())


@dataclass(eq=False, repr=False)
class AnchoredMixture(PoolMemory):
    """The loop that TransCLIP and StatA share; :meth:`_first` and :meth:`_refit` say what holds the Gaussians."""

    n_neighbors: int = 3
    logit_scale: float = 30.0
    zero_shot_weight: float = 1.0
    temperature: float = 50.0
    n_iter: int = 10
    ridge: float = RIDGE
    kernel: str = "linear"

    _positive: ClassVar[tuple[str, ...]] = ("logit_scale", "temperature", "n_iter")
    _nonnegative: ClassVar[tuple[str, ...]] = ("ridge", "zero_shot_weight", "n_neighbors")
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"kernel": KERNELS}

    @abstractmethod
    def _first(self, X: Array, zero_shot: Array, vectors: Array) -> tuple[Array, Array]:
        """First means and spreads of the classes."""

    @abstractmethod
    def _refit(self, moments: Moments) -> tuple[Array, Array]:
        """Means and spreads that the moments ask for."""

    def _takes_texts(self) -> bool:
        return True

    def _learn(self, X: Array, problem: Problem) -> None:
        self.class_vectors_ = class_vectors(X, problem, self.metric_, self.ridge, self.kernel)
        if not problem.asked.any():
            self._keep_nothing(X, problem)
            return
        pool, vectors = X[problem.asked], self.class_vectors_[problem.allowed]
        graph = cosine_graph(pool, self.n_neighbors)
        graph = (graph + graph.T) / (2 * max(self.n_neighbors, 1))
        rows = np.asarray(pool, dtype=np.float64)
        zero_shot = self._zero_shot(rows, vectors)
        z = softmax(zero_shot, axis=1)
        labeled = labeled_moments(np.asarray(X, dtype=np.float64), problem)
        self.means_, self.variances_ = self._first(rows, z, vectors)
        for iteration in range(self.n_iter):
            if iteration:
                self.means_, self.variances_ = self._refit(soft_moments(rows, z, labeled))
            density = log_densities(rows, self.means_, self.variances_) / self.temperature
            for _ in range(5):
                z = update_assignments(density, self.zero_shot_weight * zero_shot, graph @ z)
        self._keep(pool, z, problem)

    def _zero_shot(self, X: Array, vectors: Array) -> Array:
        """log ŷ = log softmax(scale · cos(x, class vector))."""
        return np.asarray(log_softmax(self.logit_scale * (X @ vectors.T), axis=1))

    def _score_new(self, X: Array) -> Array:
        """A new row is assigned as a pool row is, its neighbors' assignments standing still."""
        if not len(self.pool_rows_):
            return np.asarray(X @ self.class_vectors_.T.astype(X.dtype))
        index, cosines = nearest_neighbors(self.pool_rows_, self.n_neighbors, X)
        near = edges(index, np.maximum(cosines, 0) / max(self.n_neighbors, 1), len(self.pool_rows_))
        pull = near @ self.pool_probabilities_[:, self.allowed_]
        rows = np.asarray(X, dtype=np.float64)
        zero_shot = self.zero_shot_weight * self._zero_shot(rows, self.class_vectors_[self.allowed_])
        shares = np.zeros((len(X), len(self.allowed_)))
        density = log_densities(rows, self.means_, self.variances_) / self.temperature
        shares[:, self.allowed_] = update_assignments(density, zero_shot, pull)
        return log_shares(shares)
