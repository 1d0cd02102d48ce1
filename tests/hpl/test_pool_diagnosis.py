"""Pool diagnosis: few and uneven classes are recognized by simulated pools of seen classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from superproto import HPL
from superproto.datasets import make_task
from superproto.hpl.objective.assignment import evenness
from superproto.hpl.pool_diagnosis import measure_evenness, probability_of_even_sizes

TASK = make_task(
    n_seen=40, n_unseen=10, n_features=60, n_attributes=20, samples_per_class=60, separation=0.6, attribute_noise=0.3
)


@pytest.fixture(scope="module")
def evenness_of(diagnose):
    """The evenness of a task's pool."""
    return lambda task, **parameters: diagnose(task, **parameters).evenness


def test_evenness_by_hand():
    assert evenness(np.full(5, 0.2)) == pytest.approx(1)
    assert evenness(np.array([1.0, 0, 0, 0])) == pytest.approx(1 / 4)
    assert evenness(np.array([0.5, 0.5, 0, 0])) == pytest.approx(1 / 2)


def test_perfect_predictions_tell_even_sizes_from_others():
    """With confusions of 0 the shares are the class sizes."""
    perfect = [np.eye(10)] * 5
    assert probability_of_even_sizes(0.99, perfect, 1000, 1.0, 0) > 0.95
    assert probability_of_even_sizes(0.6, perfect, 1000, 1.0, 0) < 0.01


def test_shares_that_poor_predictions_make_uneven_are_no_evidence():
    """Where predictions put most samples into half of the classes, uneven shares are usual."""
    half = np.repeat([1.0, 0.05], 5)
    poor = [0.2 * np.eye(10) + 0.8 * half / half.sum()] * 5
    shares = np.full(10, 0.1) @ poor[0]
    assert probability_of_even_sizes(evenness(shares), poor, 1000, 1.0, 0) > 0.9
    assert probability_of_even_sizes(evenness(shares), [np.eye(10)] * 5, 1000, 1.0, 0) < 0.5


def test_a_small_sample_cannot_be_even():
    perfect = [np.eye(10)] * 5
    found = evenness(np.array([3, 2, 1, 1, 1, 1, 1, 0, 0, 0]) / 10)
    assert (
        probability_of_even_sizes(found, perfect, 10, 1.0, 0)
        > 0.5
        > probability_of_even_sizes(found, perfect, 1000, 1.0, 0)
    )


def test_all_classes_are_even_and_a_part_of_them_is_not(evenness_of):
    assert evenness_of(TASK) > 0.9
    for classes in (1, 3, 5):
        assert evenness_of(TASK.with_pool("few-classes", classes=classes, seed=1)) < 0.1
    assert evenness_of(TASK.with_pool("shifted-prior", imbalance=20, seed=1)) < evenness_of(TASK)


@pytest.mark.filterwarnings("ignore:.*classes:UserWarning", "ignore:.*seem to be missing")
def test_a_pool_of_one_class_is_not_torn_apart(monkeypatch):
    few = TASK.with_pool("few-classes", classes=1, seed=1)
    model = HPL().fit(few.X, few.y, semantics=few.semantics)
    assert model.evenness_ < 0.1
    monkeypatch.setattr("superproto.hpl.estimator.measure_evenness", lambda *_: 1.0)
    even = HPL().fit(few.X, few.y, semantics=few.semantics)
    right = [(found.transduction_ == few.truth)[few.asked].mean() for found in (model, even)]
    assert right[0] > right[1] + 0.05
    assert (np.diff(model.objective_) <= 1e-9).all()
    np.testing.assert_array_equal(model.predict(few.X[few.asked]), model.transduction_[few.asked])


@pytest.mark.filterwarnings("ignore:.*")
def test_random_state_reaches_the_diagnosis(monkeypatch):
    seeds = []

    def noted(*inputs):
        seeds.append(inputs[-1].seed or 0)
        return measure_evenness(*inputs)

    monkeypatch.setattr("superproto.hpl.estimator.measure_evenness", noted)
    for random_state in (None, 0, 7):
        model = HPL.with_constants(forecast=False)(random_state=random_state, max_iter=1)
        model.fit(TASK.X, TASK.y, semantics=TASK.semantics)
    assert seeds == [0, 0, 7]


def test_the_order_of_rows_says_nothing_of_the_sizes(evenness_of):
    few = TASK.with_pool("few-classes", classes=6, seed=1)
    order = np.random.default_rng(0).permutation(len(few.y))
    shuffled = replace(few, X=few.X[order], y=few.y[order], truth=few.truth[order])
    assert evenness_of(few) == pytest.approx(evenness_of(shuffled), abs=1e-6)


def test_the_evenness_is_that_of_the_descriptions_whatever_the_start(evenness_of):
    few = TASK.with_pool("few-classes", classes=5, seed=1)
    first, second = (evenness_of(few, init=init, random_state=0) for init in ("means", "kmeans"))
    assert first == second


def test_nothing_is_said_where_nothing_can_be_known(evenness_of):
    assert evenness_of(TASK, temperature=0.0) == 1
    assert evenness_of(make_task(n_seen=12, n_unseen=4, setting="gzsl", random_state=0)) == 1
    assert evenness_of(make_task(n_seen=3, n_unseen=4, random_state=0)) == 1


@pytest.mark.parametrize("prior", ["estimated", None])
@pytest.mark.filterwarnings("ignore:.*received no sample", "ignore:.*sample.*", "error:Mean of empty slice")
def test_seen_classes_of_one_row_beside_a_large_one(prior):
    """The rows that are looked at may hold none of the seen classes that are drawn."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(63, 8))
    y = np.concatenate([np.zeros(9000, dtype=int), np.arange(1, 61), np.full(40, -1)])
    shown = np.concatenate([y[:-40], rng.integers(61, 63, size=40)])
    X = A[shown] + rng.normal(size=(len(y), 8))
    model = HPL(prior=prior).fit(X, y, semantics=A)
    assert np.isfinite(model.objective_).all()
