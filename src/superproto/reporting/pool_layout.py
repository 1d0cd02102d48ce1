"""SHOW: coordinates for a map of samples (a plane that separates the labels), and clusters that ignore the labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.cluster.hierarchy import fcluster
from scipy.cluster.hierarchy import linkage as merge_clusters
from scipy.spatial.distance import pdist
from threadpoolctl import threadpool_limits

from superproto.samples.chunks import Array

_COMPONENTS = 50
_SHRINKAGE = 0.2


class PoolLayout(NamedTuple):
    """Coordinates (n, 2), cluster numbers (n,) from 1, and distances (n,) to the cluster's mean."""

    points: Array
    cluster: Array
    from_center: Array


def lay_out_pool(X: Array, label: Array) -> PoolLayout:
    """Project samples on the two directions that separate the labels best, and cluster them by Ward's method.

    There are as many clusters as labels. Both are computed in the leading principal components of the unit rows.
    """
    rows = np.asarray(X, dtype=np.float64)
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    # One thread is enough for such small matrices, and the result is reproducible.
    with threadpool_limits(1):
        rows = _leading_components(rows - rows.mean(axis=0))
        cluster = fcluster(merge_clusters(pdist(rows), "ward"), len(np.unique(label)), "maxclust")
        points = rows @ _separating_plane(rows, label)
    return PoolLayout(points, cluster, np.linalg.norm(rows - _means(rows, cluster), axis=1))


def _leading_components(centered: Array) -> Array:
    """Return (n, 50) coordinates in the directions of the largest variance, from the Gram matrix of the rows."""
    n = len(centered)
    squares, left = linalg.eigh(centered @ centered.T, subset_by_index=[max(0, n - _COMPONENTS), n - 1])
    return _signed((left * np.sqrt(np.maximum(squares, 0)))[:, ::-1])


def _separating_plane(rows: Array, label: Array) -> Array:
    """Return the (d, 2) directions with the largest ratio of between-label to within-label scatter (Fisher), shrunk."""
    means = _means(rows, label)
    within, between = np.cov((rows - means).T), np.cov(means.T)
    within, between = np.atleast_2d(within), np.atleast_2d(between)
    level = np.trace(within) / len(within) or 1.0
    # With two labels there is only one such direction; the total scatter determines the second.
    total = between + 1e-3 * (within + between)
    _, vectors = linalg.eigh(total, (1 - _SHRINKAGE) * within + _SHRINKAGE * level * np.eye(len(within)))
    plane = vectors[:, ::-1][:, :2]
    return plane if plane.shape[1] == 2 else np.column_stack([plane, np.zeros(len(plane))])


def _means(rows: Array, group: Array) -> Array:
    """Return (n, d) the mean of each row's group."""
    _, number = np.unique(group, return_inverse=True)
    sums = np.zeros((number.max() + 1, rows.shape[1]))
    np.add.at(sums, number, rows)
    return (sums / np.bincount(number)[:, None])[number]


def _signed(components: Array) -> Array:
    """Make the largest entry of each column positive, because a decomposition does not determine the sign."""
    largest = components[np.abs(components).argmax(axis=0), np.arange(components.shape[1])]
    return components * np.where(largest < 0, -1.0, 1.0)
