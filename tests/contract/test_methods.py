"""Every method keeps the promises of one signature: shapes, candidates, settings, seeds and awkward inputs."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from builders import SHALLOW, fit_quietly, small_task
from superproto.baselines import METHODS
from superproto.datasets import digits, make_task

AWKWARD = {
    "one seen class": {"n_seen": 1, "n_unseen": 2},
    "one unseen class": {"n_seen": 4, "n_unseen": 1},
    "one sample each": {"n_seen": 6, "n_unseen": 3, "samples_per_class": 1},
    "fewer samples than features": {"n_seen": 4, "n_unseen": 2, "samples_per_class": 3, "n_features": 60},
    "one feature": {"n_features": 1},
    "one attribute": {"n_attributes": 1},
}
WITH_SEEN_BIAS = [name for name in SHALLOW if "seen_bias" in inspect.signature(METHODS[name]).parameters]


def fit(name: str, task: Any, X: Any = None, A: Any = None, **params: Any) -> Any:
    """The method fitted to the task, or to other features or descriptions of it."""
    model = METHODS[name](candidates=task.candidates, **params).set_params(random_state=0)
    return fit_quietly(model, task.X if X is None else X, task.y, task.semantics if A is None else A)


@functools.cache
def fitted(name: str, setting: str, whiten: bool = False) -> Any:
    """One fit for all tests that only read it."""
    return fit(name, small_task(setting), whiten=whiten)


@pytest.mark.parametrize("name", METHODS)
def test_the_shared_parameters_and_a_docstring_are_there(name):
    method = METHODS[name]
    parameters = inspect.signature(method).parameters
    assert {"candidates", "whiten", "random_state"} <= set(parameters)
    assert all(parameter.default is not inspect.Parameter.empty for parameter in parameters.values())
    assert len((method.__doc__ or "").split()) > 5


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("name", SHALLOW)
def test_answers_keep_given_labels_and_stay_among_the_candidates(name, setting):
    task = small_task(setting)
    known = ~task.asked
    allowed = task.unseen_classes if setting == "zsl" else np.arange(len(task.semantics))
    for whiten in (False, True):
        model = fitted(name, setting, whiten)
        assert np.array_equal(model.transduction_[known], task.y[known])
        assert np.isin(model.transduction_[task.asked], allowed).all()
        distributions = model.label_distributions_
        distributions = distributions.toarray() if hasattr(distributions, "toarray") else np.asarray(distributions)
        assert distributions.shape == (len(task.X), len(task.semantics))
        np.testing.assert_allclose(distributions.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("name", SHALLOW)
def test_predict_on_a_pool_row_is_its_transduction(name, setting):
    task, model = small_task(setting), fitted(name, setting)
    pool = task.X[task.asked]
    assert np.array_equal(model.predict(pool), model.transduction_[task.asked])
    scores = model.decision_function(pool)
    assert scores.shape == (len(pool), len(task.semantics))
    assert np.array_equal(model.classes_[scores.argmax(axis=1)], model.transduction_[task.asked])
    np.testing.assert_allclose(model.predict_proba(pool).sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("name", SHALLOW)
def test_without_a_pool_fit_learns_and_predict_labels(name):
    task = small_task(separation=6.0)
    labels = fit(name, task.inductive()).predict(task.X[task.asked])
    assert np.isin(labels, task.unseen_classes).all()
    assert np.mean(labels == task.truth[task.asked]) > 0.45  # chance is 1/3


@pytest.mark.parametrize("name", SHALLOW)
def test_an_easy_pool_is_labeled_far_above_chance(name):
    task = make_task(n_seen=20, n_unseen=4, n_features=24, n_attributes=10, samples_per_class=15, separation=6.0)
    found = fit(name, task).transduction_[task.asked]
    assert np.mean(found == task.truth[task.asked]) > 0.75  # chance is 1/4


@pytest.mark.parametrize("name", SHALLOW)
def test_scaling_descriptions_or_features_changes_no_label(name):
    task = small_task(separation=5.0)
    plain = fit(name, task).transduction_
    scaled = fit(name, task, X=task.X * 8, A=task.semantics * 128).transduction_
    assert np.mean(plain == scaled) > 0.98


@pytest.mark.parametrize("name", SHALLOW)
def test_the_same_seed_gives_the_same_answer_and_leaves_the_input_alone(name):
    task, first = small_task("gzsl"), fitted(name, "gzsl")
    X, y, A = task.X.copy(), task.y.copy(), task.semantics.copy()
    second = fit_quietly(clone(first), X, y, A)
    assert np.array_equal(first.transduction_, second.transduction_)
    assert np.array_equal(X, task.X)
    assert np.array_equal(y, task.y)
    assert np.array_equal(A, task.semantics)


@pytest.mark.parametrize("name", SHALLOW)
def test_signed_percent_and_embedding_descriptions_all_work(name):
    task = digits((3, 6, 7))
    chosen = np.r_[np.flatnonzero(~task.asked)[::12], np.flatnonzero(task.asked)[::8]]
    X, y = task.X[chosen], task.y[chosen]
    for A in (100 * task.semantics, task.semantics - 0.5):
        labels = fit_quietly(METHODS[name](random_state=0), X, y, A).transduction_
        assert np.isin(labels[y == -1], task.unseen_classes).all()


@pytest.mark.parametrize("name", SHALLOW)
def test_awkward_shapes_get_an_answer(name):
    for case, changes in AWKWARD.items():
        task = small_task(**changes)
        model = fit(name, task)
        answers = model.transduction_[task.asked]
        assert np.isin(answers, task.unseen_classes).all(), case
        assert np.array_equal(model.predict(task.X[task.asked]), answers), case


@pytest.mark.parametrize("name", WITH_SEEN_BIAS)
def test_a_large_seen_bias_leaves_only_unseen_answers(name):
    task = small_task("gzsl")
    assert np.isin(fit(name, task, seen_bias=1e9).transduction_[task.asked], task.unseen_classes).all()
    assert np.isin(fit(name, task, seen_bias=-1e9).transduction_[task.asked], task.seen_classes).all()
