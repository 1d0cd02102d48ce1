"""Contract: every method of the zoo behind one signature, held to scikit-learn's checks and our laws."""

from __future__ import annotations

import importlib.util
import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from superproto.baselines.registry import _HOMES, METHODS
from superproto.datasets import digits, make_task

CONTRACT = [
    "eszsl",
    "sae",
    "ale",
    "devise",
    "sje",
    "sync",
    "exem",
    "cdl",
    "capd",
    "gfzsl",
    "msplit-lbi",
    "dap",
    "conse",
    "prototypes",
    "gfzsl-em",
    "dipl",
    "dsrl",
    "bidilel",
    "sp-zsr",
    "tmv-hlp",
    "stzsl",
    "tstd",
    "ale-trans",
    "mdp",
    "wdvsc",
    "bmvsc",
    "cdvsc",
    "label-spreading",
    "transclip",
    "stata",
    "zlap",
    "em-dirichlet",
    "inmap",
    "hpl",
    "hpl-published",
    "hpl1",
]
# A family that needs an optional package is left out where the package is.
PRESENT = [name for name, home in _HOMES.items() if importlib.util.find_spec(home.partition(":")[0])]
# -1 asks for a label, so a class cannot be called -1.
MINUS_ONE = {"check_classifiers_classes": "uses -1 as a label, which marks what is to be labeled"}


def make(name: str, **params: Any) -> Any:
    model = METHODS[name](**params)
    return model.set_params(random_state=0)


