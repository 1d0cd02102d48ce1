"""Where samples are on the map: labels are apart, clusters know nothing of labels, odd pools do not stop the page."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.reporting.pool_layout import lay_out_pool


def blobs(n_labels=4, each=30, width=60, noise=0.02):
    generator = np.random.default_rng(0)
    label = np.repeat(np.arange(n_labels), each)
    return generator.normal(size=(n_labels, width))[label] + noise * generator.normal(size=(len(label), width)), label


def test_labels_that_differ_are_apart_on_the_plane():
    X, label = blobs()
    points = lay_out_pool(X, label).points
    middles = np.array([points[label == c].mean(axis=0) for c in range(4)])
    spread = max(np.linalg.norm(points[label == c] - middles[c], axis=1).max() for c in range(4))
    apart = min(np.linalg.norm(middles[a] - middles[b]) for a in range(4) for b in range(a))
    assert apart > 2 * spread


def test_clusters_are_those_of_the_rows_and_not_of_the_labels():
    X, truth = blobs()
    scrambled = np.random.default_rng(1).permutation(truth)
    found = lay_out_pool(X, scrambled)
    for c in range(4):
        assert len(np.unique(found.cluster[truth == c])) == 1
    assert len(np.unique(found.cluster)) == 4


def test_the_middle_of_a_cluster_is_nearest_to_its_mean():
    X, label = blobs(2)
    far = X.copy()
    far[0] = X[0] + 0.3 * np.random.default_rng(2).normal(size=X.shape[1])
    found = lay_out_pool(far, label)
    members = np.flatnonzero(found.cluster == found.cluster[1])
    assert found.from_center[members].argmax() == np.flatnonzero(members == 0)[0]


def test_the_same_rows_have_the_same_places():
    X, label = blobs()
    assert np.array_equal(lay_out_pool(X, label).points, lay_out_pool(X.copy(), label).points)


@pytest.mark.parametrize(
    "X",
    [np.ones((6, 5)), np.zeros((6, 5)), np.arange(6.0)[:, None], np.eye(6), np.float16(np.ones((6, 3)) * 6e4)],
    ids=["equal rows", "zeros", "one feature", "as many features as rows", "largest halves"],
)
def test_an_odd_pool_has_finite_places(X):
    found = lay_out_pool(X, np.array([0, 0, 1, 1, 2, 2]))
    assert found.points.shape == (6, 2)
    assert np.isfinite(found.points).all()
    assert np.isfinite(found.from_center).all()
