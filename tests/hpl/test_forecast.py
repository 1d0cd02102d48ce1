"""The forecast: left-out seen classes, labeled as if they were unseen."""

from __future__ import annotations

import numpy as np
import pytest

from superproto import HPL
from superproto.datasets import make_task
from superproto.estimator.validation import check_problem
from superproto.hpl.forecast import LeftOutFits, label_left_out_classes
from superproto.hpl.uncertainty import Trust
from superproto.metrics import per_class_accuracy


def fitted(task, **parameters):
    return HPL(candidates=task.candidates, **parameters).fit(task.X, task.y, semantics=task.semantics)


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
def test_the_forecast_is_near_what_comes_true(setting):
    task = make_task(n_seen=30, n_unseen=10, separation=1.0, attribute_noise=0.3, setting=setting, random_state=0)
    model = fitted(task)
    unseen = task.asked & np.isin(task.truth, task.unseen_classes)
    accuracy = per_class_accuracy(task.truth[unseen], model.transduction_[unseen])
    assert model.forecast_[0] == pytest.approx(accuracy, abs=0.15)
    assert model.forecast_[1] == pytest.approx(1 / (40 if setting == "gzsl" else 10))


@pytest.mark.filterwarnings("ignore")
def test_descriptions_that_say_nothing_are_forecast_to_be_worth_nothing():
    task = make_task(n_seen=30, n_unseen=10, random_state=0)
    shuffled = np.random.default_rng(0).permutation(len(task.semantics))
    good = fitted(task)
    bad = HPL().fit(task.X, task.y, semantics=np.asarray(task.semantics)[shuffled])
    assert good.forecast_[0] > 0.8
    assert bad.forecast_[0] < 0.3
    asked = task.asked
    assert bad.doubt_[asked].mean() > good.doubt_[asked].mean() + 0.3


def test_without_classes_to_leave_out_there_is_none():
    task = make_task(n_seen=3, n_unseen=3, random_state=0)
    assert np.isnan(fitted(task).forecast_).all()
    inductive = make_task(n_seen=12, n_unseen=4, random_state=0).inductive()
    assert np.isnan(fitted(inductive).forecast_).all()


def test_the_truth_of_the_pool_does_not_reach_the_forecast():
    task = make_task(n_seen=12, n_unseen=4, random_state=0)
    found = []

    class Noted(HPL):
        def fit(self, X, y, semantics=None, **others):
            found.append((np.unique(y), len(semantics)))
            return super().fit(X, y, semantics=semantics, **others)

    problem = check_problem(task.y, task.semantics)
    quick = Noted.with_constants(forecast=False)
    fits = label_left_out_classes(task.X, problem, lambda candidates: quick(candidates=candidates), 0)
    assert fits is not None
    for labels, descriptions in found:
        assert descriptions == 12
        assert -1 in labels
        assert len(labels) == 1 + 12 - 4


def test_chance_is_beaten_by_two_standard_errors_or_not_at_all():
    many = np.tile([0.3, 0.5, 0.4, 0.4], 6)
    assert LeftOutFits(many, 10, 10, 1.0, 0.4, 0.5).beats_chance()
    assert not LeftOutFits(many, 2, 2, 1.0, 0.4, 0.5).beats_chance()
    assert LeftOutFits(many[:4], 2, 2, 1.0, 0.4, 0.5).beats_chance()


def test_more_candidates_are_forecast_to_be_harder():
    few = np.full(4, 0.5)
    assert LeftOutFits(few, 3, 3, 1.0, 0.5, 0.5).forecast() == pytest.approx((0.5, 1 / 3))
    assert LeftOutFits(few, 3, 5, 2.0, 0.5, 0.5).forecast() == pytest.approx((0.25, 1 / 5))


def test_trust_is_the_geometric_mean_of_what_is_due_and_what_is_expected():
    assert Trust(0.5).of(0.8) == pytest.approx(0.4)
    assert Trust(0.5, 0.9).of(0.8) == pytest.approx(0.6)
    assert Trust(3.0).of(0.8) == 1
