"""Candidates that are not in the pool: told by their samples, no longer insisted on, and reported."""

import warnings

import numpy as np
import pytest

from superproto import HPL
from superproto.absence import coherence
from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.metrics import per_class_accuracy
from superproto.solver.spherical import normalized


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


def fitted(task, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return HPL(**parameters).fit(task.X, task.y, semantics=task.semantics)


def accuracy(task, model):
    asked = task.y == -1
    return per_class_accuracy(task.truth[asked], model.transduction_[asked])


@pytest.fixture(scope="module")
def most_there():
    """Ten tasks in which two of twelve candidates are not in the pool."""
    tasks = []
    for seed in range(10):
        task = make_task(n_seen=40, n_unseen=12, separation=0.6, attribute_noise=0.3, random_state=seed)
        tasks.append(task.with_pool("few-classes", classes=10, seed=seed))
    return tasks


def test_pools_without_some_candidates_gain(most_there):
    plain = np.array([accuracy(task, fitted(task, mend=False)) for task in most_there])
    models = [fitted(task) for task in most_there]
    found = np.array([accuracy(task, model) for task, model in zip(most_there, models)])
    assert found.mean() > plain.mean()
    missing = np.concatenate([model.missing_[task.unseen_classes] for task, model in zip(most_there, models)])
    there = np.concatenate([np.isin(task.unseen_classes, task.truth[task.y == -1]) for task in most_there])
    assert missing.any()
    assert (missing & ~there).sum() > (missing & there).sum()
    assert all(np.diff(model.objective_).max(initial=-1) <= 0 for model in models)


def test_who_is_missing_is_said(most_there):
    task = next(task for task in most_there if fitted(task).missing_.any())
    with pytest.warns(UserWarning, match=r"of 12 candidates seem to be missing from the pool.*see missing_"):
        HPL().fit(task.X, task.y, semantics=task.semantics)


def test_full_pools_miss_nobody():
    for seed in range(4):
        task = make_task(n_seen=40, n_unseen=12, separation=1.0, random_state=seed)
        assert not fitted(task).missing_.any()


@pytest.mark.parametrize("parameters", [{"prior": "uniform"}, {"prior": None}, {"mend": False}])
def test_nobody_is_missing_where_it_is_not_asked(most_there, parameters):
    assert not any(fitted(task, **parameters).missing_.any() for task in most_there[:3])


def test_a_labeled_candidate_is_never_missing(most_there):
    task = next(task for task in most_there if fitted(task).missing_.any())
    lost = np.flatnonzero(fitted(task).missing_)
    asked = np.flatnonzero(task.y == -1)[: len(lost)]
    y = task.y.copy()
    y[asked] = lost
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = HPL(candidates=task.unseen_classes.tolist()).fit(task.X, y, semantics=task.semantics)
    assert not model.missing_[lost].any()


def test_an_absent_candidate_list_is_still_refused():
    task = make_task(random_state=0)
    with pytest.raises(UserError):
        HPL(candidates=[]).fit(task.X, task.y, semantics=task.semantics)
