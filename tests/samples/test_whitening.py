"""Whitening: the metric is the inverse of the within-class scatter, and samples behind it equal whitened rows."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.samples.chunks import ArrayRows
from superproto.samples.whitened import WhitenedSamples
from superproto.samples.whitening import learn_metric


def test_samples_behind_a_metric_equal_whitened_rows():
    """Folding the metric into prototypes and sums changes nothing but where the work is done."""
    rng = np.random.default_rng(7)
    X, labels = rng.normal(size=(50, 6)) + 2, np.arange(50) % 5
    P = rng.normal(size=(3, 6))
    for n_labeled in (50, 4):
        known = np.where(np.arange(50) < n_labeled, labels % 2, -1)
        metric = learn_metric(ArrayRows(X), known, 5)
        samples = WhitenedSamples(ArrayRows(X, chunk_rows=7), metric)
        U = X / np.linalg.norm(X, axis=1, keepdims=True) - metric.mean
        W = metric.forward(U)
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        np.testing.assert_allclose(samples.materialize(), W, atol=1e-10)
        np.testing.assert_allclose(samples.gram(), W.T @ W, atol=1e-9)
        np.testing.assert_allclose(samples.scores(P), W @ P.T, atol=1e-10)
        _, sums = samples.class_sums(labels, 5)
        np.testing.assert_allclose(sums, np.eye(5)[labels].T @ W, atol=1e-10)
        hard = samples.assign(P, np.zeros(3), 0.0)
        np.testing.assert_array_equal(hard.labels, (W @ P.T).argmax(axis=1))
        np.testing.assert_allclose(hard.sums, np.eye(3)[hard.labels].T @ W, atol=1e-10)
        assert hard.value == pytest.approx((W @ P.T).max(axis=1).sum())


@pytest.mark.parametrize("shrinkage", [None, 0.1, 1e-9, 0.0])
def test_the_metric_is_the_inverse_of_the_scatter_within_classes(shrinkage, monkeypatch):
    monkeypatch.setattr("superproto.samples.whitening.BLOCK_COLUMNS", 2)
    rng = np.random.default_rng(5)
    X, labels = rng.normal(size=(60, 7)) + 1, np.arange(60) % 4
    metric = learn_metric(ArrayRows(X), labels, 4, shrinkage)
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    away = U - (np.eye(4)[labels].T @ U / 15)[labels]
    within = away.T @ away / 60
    c = np.trace(within) / 56 if shrinkage is None else shrinkage * np.trace(within) / 7
    np.testing.assert_allclose(metric.matrix @ metric.matrix.T, np.linalg.inv(within + c * np.eye(7)), rtol=1e-6)
    np.testing.assert_allclose(metric.forward(U), U @ metric.matrix, atol=1e-12)
    np.testing.assert_allclose(metric.backward(metric.forward(U)), U @ metric.matrix @ metric.matrix.T, atol=1e-10)


def test_whitening_learns_from_labeled_rows_beside_unlabeled_ones():
    from superproto.estimator.whitening import WithinClassWhitening

    rows = np.random.default_rng(0).normal(size=(30, 4))
    labels = np.repeat([0, 1, -1], 10)
    assert WithinClassWhitening().fit(rows, labels).transform(rows).shape == (30, 4)
