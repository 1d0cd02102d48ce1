"""One vector per class in the space of the features: what methods made for image and text embeddings start from.

Where descriptions live in the feature space themselves (text embeddings beside image embeddings), they are the class
vectors. Elsewhere the prototypes are: class means for seen classes, kernel ridge from descriptions for unseen ones.
"""

from __future__ import annotations

import numpy as np

from superproto.baselines._shared.predicted_prototypes import RIDGE, class_means, start_prototypes, unit_semantics
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows
from superproto.samples.whitening import Metric


def class_vectors(X: Array, problem: Problem, metric: Metric, ridge: float = RIDGE, kernel: str = "linear") -> Array:
    """(C, d) unit rows: the descriptions where they share the space of the features, else the predicted prototypes."""
    if shares_space(X, problem, metric):
        return unit_rows(in_metric(problem.semantics, metric))
    return unit_rows(start_prototypes(X, problem, ridge, kernel))


def shares_space(X: Array, problem: Problem, metric: Metric) -> bool:
    """Whether descriptions have the length of features and most seen class means are nearest to their own description.

    Without seen classes the length decides. A gap between the modalities shifts all descriptions alike, so both sides
    are centered before they are compared.
    """
    if not problem.described or problem.semantics.shape[1] != X.shape[1]:
        return False
    if not problem.seen.any():
        return True
    descriptions = in_metric(problem.semantics, metric)
    means = class_means(X, problem.labels, problem.n_classes)[problem.seen]
    center = descriptions.mean(axis=0)
    cosines = unit_rows(means - means.mean(axis=0) * (len(means) > 1)) @ unit_rows(descriptions - center).T
    return bool(np.mean(cosines.argmax(axis=1) == np.flatnonzero(problem.seen)) > 0.5)


def in_metric(descriptions: Array, metric: Metric) -> Array:
    """Descriptions prepared as features are: unit rows, centered (by their own mean) where features are, and mapped."""
    rows = unit_semantics(descriptions)
    return rows if metric.mean is None else metric.forward(rows - rows.mean(axis=0))
