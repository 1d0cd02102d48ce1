"""Graph methods: neighbors, spreading and hypergraphs against dense algebra and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from superproto.baselines._shared.class_vectors import class_vectors, shares_space
from superproto.baselines._shared.graphs import (
    confident_seeds,
    cosine_graph,
    nearest_neighbors,
    normalized_graph,
    row_groups,
    row_shares,
    spread_labels,
)
from superproto.baselines.dsrl import nonnegative_codes
from superproto.baselines.registry import METHODS
from superproto.baselines.tmv_hlp import canonical_maps, hypergraph_walk, incidence
from superproto.baselines.zlap import image_class_graph
from superproto.datasets import make_task
from superproto.estimator.validation import check_problem
from superproto.samples.kernels import unit_rows
from superproto.samples.whitening import Metric


@pytest.fixture
def rows() -> np.ndarray:
    return unit_rows(np.random.default_rng(0).normal(size=(40, 6)))


def test_nearest_finds_what_sorting_all_cosines_finds(rows, monkeypatch):
    monkeypatch.setattr("superproto.baselines._shared.graphs.chunk_length", lambda *_: 7)
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -np.inf)
    index, values = nearest_neighbors(rows, 5)
    assert np.sort(values, axis=1) == pytest.approx(np.sort(cosines, axis=1)[:, -5:])
    assert np.take_along_axis(cosines, index, axis=1) == pytest.approx(values)


def test_a_single_row_has_no_neighbor(rows):
    assert nearest_neighbors(rows[:1], 3)[0].shape == (1, 0)
    assert nearest_neighbors(rows[:2], 3)[0].tolist() == [[1], [0]]


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


def test_seeds_are_the_rows_with_the_largest_lead():
    scores = np.array([[0.9, 0.1], [0.8, 0.7], [0.6, 0.1], [0.4, 0.3]])
    assert confident_seeds(scores, 2)[:, 0].tolist() == [True, False, True, False]
    # No row prefers the second class: it gets the one that is closest to doing so.
    assert confident_seeds(scores, 2)[:, 1].sum() == 1


def test_equal_rows_are_one_group(rows):
    doubled = np.vstack([rows[:3], rows[:3] + 1e-8])
    groups = row_groups(doubled)
    assert (groups[:3] == groups[3:]).all()
    assert len(set(groups)) == 3


def test_the_walk_on_a_hypergraph_is_symmetric_with_eigenvalues_in_0_1(rows):
    held, weights = incidence(rows, rows, 4)
    assert set(held.data) == {1.0}
    values = np.linalg.eigvalsh(hypergraph_walk(held, weights).toarray())
    assert values.min() > -1e-12
    assert values.max() == pytest.approx(1)


def test_canonical_maps_reach_the_correlations_of_scikit_learn():
    from sklearn.cross_decomposition import CCA

    rng = np.random.default_rng(0)
    shared = rng.normal(size=(300, 2))
    left = np.hstack([shared + 0.3 * rng.normal(size=(300, 2)), rng.normal(size=(300, 2))])
    right = np.hstack([shared @ rng.normal(size=(2, 2)), rng.normal(size=(300, 1))])
    left, right = left - left.mean(axis=0), right - right.mean(axis=0)
    _, _, correlations = canonical_maps(left, right, 2, ridge=0.0)
    theirs = CCA(2, scale=False, max_iter=2000).fit(left, right).transform(left, right)
    expected = [np.corrcoef(theirs[0][:, i], theirs[1][:, i])[0, 1] for i in range(2)]
    assert correlations == pytest.approx(expected, abs=1e-3)


def test_nonnegative_codes_are_those_of_nonnegative_least_squares():
    from scipy.optimize import nnls

    rng = np.random.default_rng(0)
    X, D = rng.normal(size=(10, 6)), rng.normal(size=(4, 6))
    codes = nonnegative_codes(X @ D.T, D @ D.T, 0.0, np.zeros((10, 4)), n_sweeps=500)
    assert codes == pytest.approx(np.array([nnls(D.T, x)[0] for x in X]), abs=1e-6)


def test_text_in_the_space_of_the_images_is_taken_as_class_vectors():
    rng = np.random.default_rng(0)
    text = rng.normal(size=(6, 20))
    labels = np.repeat(np.arange(4), 10)
    X = unit_rows(text[labels] + 0.5 * rng.normal(size=(40, 20)))
    shared = check_problem(labels, text)
    assert shares_space(X, shared, Metric())
    assert class_vectors(X, shared, Metric()) == pytest.approx(unit_rows(text))
    # As many attributes as features, but of another kind.
    assert not shares_space(X, check_problem(labels, rng.normal(size=(6, 20))), Metric())


def test_bad_parameters_are_named():
    task = make_task(n_seen=4, n_unseen=2, random_state=0)
    for name in ("label-spreading", "zlap", "dsrl", "ale-trans", "tmv-hlp"):
        with pytest.raises(ValueError, match=r"alpha is 1\.5, but it must be at least 0 and less than 1"):
            METHODS[name](alpha=1.5).fit(task.X, task.y, semantics=task.semantics)
    with pytest.raises(ValueError, match="alpha is 2, but it must be between 0 and 1"):
        METHODS["dipl"](alpha=2).fit(task.X, task.y, semantics=task.semantics)
    with pytest.raises(ValueError, match="n_neighbors is 0, but it must be larger than 0"):
        METHODS["zlap"](n_neighbors=0).fit(task.X, task.y, semantics=task.semantics)
