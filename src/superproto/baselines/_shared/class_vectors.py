"""One vector per class in the space of the features: what methods made for image and text embeddings start from.

Where descriptions live in the feature space themselves (text embeddings beside image embeddings), they are the class
vectors. Elsewhere the prototypes are: class means for seen classes, kernel ridge from descriptions for unseen ones.
"""

from __future__ import annotations

from superproto.baselines._shared.predicted_prototypes import RIDGE, start_prototypes, unit_semantics
from superproto.estimator.validation import Problem
from superproto.samples.centering import match_own_descriptions
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows
from superproto.samples.whitening import Metric


def class_vectors(X: Array, problem: Problem, metric: Metric, ridge: float = RIDGE, kernel: str = "linear") -> Array:
    """(C, d) unit rows: the descriptions where they share the space of the features, else the predicted prototypes."""
    if shares_space(X, problem, metric):
        return unit_rows(in_metric(problem.semantics, metric))
    return unit_rows(start_prototypes(X, problem, ridge, kernel))


def first_vectors(X: Array, problem: Problem, metric: Metric, ridge: float = RIDGE, kernel: str = "linear") -> Array:
    """(C, d) unit rows: the predicted prototypes; without any label, descriptions in the space of the features."""
    if not problem.seen.any():
        return unit_rows(in_metric(problem.semantics, metric))
    return unit_rows(start_prototypes(X, problem, ridge, kernel))


def shares_space(X: Array, problem: Problem, metric: Metric) -> bool:
    """Whether descriptions have the length of features and seen classes are like their own; see ``samples.centering``.

    Without seen classes the length decides.
    """
    if not problem.described or problem.semantics.shape[1] != X.shape[1]:
        return False
    return match_own_descriptions(X, problem.labels, in_metric(problem.semantics, metric))


def in_metric(descriptions: Array, metric: Metric) -> Array:
    """Descriptions prepared as features are: unit rows, centered (by their own mean) where features are, and mapped."""
    rows = unit_semantics(descriptions)
    return rows if metric.mean is None else metric.forward(rows - rows.mean(axis=0))