def fit(model: Any, X: Any, y: Any, A: Any, **more: Any) -> Any:
    """Fit without the advice (empty classes, few iterations) that tiny problems provoke."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, y, semantics=A, **more)


def small(setting: str = "zsl", seed: int = 0, **changes: Any) -> Any:
    chosen = {"n_seen": 8, "n_unseen": 3, "n_features": 12, "n_attributes": 7, "samples_per_class": 12}
    return make_task(setting=setting, random_state=seed, **{**chosen, **changes})


def answers(name: str, task: Any, X: Any = None, A: Any = None, **params: Any) -> Any:
    X, A = task.X if X is None else X, task.semantics if A is None else A
    return fit(make(name, candidates=task.candidates, **params), X, task.y, A)


def test_the_contract_names_are_all_listed():
    assert set(CONTRACT) == set(METHODS) - {"kmeans"}, "kmeans came later: the yardstick of other people's figures"


@parametrize_with_checks(
    [make(name) for name in PRESENT],
    expected_failed_checks=lambda estimator: MINUS_ONE,
)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", PRESENT)
def test_the_shared_parameters_and_a_docstring_are_there(name):
    method = METHODS[name]
    parameters = inspect.signature(method).parameters
    assert {"candidates", "whiten", "random_state"} <= set(parameters)
    assert all(parameter.default is not inspect.Parameter.empty for parameter in parameters.values())
    assert len((method.__doc__ or "").split()) > 5


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("name", PRESENT)
def test_answers_keep_given_labels_and_stay_among_the_candidates(name, setting, whiten):
    task = small(setting)
    model = answers(name, task, whiten=whiten)
    known = ~task.asked
    assert np.array_equal(model.transduction_[known], task.y[known])
    allowed = task.unseen_classes if setting == "zsl" else np.arange(len(task.semantics))
    assert np.isin(model.transduction_[task.asked], allowed).all()
    distributions = model.label_distributions_
    distributions = distributions.toarray() if hasattr(distributions, "toarray") else np.asarray(distributions)
    assert distributions.shape == (len(task.X), len(task.semantics))
    np.testing.assert_allclose(distributions.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("name", PRESENT)
def test_predict_on_a_pool_row_is_its_transduction(name, setting):
    task = small(setting, seed=1)
    model = answers(name, task)
    pool = task.X[task.asked]
    assert np.array_equal(model.predict(pool), model.transduction_[task.asked])
    scores = model.decision_function(pool)
    assert scores.shape == (len(pool), len(task.semantics))
    assert np.array_equal(model.classes_[scores.argmax(axis=1)], model.transduction_[task.asked])
    np.testing.assert_allclose(model.predict_proba(pool).sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("name", PRESENT)
def test_without_a_pool_fit_learns_and_predict_labels(name):
    task = small(separation=6.0)
    known = ~task.asked
    model = fit(make(name), task.X[known], task.y[known], task.semantics)
    labels = model.predict(task.X[task.asked])
    assert np.isin(labels, task.unseen_classes).all()
    assert np.mean(labels == task.truth[task.asked]) > 0.45  # chance is 1/3


@pytest.mark.parametrize("name", PRESENT)
def test_an_easy_pool_is_labeled_far_above_chance(name):
    task = make_task(n_seen=20, n_unseen=4, n_features=24, n_attributes=10, samples_per_class=15, separation=6.0)
    found = answers(name, task).transduction_[task.asked]
    assert np.mean(found == task.truth[task.asked]) > 0.75  # chance is 1/4


@pytest.mark.parametrize("name", PRESENT)
def test_scaling_descriptions_or_features_changes_no_label(name):
    task = small(separation=5.0)
    plain = answers(name, task).transduction_
    scaled = answers(name, task, X=task.X * 8, A=task.semantics * 128).transduction_
    assert np.mean(plain == scaled) > 0.98


@pytest.mark.parametrize("name", PRESENT)
def test_the_same_seed_gives_the_same_answer_and_leaves_the_input_alone(name):
    task = small("gzsl")
    X, y, A = task.X.copy(), task.y.copy(), task.semantics.copy()
    first = fit(make(name, candidates="all"), X, y, A)
    second = fit(clone(first), X, y, A)
    assert np.array_equal(first.transduction_, second.transduction_)
    assert np.array_equal(X, task.X)
    assert np.array_equal(y, task.y)
    assert np.array_equal(A, task.semantics)


@pytest.mark.parametrize("name", PRESENT)
def test_signed_percent_and_embedding_descriptions_all_work(name):
    task = digits((3, 6, 7))
    chosen = np.r_[np.flatnonzero(~task.asked)[::12], np.flatnonzero(task.asked)[::8]]
    X, y = task.X[chosen], task.y[chosen]
    for A in (100 * task.semantics, task.semantics - 0.5):
        labels = fit(make(name), X, y, A).transduction_
        assert np.isin(labels[y == -1], task.unseen_classes).all()


AWKWARD = {
    "one seen class": {"n_seen": 1, "n_unseen": 2},
    "one unseen class": {"n_seen": 4, "n_unseen": 1},
    "one sample each": {"n_seen": 6, "n_unseen": 3, "samples_per_class": 1},
    "fewer samples than features": {"n_seen": 4, "n_unseen": 2, "samples_per_class": 3, "n_features": 60},
    "one feature": {"n_features": 1},
    "one attribute": {"n_attributes": 1},
}


@pytest.mark.parametrize("case", AWKWARD)
@pytest.mark.parametrize("name", PRESENT)
def test_awkward_shapes_get_an_answer(name, case):
    task = small(**AWKWARD[case])
    model = answers(name, task)
    assert np.isin(model.transduction_[task.asked], task.unseen_classes).all()
    assert np.array_equal(model.predict(task.X[task.asked]), model.transduction_[task.asked])


@pytest.mark.parametrize(
    "name", [name for name in PRESENT if "seen_bias" in inspect.signature(METHODS[name]).parameters]
)
def test_a_large_seen_bias_leaves_only_unseen_answers(name):
    task = small("gzsl")
    model = answers(name, task, seen_bias=1e9)
    assert np.isin(model.transduction_[task.asked], task.unseen_classes).all()
    assert np.isin(answers(name, task, seen_bias=-1e9).transduction_[task.asked], task.seen_classes).all()
