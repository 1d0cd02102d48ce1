"""The class prior is relaxed once classes have found their samples; classes without samples teach nothing."""

from __future__ import annotations

import numpy as np
import pytest

from superproto import HPL
from superproto.datasets import make_task
from superproto.hpl import estimator
from superproto.metrics import per_class_accuracy


def uneven(setting="zsl", seed=0):
    """The largest class of the pool has five times the samples of the smallest."""
    task = make_task(
        n_seen=20,
        n_unseen=8,
        samples_per_class=60,
        separation=1.0,
        attribute_noise=0.3,
        setting=setting,
        random_state=seed,
    )
    return task.with_pool("shifted-prior", imbalance=5, seed=seed)


def sweeps_of(task, **parameters):
    sweeps = []
    model = HPL(candidates=task.candidates, callback=sweeps.append, **parameters)
    return sweeps, model.fit(task.X, task.y, semantics=task.semantics)


def test_the_prior_is_let_go_once_and_only_when_few_labels_change():
    task = uneven()
    sweeps, model = sweeps_of(task)
    settled = [sweep.state.continuation.settled for sweep in sweeps]
    first = settled.index(True)
    assert settled == [False] * first + [True] * (len(settled) - first)
    assert [sweep.state.continuation.prior_strength for sweep in sweeps] == [1.0] * first + [model.hold_] * (
        len(settled) - first
    )
    constants = HPL.constants
    assert constants.relaxed <= model.hold_ < 1
    share = sweeps[first].labels_changed / task.asked.sum()
    assert share <= constants.settled
    assert all(sweep.labels_changed / task.asked.sum() > constants.settled for sweep in sweeps[1:first])
    assert (np.diff(model.objective_) <= 1e-10 * np.abs(model.objective_[:-1])).all()


@pytest.mark.filterwarnings("ignore:.*received no sample")
def test_large_classes_keep_their_samples():
    hard = {"n_seen": 30, "n_unseen": 10, "n_features": 60, "samples_per_class": 80, "separation": 0.4}
    made = [make_task(n_attributes=20, attribute_noise=0.3, random_state=seed, **hard) for seed in range(4)]
    tasks = [task.with_pool("shifted-prior", imbalance=5, seed=seed) for seed, task in enumerate(made)]

    def accuracies(**constants):
        model = HPL.with_constants(**constants)()
        found = [model.fit(task.X, task.y, semantics=task.semantics).transduction_[task.asked] for task in tasks]
        return np.mean([per_class_accuracy(task.truth[task.asked], labels) for task, labels in zip(tasks, found)])

    assert accuracies() > accuracies(settled=-1.0)


@pytest.mark.filterwarnings("ignore:.*received no sample")
def test_free_sizes_starve_candidates_that_are_absent(monkeypatch):
    """One class of ten is in the pool; the objective still never rises, and predict agrees."""
    monkeypatch.setattr(estimator, "measure_evenness", lambda data, seen, params: 0.0)
    hard = {"n_seen": 30, "n_unseen": 10, "n_features": 60, "samples_per_class": 80, "separation": 0.3}
    found = {True: [], False: []}
    for seed in range(4):
        task = make_task(n_attributes=20, attribute_noise=0.3, random_state=seed, **hard)
        task = task.with_pool("few-classes", classes=1, seed=seed)
        for free in found:
            model = HPL.with_constants(free_sizes=free)().fit(task.X, task.y, semantics=task.semantics)
            assert (np.diff(model.objective_) <= 1e-10 * np.abs(model.objective_[:-1])).all()
            np.testing.assert_array_equal(model.predict(task.X[task.asked]), model.transduction_[task.asked])
            found[free].append(np.mean(model.transduction_[task.asked] == task.truth[task.asked]))
    assert np.mean(found[True]) > np.mean(found[False]) + 0.02


@pytest.mark.parametrize(
    ("setting", "parameters"), [("gzsl", {}), ("zsl", {"prior": "uniform"}), ("zsl", {"temperature": 0.0})]
)
def test_a_given_prior_and_that_of_the_generalized_setting_stay(setting, parameters):
    sweeps, model = sweeps_of(uneven(setting), **parameters)
    assert all(sweep.state.continuation[:2] == (1, False) for sweep in sweeps)
    assert model.hold_ == 0


def test_classes_that_are_even_without_the_prior_stay_held():
    task = make_task(n_seen=20, n_unseen=8, samples_per_class=60, separation=2.0, random_state=0)
    assert sweeps_of(task)[1].hold_ > 0.99


def test_a_class_without_samples_has_no_say_in_the_super_prototypes():
    task = make_task(n_seen=12, n_unseen=4, random_state=0)
    known = task.y != -1
    other = task.semantics.copy()
    other[task.unseen_classes] = other[task.unseen_classes][::-1]
    fits = [HPL().fit(task.X[known], task.y[known], semantics=A) for A in (task.semantics, other)]
    np.testing.assert_allclose(fits[0].visual_super_prototypes_, fits[1].visual_super_prototypes_, atol=1e-10)
    unseen = task.unseen_classes
    np.testing.assert_allclose(fits[0].visual_prototypes_[unseen], fits[1].visual_prototypes_[unseen][::-1], atol=1e-8)


@pytest.mark.filterwarnings("ignore:1 sample for")
def test_a_pool_of_one_sample_is_labeled_as_without_a_pool():
    task = make_task(n_seen=20, n_unseen=6, separation=0.8, attribute_noise=0.6, random_state=1)
    known, asked = np.flatnonzero(~task.asked), np.flatnonzero(task.asked)[::15]
    alone = HPL().fit(task.X[known], task.y[known], semantics=task.semantics)
    pools = [np.append(known, row) for row in asked]
    found = [HPL().fit(task.X[rows], task.y[rows], semantics=task.semantics).transduction_[-1] for rows in pools]
    assert np.mean(alone.predict(task.X[asked]) == found) > 0.95
