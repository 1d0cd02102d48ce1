"""Every deep method keeps the promises of the one signature, with few training steps."""

from __future__ import annotations

import functools
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from builders import fit_quietly, small_task
from superproto import UserError, load_model
from superproto.baselines.registry import DEEP, METHODS
from superproto.datasets import make_task

pytestmark = [pytest.mark.extra, pytest.mark.usefixtures("torch")]

FEW: dict[str, Any] = {"max_iter": 30, "n_hidden": 16, "early_stopping": False}
ENOUGH: dict[str, Any] = {"max_iter": 200, "n_hidden": 64, "early_stopping": False}
AWKWARD = {
    "one seen class": {"n_seen": 1, "n_unseen": 2},
    "one unseen class": {"n_seen": 4, "n_unseen": 1},
    "one sample each": {"n_seen": 6, "n_unseen": 3, "samples_per_class": 1},
    "fewer samples than features": {"n_seen": 4, "n_unseen": 2, "samples_per_class": 3, "n_features": 60},
    "one feature": {"n_features": 1},
    "one attribute": {"n_attributes": 1},
}
# -1 asks for a label, so a class cannot be called -1.
MINUS_ONE = {"check_classifiers_classes": "uses -1 as a label, which marks what is to be labeled"}
ANSWER_WITHOUT_TORCH = """
import builtins, sys, numpy as np
plain = builtins.__import__

def guarded(name, *args, **kwargs):
    if name.partition(".")[0] == "torch":
        raise ImportError(name)
    return plain(name, *args, **kwargs)

builtins.__import__ = guarded
from superproto import load_model
print(load_model(sys.argv[1]).predict(np.load(sys.argv[2])).tolist())
"""


def fit(name: str, task: Any, X: Any = None, A: Any = None, **params: Any) -> Any:
    """The method fitted to the task, or to other features or descriptions of it, with few steps."""
    model = METHODS[name](candidates=task.candidates, random_state=0, **{**FEW, **params})
    return fit_quietly(model, task.X if X is None else X, task.y, task.semantics if A is None else A)


@functools.cache
def fitted(name: str, setting: str, whiten: bool = False) -> Any:
    """One fit for all tests that only read it."""
    return fit(name, small_task(setting), whiten=whiten)


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("name", DEEP)
def test_answers_keep_given_labels_and_stay_among_the_candidates(name, setting):
    task = small_task(setting)
    allowed = task.unseen_classes if setting == "zsl" else np.arange(len(task.semantics))
    for whiten in (False, True):
        model = fitted(name, setting, whiten)
        assert np.array_equal(model.transduction_[~task.asked], task.y[~task.asked])
        assert np.isin(model.transduction_[task.asked], allowed).all()
        np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("name", DEEP)
