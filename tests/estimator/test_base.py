"""SHARE: what the base class asks of a method, and what it sends to workers."""

from __future__ import annotations

import inspect
import pickle
from functools import partial

import numpy as np
import pytest

from superproto import HPL
from superproto.baselines import METHODS
from superproto.baselines.base import Baseline
from superproto.datasets import make_task
from superproto.estimator.base import ZeroShotEstimator, ask_chunk
from superproto.estimator.calibration import label_uncertainty


@pytest.fixture(scope="module")
def task():
    return make_task(n_seen=6, n_unseen=3, n_features=8, n_attributes=6, samples_per_class=12)


def test_a_method_scores_rows_as_given_and_a_baseline_prepared_ones() -> None:
    assert {"fit", "_score_rows", "_pool_answers"} == ZeroShotEstimator.__abstractmethods__
    assert {"_learn", "_score"} == Baseline.__abstractmethods__
    assert not hasattr(HPL, "_score")


@pytest.mark.parametrize("method", ["hpl", "prototypes", "zlap"])
def test_a_question_survives_the_way_to_a_worker(method: str, task) -> None:
    model = METHODS[method]().fit(task.X, task.y, semantics=task.semantics)
    for answer in (type(model)._best, type(model)._score_rows):
        sent = pickle.loads(pickle.dumps(partial(ask_chunk, model=model._portable(), answer=answer)))
        (found,) = sent(task.X)
        assert np.array_equal(found, answer(model, task.X))


def test_no_question_is_a_method_s_name_in_a_string() -> None:
    for function in (ask_chunk, ZeroShotEstimator._ask):
        assert "getattr" not in inspect.getsource(function)


def test_uncertainty_has_the_mean_of_what_probabilities_leave_and_grows_with_that_of_the_class() -> None:
    probability, of_class = np.array([0.6, 0.6, 0.5, 0.7]), np.array([0.0, 0.3, 0.1, 0.2])
    found = label_uncertainty(probability, of_class)
    assert found.mean() == pytest.approx(1 - probability.mean())
    assert found[1] > found[0]
    assert label_uncertainty(probability, np.zeros(4)) == pytest.approx(1 - probability)


def test_uncertainty_is_above_0_where_a_label_was_found() -> None:
    assert (label_uncertainty(np.ones(3), np.zeros(3)) > 0).all()
    assert (label_uncertainty(np.ones(3), np.ones(3)) <= 1).all()
    assert label_uncertainty(np.zeros(0), np.zeros(0)).shape == (0,)
