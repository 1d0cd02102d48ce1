"""WDVSc, BMVSc, CDVSc: each distance of two point sets, and the weighted ridge, against what defines them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from superproto.baselines._shared.predicted_prototypes import (
    predict_unseen_prototypes,
    squared_distances,
    unit_semantics,
)
from superproto.baselines.registry import METHODS
from superproto.baselines.wdvsc import chamfer_targets, matching_targets, sinkhorn, transport_targets, weighted_ridge
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows


@pytest.fixture
def points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(5, 3)), rng.normal(size=(5, 3))


def test_sinkhorn_has_uniform_marginals_and_scales_the_kernel(points):
    cost = squared_distances(*points)
    plan = sinkhorn(cost, 0.5, max_iter=5000, tol=1e-10)
    assert plan.sum(axis=0) == pytest.approx(np.full(5, 0.2))
    assert plan.sum(axis=1) == pytest.approx(np.full(5, 0.2))
    # Optimal exactly when log Q + cost/ε is a row term plus a column term.
    rest = np.log(plan) + cost / 0.5
    assert rest - rest[:1] - rest[:, :1] + rest[0, 0] == pytest.approx(np.zeros((5, 5)), abs=1e-8)


def test_sinkhorn_survives_a_regularization_that_overflows_exponentials(points):
    plan = sinkhorn(1e3 * squared_distances(*points), 0.01, max_iter=50)
    assert np.isfinite(plan).all()
    assert plan.sum() == pytest.approx(1)


@pytest.mark.extra
def test_sinkhorn_agrees_with_pot(points):
    ot = pytest.importorskip("ot")
    left, right = points[0], points[1][:4]
    cost = squared_distances(left, right)
    theirs = ot.sinkhorn(np.full(5, 1 / 5), np.full(4, 1 / 4), cost, 0.5, method="sinkhorn_log", stopThr=1e-12)
    assert sinkhorn(cost, 0.5, max_iter=10_000, tol=1e-12) == pytest.approx(theirs, abs=1e-8)


def test_transport_targets_become_the_matching_as_the_regularization_vanishes(points):
    classes, centers = points[0] + 0.1 * points[1], points[0][[3, 1, 4, 0, 2]]
    transported, _ = transport_targets(classes, centers, 0.01)
    matched, _ = matching_targets(classes, centers)
    assert transported == pytest.approx(matched, abs=1e-3)


def test_matching_is_the_cheapest_of_all_bijections(points):
    classes, centers = points
    targets, weights = matching_targets(classes, centers)
    best = min(((classes - centers[list(p)]) ** 2).sum() for p in itertools.permutations(range(5)))
    assert ((classes - targets) ** 2).sum() == pytest.approx(best)
    assert weights.all()


def test_a_class_without_a_cluster_has_no_weight(points):
    targets, weights = matching_targets(points[0], points[1][:3])
    assert weights.sum() == 3
    assert targets[weights == 0] == pytest.approx(points[0][weights == 0])


def test_chamfer_targets_have_the_gradient_of_the_chamfer_distance(points):
    classes, centers = points

    def chamfer(moved: np.ndarray) -> float:
        distances = squared_distances(moved, centers)
        return float(distances.min(axis=0).sum() + distances.min(axis=1).sum())

    targets, weights = chamfer_targets(classes, centers)
    slope = 2 * weights[:, None] * (classes - targets)
    for place in np.ndindex(classes.shape):
        step = np.zeros_like(classes)
        step[place] = 1e-6
        assert (chamfer(classes + step) - chamfer(classes - step)) / 2e-6 == pytest.approx(slope[place], abs=1e-5)


def test_weighted_ridge_is_a_minimum(points):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(5, 5))
    kernel, targets, weights = A @ A.T, points[0], np.array([1.0, 2.0, 0.0, 0.5, 3.0])

    def loss(W: np.ndarray) -> float:
        return float((weights[:, None] * (A @ W - targets) ** 2).sum() + 0.3 * (W**2).sum())

    best = np.linalg.solve(A, weighted_ridge(kernel, targets, weights, 0.3))
    assert all(loss(best) < loss(best + 0.01 * rng.normal(size=best.shape)) for _ in range(20))


def test_without_weight_on_the_structure_the_prototypes_are_those_of_kernel_ridge():
    task = make_task(n_seen=8, n_unseen=3, random_state=0)
    model = METHODS["wdvsc"](structure_weight=0, random_state=0).fit(task.X, task.y, semantics=task.semantics)
    A, seen = unit_semantics(task.semantics), model.seen_classes_
    expected = unit_rows(predict_unseen_prototypes(model.classifiers_[seen], A[seen], A[~seen]))
    assert model.classifiers_[~seen] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", ["wdvsc", "bmvsc", "cdvsc"])
def test_clusters_mend_shifted_predictions(name):
    task = make_task(n_seen=10, n_unseen=4, separation=6, attribute_noise=0.5, random_state=2)
    alone = METHODS["prototypes"]().fit(task.X, task.y, semantics=task.semantics)
    moved = METHODS[name](random_state=0).fit(task.X, task.y, semantics=task.semantics)
    truth = task.truth[task.asked]
    assert np.mean(moved.transduction_[task.asked] == truth) >= np.mean(alone.transduction_[task.asked] == truth)
