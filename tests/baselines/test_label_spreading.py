"""Label spreading against dense algebra and scikit-learn, and its choice of seeds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from superproto.baselines._shared.graphs import (
    confident_seeds,
    cosine_graph,
    normalized_graph,
    row_shares,
    spread_labels,
)


def test_spread_solves_the_dense_system(rows):
    graph = cosine_graph(rows, 4)
    S = normalized_graph(graph.maximum(graph.T))
    seeds = np.eye(40)[:, :3]
    dense = 0.1 * np.linalg.solve(np.eye(40) - 0.9 * S.toarray(), seeds)
    assert spread_labels(S, seeds, 0.9) == pytest.approx(dense, abs=1e-8)


def test_spread_gives_the_distributions_of_scikit_learn(rows):
    from sklearn.semi_supervised import LabelSpreading

    graph = cosine_graph(rows, 4)
    symmetric = graph.maximum(graph.T).toarray()
    labels = np.full(40, -1)
    labels[:6] = [0, 1, 2, 0, 1, 2]
    theirs = LabelSpreading(kernel=lambda *_: symmetric, alpha=0.8, max_iter=2000, tol=1e-12).fit(rows, labels)
    seeds = np.zeros((40, 3))
    seeds[np.arange(6), labels[:6]] = 1
    ours = row_shares(spread_labels(normalized_graph(sparse.csr_matrix(symmetric)), seeds, 0.8))
    assert ours == pytest.approx(theirs.label_distributions_, abs=1e-6)


def test_seeds_are_the_rows_with_the_largest_lead():
    scores = np.array([[0.9, 0.1], [0.8, 0.7], [0.6, 0.1], [0.4, 0.3]])
    assert confident_seeds(scores, 2)[:, 0].tolist() == [True, False, True, False]
    # No row prefers the second class: it gets the one that is closest to doing so.
    assert confident_seeds(scores, 2)[:, 1].sum() == 1
