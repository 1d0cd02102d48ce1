"""BiDiLEL: its class graph, its map and its placement of unseen classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

from superproto.baselines._shared.predicted_prototypes import squared_distances
from superproto.baselines.bidilel import class_graph, locality_preserving_map, place_by_distance
from superproto.baselines.bidilel import sammon_stress as stress
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows


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


@pytest.mark.parametrize("adapt", ["structured", "self-training", "none"])
def test_bidilel_adapts_in_every_way_it_offers(adapt):
    task = make_task(n_seen=20, n_unseen=4, separation=6, random_state=0)
    model = METHODS["bidilel"](adapt=adapt, random_state=0).fit(task.X, task.y, semantics=task.semantics)
    assert np.mean(model.transduction_[task.asked] == task.truth[task.asked]) > 0.5