def test_predict_on_a_pool_row_is_its_transduction(name, setting):
    task, model = small_task(setting), fitted(name, setting)
    pool = task.X[task.asked]
    assert np.array_equal(model.predict(pool), model.transduction_[task.asked])
    assert model.decision_function(pool).shape == (len(pool), len(task.semantics))
    np.testing.assert_allclose(model.predict_proba(pool).sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("name", DEEP)
def test_an_easy_pool_is_labeled_far_above_chance_with_unlabeled_rows_and_without(name):
    task = make_task(n_seen=20, n_unseen=4, n_features=24, n_attributes=10, samples_per_class=15, separation=6.0)
    found = fit(name, task, **ENOUGH).transduction_[task.asked]
    assert np.mean(found == task.truth[task.asked]) > 0.75  # chance is 1/4
    later = fit(name, task.inductive(), **ENOUGH).predict(task.X[task.asked])
    assert np.mean(later == task.truth[task.asked]) > 0.75


@pytest.mark.parametrize("name", DEEP)
def test_the_same_seed_gives_the_same_answer_and_another_one_other_scores(name):
    task, first = small_task("gzsl"), fitted(name, "gzsl")
    X, y, A = task.X.copy(), task.y.copy(), task.semantics.copy()
    second = fit_quietly(clone(first), X, y, A)
    assert np.array_equal(first.decision_function(X), second.decision_function(X))
    assert np.array_equal(X, task.X)
    assert np.array_equal(A, task.semantics)
    other = fit_quietly(clone(first).set_params(random_state=1), X, y, A)
    assert not np.array_equal(first.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("name", DEEP)
def test_scaling_descriptions_or_features_changes_no_label(name):
    task = small_task(separation=5.0)
    plain = fit(name, task).transduction_
    assert np.mean(plain == fit(name, task, X=task.X * 8, A=task.semantics * 128).transduction_) > 0.98


@pytest.mark.parametrize("name", DEEP)
def test_awkward_shapes_get_an_answer(name):
    for case, changes in AWKWARD.items():
        task = small_task(**changes)
        model = fit(name, task)
        answers = model.transduction_[task.asked]
        assert np.isin(answers, task.unseen_classes).all(), case
        assert np.array_equal(model.predict(task.X[task.asked]), answers), case


@pytest.mark.parametrize("name", DEEP)
def test_a_large_seen_bias_leaves_only_unseen_answers(name):
    task = small_task("gzsl")
    assert np.isin(fit(name, task, seen_bias=1e9).transduction_[task.asked], task.unseen_classes).all()


@pytest.mark.parametrize("name", DEEP)
def test_early_stopping_asks_held_out_seen_classes(name):
    task = make_task(n_seen=12, n_unseen=2, n_features=10, n_attributes=6, samples_per_class=6)
    model = fit(name, task, early_stopping=True, max_iter=24)
    assert model.validation_scores_.shape == (12, 2)
    assert model.n_iter_ in model.validation_scores_[:, 0]


@pytest.mark.parametrize("name", DEEP)
def test_features_scaled_to_their_range_work_as_components_do(name):
    task = small_task()
    model = fit(name, task, n_components=None)
    assert model.basis_.shape == (12, 12)
    reduced = model._reduce(100 * task.X)
    assert reduced.min() >= 0
    assert reduced.max() <= 1
    assert np.isin(model.transduction_[task.asked], task.unseen_classes).all()


@pytest.mark.parametrize("name", DEEP)
def test_texts_in_the_space_of_the_features_are_descriptions_like_others(name):
    task = small_task(n_attributes=12)
    assert np.isin(fit(name, task).transduction_[task.asked], task.unseen_classes).all()


@pytest.mark.parametrize("name", DEEP)
def test_a_model_file_answers_to_the_bit_without_torch(name, tmp_path: Path):
    task, model = small_task(), fitted(name, "zsl")
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    pool = task.X[task.asked]
    assert np.array_equal(again.decision_function(pool), model.decision_function(pool))
    assert again.get_params() == model.get_params()


def test_another_process_without_torch_opens_a_model_file(tmp_path: Path):
    task, model = small_task(), fitted("dcn", "zsl")
    model.save(tmp_path / "model")
    np.save(tmp_path / "rows.npy", task.X[task.asked])
    call = [sys.executable, "-c", ANSWER_WITHOUT_TORCH, str(tmp_path / "model"), str(tmp_path / "rows.npy")]
    done = subprocess.run(call, check=True, capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == str(model.predict(task.X[task.asked]).tolist())


@pytest.mark.parametrize("name", DEEP)
def test_without_torch_a_fit_says_what_is_missing(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UserError, match=r"pip install 'superproto\[torch\]'"):
        fit(name, small_task())


@pytest.mark.parametrize("name", DEEP)
def test_a_learning_rate_that_is_far_too_large_is_told(name):
    task = small_task()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = METHODS[name](random_state=0, **{**FEW, "max_iter": 100}, learning_rate=1e6)
        model.fit(task.X, task.y, semantics=task.semantics)
    assert np.isin(model.transduction_[task.asked], task.unseen_classes).all()
    bounded = name in ("dcn", "qfsl")  # cosines bound these losses
    assert bounded or any("diverged" in str(one.message) for one in told)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"n_components": 0}, "n_components is 0, but it must be larger than 0, or None"),
        ({"max_seconds": -1.0}, "max_seconds is -1.0"),
        ({"classifier": "svm"}, "classifier is 'svm'. Give one of 'softmax', 'nearest-mean'"),
    ],
)
def test_a_wrong_parameter_is_named(params, says):
    with pytest.raises(UserError, match=says):
        fit("f-clswgan", small_task(), **params)


@pytest.mark.parametrize("name", [name for name in DEEP if hasattr(METHODS[name](), "classifier")])
def test_a_softmax_of_generated_features_is_offered_too(name):
    task = small_task("gzsl")
    model = fit(name, task, classifier="softmax", n_synthetic=20)
    assert np.isfinite(model.decision_function(task.X[task.asked])).all()


@pytest.mark.parametrize("name", DEEP)
def test_scikit_learn_accepts(name):
    model = METHODS[name](random_state=0, **{**FEW, "max_iter": 40, "n_hidden": 32, "learning_rate": 3e-3})
    results = check_estimator(model, expected_failed_checks=MINUS_ONE, on_skip=None, on_fail=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed
    assert sum(result["status"] == "passed" for result in results) > 40
