"""Pool diagnosis: few and uneven classes are recognized, and a pool of all classes is not thought to hold few."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from superproto import HPL
from superproto.datasets import make_task
from superproto.hpl.objective.assignment import evenness
from superproto.hpl.pool_diagnosis import (
    PSEUDO_COUNT,
    REMOTE,
    PoolDiagnosis,
    _remoteness_of_pool,
    diagnose_pool,
    mixture_shares,
    remoteness,
    usual_distances,
)

TASK = make_task(
    n_seen=40, n_unseen=10, n_features=60, n_attributes=20, samples_per_class=60, separation=0.6, attribute_noise=0.3
)


@pytest.fixture(scope="module")
def pool_of(diagnose):
    """The diagnosis of a task's pool."""
    return lambda task, **parameters: diagnose(task, **parameters).pool


def accuracy(task, labels) -> float:
    return float((labels == task.truth)[task.asked].mean())


def test_shares_are_a_fixed_point_of_em():
    logits = np.random.default_rng(0).normal(size=(300, 4)) * 2 + [1.0, 0.0, 0.0, -1.0]
    found = mixture_shares(logits)
    Q = found * np.exp(logits)
    Q /= Q.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, (Q.sum(axis=0) + PSEUDO_COUNT / 4) / (300 + PSEUDO_COUNT), atol=1e-4)
    assert found.sum() == pytest.approx(1)


def test_shares_of_a_sharp_pool_are_its_class_sizes():
    labels = np.repeat([0, 1], [900, 100])
    found = mixture_shares(50.0 * np.eye(3)[labels])
    np.testing.assert_allclose(found * (1000 + PSEUDO_COUNT) - PSEUDO_COUNT / 3, [900, 100, 0], atol=1e-3)


def test_evenness_by_hand():
    assert evenness(np.full(5, 0.2)) == pytest.approx(1)
    assert evenness(np.array([1.0, 0, 0, 0])) == pytest.approx(1 / 4)
    assert evenness(np.array([0.5, 0.5, 0, 0])) == pytest.approx(1 / 2)


def test_a_pool_of_all_classes_changes_nothing(pool_of):
    found = pool_of(TASK)
    assert found.certainty == 0
    assert not found.advantage.any()


@pytest.mark.filterwarnings("ignore:.*classes:UserWarning")
def test_a_pool_of_one_class_is_recognized_and_not_torn_apart(pool_of, monkeypatch):
    few = TASK.with_pool("few-classes", classes=1, seed=1)
    found = pool_of(few)
    assert found.certainty > 0
    assert found.advantage.argmax() == np.flatnonzero(TASK.unseen_classes == few.truth[few.asked][0])[0]
    with_presence = HPL().fit(few.X, few.y, semantics=few.semantics)
    assert with_presence.evenness_ == found.evenness < 0.5
    monkeypatch.setattr("superproto.hpl.estimator.diagnose_pool", lambda *_: PoolDiagnosis(0.0, np.zeros(10), 1.0))
    without = HPL().fit(few.X, few.y, semantics=few.semantics)
    assert accuracy(few, with_presence.transduction_) > accuracy(few, without.transduction_) + 0.05
    assert (np.diff(with_presence.objective_) <= 1e-9).all()
    np.testing.assert_array_equal(with_presence.predict(few.X[few.asked]), with_presence.transduction_[few.asked])


@pytest.mark.parametrize("prior", ["uniform", None])
def test_a_prior_that_is_given_is_kept(pool_of, prior):
    few = TASK.with_pool("few-classes", classes=1, seed=1)
    assert pool_of(few, prior=prior).certainty == 0


@pytest.mark.filterwarnings("ignore:.*")
def test_random_state_reaches_the_diagnosis(monkeypatch):
    seeds = []

    def noted(*inputs):
        seeds.append(inputs[-1])
        return diagnose_pool(*inputs)

    monkeypatch.setattr("superproto.hpl.estimator.diagnose_pool", noted)
    for random_state in (None, 0, 7):
        HPL(random_state=random_state, max_iter=1).fit(TASK.X, TASK.y, semantics=TASK.semantics)
    assert seeds == [0, 0, 7]


def test_ten_samples_are_too_few_to_say_that_classes_are_missing(pool_of):
    rng = np.random.default_rng(0)
    asked = rng.choice(np.flatnonzero(TASK.asked), 10, replace=False)
    kept = np.union1d(np.flatnonzero(~TASK.asked), asked)
    assert pool_of(TASK._select(kept)).certainty == 0


