"""Bilinear scores learned by ranking the true class above the others: ALE, DeViSE and SJE.

All three minimize Σ_i Σ_c G_ic [Δ_ic + x_iᵀ W (a_c − a_{y_i})]₊ by mini-batch SGD and differ in how violations are
weighted; a weighting is a function of the (batch, classes) matrix of margins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from superproto.baselines._shared.predicted_prototypes import unit_semantics
from superproto.baselines.base import LinearBaseline
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array

Weighting = Callable[[Array], Array]


def ranking_gradient(
    X: Array, labels: Array, A: Array, W: Array, margin: float, weighting: Weighting
) -> tuple[Array, float]:
    """Gradient and value of 1/b Σ_ic G_ic [margin + x_iᵀ W (a_c − a_{y_i})]₊, G held fixed; none for the own class."""
    rows = np.arange(len(X))
    scores = (X @ W) @ A.T
    margins = margin + scores - scores[rows, labels][:, None]
    margins[rows, labels] = 0
    weights = weighting(margins)
    loss = float((weights * margins).sum()) / len(X)
    weights[rows, labels] = -weights.sum(axis=1)
    return X.T @ (weights @ A) / len(X), loss


class _Coordinates(NamedTuple):
    """Features and descriptions as SGD likes them: centered, of unit mean square length, descriptions evened out."""

    feature_mean: Array
    feature_scale: float
    semantic_mean: Array
    semantic_map: Array


def _learn_coordinates(X: Array, A_seen: Array) -> _Coordinates:
    """Map of descriptions: V (s² + mean(s²))^(-½) in the span V of the seen ones, s their singular values."""
    mean = A_seen.mean(axis=0)
    _, singular, basis = linalg.svd(A_seen - mean, full_matrices=False, check_finite=False)
    rank = max(int((singular > 1e-10 * max(singular[0], 1e-300)).sum()), 1)
    power = singular[:rank] ** 2 / len(A_seen)
    gains = 1 / np.sqrt(power + power.mean() + 1e-300)
    even = basis[:rank].T * gains / (np.sqrt(float((power * gains**2).sum())) or 1.0)
    length = float(np.sqrt(X.var(axis=0, dtype=np.float64).sum())) or 1.0
    return _Coordinates(X.mean(axis=0, dtype=np.float64), length, mean, even)


@dataclass(eq=False, repr=False)
class Ranking(LinearBaseline):
    """Base of the bilinear rankers: mini-batch SGD with averaged iterates on a ranking loss."""

    margin: float = 1.0
    learning_rate: float = 1.0
    n_epochs: int = 10
    batch_size: int = 64

    _positive: ClassVar[tuple[str, ...]] = ("margin", "learning_rate", "n_epochs", "batch_size")
    _weighting: ClassVar[Weighting]

    def _learn(self, X: Array, problem: Problem) -> None:
        known, seen, A = ~problem.asked, problem.seen, unit_semantics(problem.semantics)
        to = _learn_coordinates(X[known], A[seen])
        features = ((X[known] - to.feature_mean) / to.feature_scale).astype(X.dtype)
        descriptions = (A - to.semantic_mean) @ to.semantic_map
        columns = problem.seen_columns(known)
        W = self._descend(features, columns, descriptions[seen].astype(X.dtype))
        classifiers = descriptions @ W.T / to.feature_scale
        self._store_linear(classifiers, -classifiers @ to.feature_mean)

    def _descend(self, X: Array, labels: Array, A: Array) -> Array:
        """(d, k) the average of W over the second half of the epochs, started at W = 0."""
        rng = check_random_state(self.random_state)
        weighting = type(self)._weighting
        W = np.zeros((X.shape[1], A.shape[1]), dtype=X.dtype)
        average, averaged = np.zeros_like(W), 0
        for epoch in range(self.n_epochs):
            order = rng.permutation(len(X))
            for start in range(0, len(X), self.batch_size):
                batch = order[start : start + self.batch_size]
                gradient, _ = ranking_gradient(X[batch], labels[batch], A, W, self.margin, weighting)
                W -= X.dtype.type(self.learning_rate) * gradient
            if 2 * epoch + 1 >= self.n_epochs:
                average += W
                averaged += 1
        return average / averaged
