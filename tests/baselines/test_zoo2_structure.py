"""DIPL, BiDiLEL, SP-ZSR, STZSL and TSTD: their maps, placements and choices against closed forms and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from scipy.optimize import check_grad

from superproto.baselines._shared.predicted_prototypes import squared_distances
from superproto.baselines._shared.projections import invariant_map, spectrum
from superproto.baselines.bidilel import class_graph, locality_preserving_map, place_by_distance
from superproto.baselines.bidilel import sammon_stress as stress
from superproto.baselines.dipl import shared_ties, two_sided_cost
from superproto.baselines.registry import METHODS
from superproto.baselines.sp_zsr import match_by_score
from superproto.baselines.stzsl import diverse_choice
from superproto.baselines.tstd import confident_means
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows


@pytest.fixture
def pair() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 4)), rng.normal(size=(30, 6))


@pytest.mark.parametrize(("alpha", "closed_form"), [(0, lambda A, X: np.linalg.pinv(A) @ X), (1, None)])
def test_dipl_at_the_ends_of_alpha_is_least_squares_one_way(pair, alpha, closed_form):
    A, X = pair
    expected = closed_form(A, X) if closed_form else (np.linalg.pinv(X) @ A).T
    assert invariant_map(spectrum(A), spectrum(X), A.T @ X, alpha) == pytest.approx(expected)


@pytest.mark.parametrize("alpha", [0.2, 0.7])
def test_dipl_between_is_the_sylvester_equation_of_scipy(pair, alpha):
    A, X = pair
    expected = linalg.solve_sylvester((1 - alpha) * A.T @ A, alpha * X.T @ X, A.T @ X)
    assert invariant_map(spectrum(A), spectrum(X), A.T @ X, alpha) == pytest.approx(expected)


def test_few_rows_give_the_same_map_as_the_full_equation():
    rng = np.random.default_rng(0)
    A, X = rng.normal(size=(3, 5)), rng.normal(size=(3, 7))
    W = invariant_map(spectrum(A), spectrum(X), A.T @ X, 0.4)
    left = 0.6 * A.T @ A @ W + 0.4 * W @ X.T @ X
    assert left == pytest.approx(A.T @ X)


@pytest.mark.parametrize("alpha", [0, 1])
def test_the_whole_of_dipl_without_a_pool_is_its_closed_form(alpha):
    task = make_task(n_seen=8, n_unseen=3, n_features=6, n_attributes=4, random_state=0).inductive()
    model = METHODS["dipl"](alpha=alpha).fit(task.X.astype(np.float64), task.y, semantics=task.semantics)
    rows = unit_rows(np.asarray(task.X, dtype=np.float64))
    rows = unit_rows(rows - rows.mean(axis=0))
    A = unit_rows(np.asarray(task.semantics, dtype=np.float64))[task.y]
    expected = np.linalg.pinv(A) @ rows if alpha == 0 else (np.linalg.pinv(rows) @ A).T
    assert model.map_ == pytest.approx(expected, abs=1e-6)


def test_ties_share_the_weight():
    weights = shared_ties(np.array([[1.0, 1.01, 2.0], [3.0, 1.0, 1.5]]), tolerance=0.02)
    assert weights.tolist() == [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]


def test_the_cost_of_dipl_is_both_distances_at_unit_length(pair):
    A, X = pair
    W = np.random.default_rng(1).normal(size=(4, 6))
    x, a = X[0], A[1]
    visual = np.sum((x / np.linalg.norm(x) - a @ W / np.linalg.norm(a @ W)) ** 2)
    semantic = np.sum((W @ x / np.linalg.norm(W @ x) - a / np.linalg.norm(a)) ** 2)
    assert two_sided_cost(X, A, W, 0.3)[0, 1] == pytest.approx(0.7 * visual + 0.3 * semantic)


def test_superclasses_are_an_option_of_dipl():
    task = make_task(n_seen=12, n_unseen=4, separation=5, random_state=0)
    model = METHODS["dipl"](n_superclasses=5, random_state=0).fit(task.X, task.y, semantics=task.semantics)
    assert np.mean(model.transduction_[task.asked] == task.truth[task.asked]) > 0.8


def test_the_class_graph_joins_rows_of_one_class_only():
    rng = np.random.default_rng(0)
    rows, labels = unit_rows(rng.normal(size=(20, 3))), rng.integers(3, size=20)
    graph = class_graph(rows, labels, 2).tocoo()
    assert (labels[graph.row] == labels[graph.col]).all()
    assert (graph != graph.T).nnz == 0
    assert (np.bincount(graph.row, minlength=20) >= 2).all()


def test_the_locality_preserving_map_minimizes_its_quotient():
    rng = np.random.default_rng(0)
    rows, labels = unit_rows(rng.normal(size=(60, 5))), rng.integers(3, size=60)
    graph = class_graph(rows, labels, 4)
    W = graph.toarray()
    within = rows.T @ (np.diag(W.sum(axis=1)) - W) @ rows
    best = locality_preserving_map(rows, graph, 1, ridge=0.0)[:, 0]

    def quotient(v: np.ndarray) -> float:
        return float(v @ within @ v / (v @ rows.T @ rows @ v))

    assert all(quotient(best) <= quotient(best + 0.3 * rng.normal(size=5)) for _ in range(50))


def test_the_gradient_of_the_stress_is_right():
    rng = np.random.default_rng(0)
    landmarks, points = rng.normal(size=(4, 3)), rng.normal(size=(2, 3))
    among = np.array([[0.0, 1.3], [1.3, 0.0]])
    arguments = (landmarks, rng.uniform(0.5, 2, size=(2, 4)), among)
    assert check_grad(lambda p: stress(p, *arguments)[0], lambda p: stress(p, *arguments)[1], points.ravel()) < 1e-5


def test_distances_that_can_be_had_place_a_point_exactly():
    rng = np.random.default_rng(0)
    landmarks, truth = rng.normal(size=(8, 3)), rng.normal(size=(2, 3))
    wanted = np.sqrt(squared_distances(truth, landmarks)), np.sqrt(squared_distances(truth, truth))
    found = place_by_distance(landmarks, *wanted, truth + 0.2 * rng.normal(size=(2, 3)))
    assert found == pytest.approx(truth, abs=1e-3)


def test_clusters_are_matched_with_the_classes_that_score_them():
    rng = np.random.default_rng(0)
    centers = np.eye(4)[[2, 0, 3, 1]]
    pool = unit_rows(np.repeat(centers, 10, axis=0) + 0.05 * rng.normal(size=(40, 4)))
    assert match_by_score(pool, np.eye(4) + 0.3, random_state=0) == pytest.approx(np.eye(4), abs=0.1)


def test_without_diversity_the_most_alike_rows_are_chosen():
    rows, likeness = np.eye(5), np.array([0.1, 0.9, 0.5, 0.7, 0.2])
    assert diverse_choice(rows, likeness, 3, diversity=0.0).tolist() == [1, 3, 2]


def test_diversity_passes_over_a_copy():
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert diverse_choice(rows, np.array([0.9, 0.89, 0.5]), 2, diversity=1.0).tolist() == [0, 2]


def test_sure_means_take_the_part_with_the_largest_lead():
    rows = np.arange(8.0).reshape(4, 2)
    scores = np.array([[0.9, 0.0, 0.0], [0.5, 0.4, 0.0], [0.0, 0.6, 0.1], [0.7, 0.0, 0.0]])
    means, found = confident_means(rows, scores, 0.5)
    assert means[0] == pytest.approx((rows[0] + rows[3]) / 2)
    assert means[1] == pytest.approx(rows[2])
    assert found.tolist() == [True, True, False]


def test_tstd_in_the_inductive_setting_is_the_dictionary_of_the_seen_classes():
    task = make_task(n_seen=8, n_unseen=3, n_features=6, n_attributes=4, random_state=0).inductive()
    model = METHODS["tstd"](reverse_weight=0).fit(task.X.astype(np.float64), task.y, semantics=task.semantics)
    A, seen = unit_rows(np.asarray(task.semantics, dtype=np.float64)), model.seen_classes_
    expected = np.linalg.pinv(A[seen]) @ model.classifiers_[seen]
    assert model.dictionary_ == pytest.approx(expected, abs=1e-6)


def test_stzsl_without_rounds_learns_from_transferred_rows_alone():
    task = make_task(n_seen=10, n_unseen=3, separation=6, random_state=0)
    pooled = METHODS["stzsl"](n_rounds=0).fit(task.X, task.y, semantics=task.semantics)
    alone = METHODS["stzsl"](n_rounds=0).fit(task.inductive().X, task.inductive().y, semantics=task.semantics)
    assert pooled.classifiers_ == pytest.approx(alone.classifiers_, abs=1e-6)
    assert np.mean(pooled.transduction_[task.asked] == task.truth[task.asked]) > 0.9


@pytest.mark.parametrize("adapt", ["structured", "self-training", "none"])
def test_bidilel_adapts_in_every_way_it_offers(adapt):
    task = make_task(n_seen=20, n_unseen=4, separation=6, random_state=0)
    model = METHODS["bidilel"](adapt=adapt, random_state=0).fit(task.X, task.y, semantics=task.semantics)
    assert np.mean(model.transduction_[task.asked] == task.truth[task.asked]) > 0.5