def test_evenness_is_that_of_seen_classes(pool_of):
    """All classes are even; half of them are not, and five samples of all cannot be."""
    assert pool_of(TASK).evenness == 1
    assert pool_of(TASK.with_pool("few-classes", classes=5, seed=1)).evenness < 0.5
    rng = np.random.default_rng(0)
    asked = rng.choice(np.flatnonzero(TASK.asked), 30, replace=False)
    assert pool_of(TASK._select(np.union1d(np.flatnonzero(~TASK.asked), asked))).evenness > 0.5


def test_the_order_of_rows_says_nothing_of_presence(pool_of):
    few = TASK.with_pool("few-classes", classes=6, seed=1)
    order = np.random.default_rng(0).permutation(len(few.y))
    shuffled = replace(few, X=few.X[order], y=few.y[order], truth=few.truth[order])
    first, second = pool_of(few), pool_of(shuffled)
    assert first.evenness == pytest.approx(second.evenness, abs=1e-6)
    np.testing.assert_allclose(first.advantage, second.advantage, atol=1e-4)


def test_presence_is_that_of_the_descriptions_whatever_the_start(pool_of):
    few = TASK.with_pool("few-classes", classes=5, seed=1)
    first, second = (pool_of(few, init=init, random_state=0) for init in ("means", "kmeans"))
    assert first.evenness == second.evenness


def pooled(rng, means, rows_of_class):
    """The sum of unit rows about class means, so many of each, and their number."""
    rows = np.concatenate([mean + rng.normal(size=(n, means.shape[1])) for mean, n in zip(means, rows_of_class)])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).sum(axis=0), len(rows)


@pytest.mark.parametrize(("rows", "is_remote"), [([40] * 10, False), ([100] * 4, True), ([210] + [20] * 9, True)])
def test_few_and_large_classes_drag_a_pool_from_the_center(rows, is_remote):
    """Also where nothing is known of the classes but that they are like the seen ones."""
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        means = 6 * rng.normal(size=(50, 100)) / 10
        seen = [pooled(rng, means[j : j + 1], [30]) for j in range(40)]
        total, N = pooled(rng, means[40:], rows)
        found.append(remoteness(total, N, 0.0, np.array([s for s, _ in seen]), np.array([n for _, n in seen]), 10, 0))
    assert (np.median(found) > REMOTE[1]) == is_remote
    assert is_remote or np.mean(np.array(found) > REMOTE[0]) <= 0.1


def test_remoteness_does_not_see_rotations_nor_numbers_of_classes():
    rng = np.random.default_rng(0)
    sums, counts = rng.normal(size=(20, 8)) * 3, np.full(20, 30.0)
    total, turn = rng.normal(size=8) * 9, np.linalg.qr(rng.normal(size=(8, 8)))[0]
    found, shuffled = remoteness(total, 100, 0.1, sums, counts, 5, 0), rng.permutation(20)
    assert remoteness(total @ turn, 100, 0.1, sums @ turn, counts, 5, 0) == pytest.approx(found)
    assert remoteness(total, 100, 0.1, sums[shuffled], counts, 5, 0) == pytest.approx(found)


def test_usual_distances_by_hand():
    """Class means at right angles: the mean of four unseen ones is 1 / 4 + 1 / 8 from that of eight seen ones."""
    np.testing.assert_allclose(usual_distances(np.eye(8), 10**9, 0.0, 4, 0), 1 / 4 + 1 / 8, rtol=1e-3)
    assert usual_distances(np.eye(8), 4, 0.0, 4, 0).std() > 0.01
    assert usual_distances(np.zeros((8, 8)), 100, 0.5, 4, 0).std() == pytest.approx(0.01, rel=0.2)


@pytest.mark.parametrize("number", [4, 30])
def test_a_few_samples_of_all_classes_are_seldom_remote(read_task, number):
    """Their mean is long by chance: as long as that of as many rows of seen classes."""
    rng, found = np.random.default_rng(0), []
    for _ in range(20):
        asked = rng.choice(np.flatnonzero(TASK.asked), number, replace=False)
        task = TASK._select(np.union1d(np.flatnonzero(~TASK.asked), asked))
        data = read_task(task).data
        found.append(_remoteness_of_pool(data, data.pool, 0) > REMOTE[0])
    assert np.mean(found) <= 0.15


@pytest.mark.filterwarnings("ignore:.*classes:UserWarning")
def test_unevenness_is_found_where_descriptions_hardly_predict(pool_of):
    poor = replace(TASK, semantics=TASK.semantics + 2 * np.random.default_rng(0).normal(size=TASK.semantics.shape))
    assert pool_of(poor).evenness == 1
    assert pool_of(poor.with_pool("shifted-prior", imbalance=50, seed=0)).evenness < 0.5


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
