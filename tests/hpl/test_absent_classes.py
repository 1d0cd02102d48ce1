"""Candidates that are not in the pool: told by their samples, no longer insisted on, and reported."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from superproto import HPL
from superproto.datasets import make_task
from superproto.hpl.objective.sphere import normalized
from superproto.hpl.refinement import coherence
from superproto.metrics import per_class_accuracy


def unit_clusters(rng, centers, count):
    rows = np.repeat(centers, count, axis=0) + rng.normal(size=(len(centers) * count, centers.shape[1]))
    return normalized(rows, rows), np.repeat(np.arange(len(centers)), count)


def test_coherence_is_what_leaving_each_row_out_says():
    rng = np.random.default_rng(0)
    rows, _ = unit_clusters(rng, rng.normal(size=(4, 6)), 5)
    labels = rng.integers(4, size=20)
    expected = np.zeros(4)
    for j in range(4):
        margins = []
        for i in np.flatnonzero(labels == j):
            rest = rows[(labels == j) & (np.arange(20) != i)].sum(axis=0)
            others = [rows[labels == k].sum(axis=0) for k in range(4) if k != j]
            own = rows[i] @ rest / np.linalg.norm(rest)
            margins.append(own - max(rows[i] @ o / np.linalg.norm(o) for o in others))
        expected[j] = np.mean(margins)
    np.testing.assert_allclose(coherence(rows, labels, 4), expected, atol=1e-12)


def test_half_of_a_cluster_is_no_cluster():
    rng = np.random.default_rng(1)
    rows, labels = unit_clusters(rng, 3 * rng.normal(size=(3, 40)), 60)
    whole = coherence(rows, labels, 4)
    assert whole[:3].min() > 0.3
    assert whole[3] == -np.inf
    labels[(labels == 2) & (rng.random(len(labels)) < 0.5)] = 3
    torn = coherence(rows, labels, 4)
    assert torn[:2].min() > 0.3
    assert torn[2:].max() < 0.1


def test_a_single_row_is_like_nobody():
    rows = np.eye(3)[[0, 0, 1]]
    assert coherence(rows, np.array([0, 0, 1]), 2)[1] == -np.inf


def fitted(task, kind=HPL, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return kind(**parameters).fit(task.X, task.y, semantics=task.semantics)


def accuracy(task, model):
    asked = task.y == -1
    return per_class_accuracy(task.truth[asked], model.transduction_[asked])


@pytest.fixture(scope="module")
def some_missing():
    """Poor descriptions, and five of thirty candidates that are not in the pool."""
    task = make_task(
        n_seen=60, n_unseen=30, n_features=128, separation=0.4, attribute_noise=1.0, random_state=4
    ).with_pool("few-classes", classes=25, seed=0)
    return task, fitted(task)


def test_a_pool_without_some_candidates_gains(some_missing):
    task, model = some_missing
    assert accuracy(task, model) > accuracy(task, fitted(task, HPL.with_constants(refine=False)))
    assert np.diff(model.objective_).max() <= 0


def test_most_of_those_said_to_be_missing_are(some_missing):
    task, model = some_missing
    there = np.isin(np.flatnonzero(model.missing_), task.truth[task.y == -1])
    assert 0 < len(there) < 10
    assert there.mean() < 0.5


def test_a_missing_class_stays_at_its_description(some_missing):
    task, model = some_missing
    lost = model.missing_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        start = HPL().fit(task.X[task.y >= 0], task.y[task.y >= 0], semantics=task.semantics)
    cosines = (model.visual_prototypes_ * start.visual_prototypes_).sum(axis=1)
    assert cosines[lost].min() > 0.8 > np.median(cosines[task.unseen_classes])


def test_who_is_missing_is_said(some_missing):
    task, _ = some_missing
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        HPL().fit(task.X, task.y, semantics=task.semantics)
    assert any("of 30 candidates seem to be missing from the pool" in str(one.message) for one in told)


def test_full_pools_miss_nobody():
    for seed in range(2):
        task = make_task(n_seen=40, n_unseen=12, separation=1.0, random_state=seed)
        assert not fitted(task).missing_.any()


@pytest.mark.parametrize(
    "parameters", [{"prior": "uniform"}, {"prior": None}, {"kind": HPL.with_constants(refine=False)}]
)
def test_nobody_is_missing_where_it_is_not_asked(some_missing, parameters):
    task, _ = some_missing
    assert not fitted(task, **parameters).missing_.any()


def test_a_labeled_candidate_is_never_missing(some_missing):
    task, model = some_missing
    lost = np.flatnonzero(model.missing_)
    y = task.y.copy()
    y[np.flatnonzero(y == -1)[: len(lost)]] = lost
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        again = HPL(candidates=task.unseen_classes.tolist()).fit(task.X, y, semantics=task.semantics)
    assert not again.missing_[lost].any()
