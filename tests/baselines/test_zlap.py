"""ZLaP against a dense solve on the graph of samples and classes."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines._shared.graphs import (
    row_shares,
)
from superproto.baselines.registry import METHODS
from superproto.baselines.zlap import image_class_graph
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows


def test_zlap_is_the_dense_solve_on_images_and_classes(rows):
    vectors = unit_rows(np.random.default_rng(1).normal(size=(3, 6)))
    W = image_class_graph(rows, vectors, 3, 2.0).toarray()
    assert (W == W.T).all()
    assert not W[40:, 40:].any()
    cosines = np.maximum(rows @ vectors.T, 0) ** 2
    assert W[:40, 40:] == pytest.approx(cosines)
    degree = W.sum(axis=1)
    S = W / np.sqrt(np.outer(degree, degree))
    dense = np.linalg.solve(np.eye(43) - 0.3 * S, np.vstack([np.zeros((40, 3)), np.eye(3)]))[:40]
    task = make_task(n_seen=4, n_unseen=3, n_features=6, n_attributes=6, random_state=0)
    model = METHODS["zlap"](n_neighbors=3, gamma=2.0).fit(task.X, task.y, semantics=task.semantics)
    model.class_vectors_[model.allowed_] = vectors
    ours = row_shares(model._propagate(rows, vectors))
    assert ours == pytest.approx(dense / dense.sum(axis=1, keepdims=True), abs=1e-6)
