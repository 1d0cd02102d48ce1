"""Classifiers of generated features, and the reduction of features that comes before."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines.deep.base import principal_components, scaled_descriptions
from superproto.baselines.deep.synthesis import fit_classifier
from superproto.estimator.validation import check_problem

pytestmark = pytest.mark.extra


@pytest.mark.parametrize("n_classes", [1, 2, 4])
@pytest.mark.parametrize("kind", ["softmax", "nearest-mean"])
def test_a_classifier_tells_separate_classes_apart(kind: str, n_classes: int, rng):
    labels = np.repeat(np.arange(n_classes), 30)
    rows = (6 * np.eye(5)[labels] + rng.normal(size=(len(labels), 5))).astype(np.float32)
    weights, offsets = fit_classifier(kind, rows, labels, n_classes + 1)
    scores = rows @ weights.T + offsets
    assert scores.shape == (len(rows), n_classes + 1)
    assert np.mean(scores.argmax(axis=1) == labels) > 0.98


def test_the_nearest_mean_is_the_least_squared_distance(rng):
    rows, labels = rng.normal(size=(40, 3)), np.arange(40) % 4
    weights, offsets = fit_classifier("nearest-mean", rows, labels, 4)
    means = np.stack([rows[labels == c].mean(axis=0) for c in range(4)])
    distances = ((rows[:, None] - means) ** 2).sum(axis=2)
    np.testing.assert_allclose((rows**2).sum(axis=1)[:, None] - rows @ weights.T - offsets, distances)


def test_principal_components_are_those_of_a_singular_value_decomposition(rng):
    rows = rng.normal(size=(50, 6)) * [5, 4, 3, 2, 1, 0.5]
    rows -= rows.mean(axis=0)
    basis, variances = principal_components(rows, 3)
    _, values, right = np.linalg.svd(rows, full_matrices=False)
    np.testing.assert_allclose(variances, values[:3] ** 2 / 50)
    np.testing.assert_allclose(np.abs(basis.T @ right[:3].T), np.eye(3), atol=1e-9)
    assert principal_components(rows[:4], 300)[0].shape == (6, 3)


def test_descriptions_keep_their_relations_when_they_are_rotated(rng):
    wide = rng.normal(size=(5, 40)) + 3
    labels = np.array([0, 1, 2, -1])
    found = scaled_descriptions(check_problem(labels, wide))
    assert found.shape == (5, 5)
    assert np.mean((found**2).sum(axis=1)) == pytest.approx(9)
    unit = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    centered = unit - unit[:3].mean(axis=0)
    np.testing.assert_allclose(found @ found.T, centered @ centered.T * 9 / np.mean((centered**2).sum(axis=1)))
    np.testing.assert_allclose(found, scaled_descriptions(check_problem(labels, 100 * wide)), atol=1e-9)
