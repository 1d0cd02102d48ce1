"""Bootstrap intervals against brute force and known spreads, and the packed record of correct answers."""

from __future__ import annotations

import numpy as np
import pytest

from superproto import metrics
from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.evaluation import bootstrap
from superproto.evaluation.bootstrap import bootstrap_correctness, bootstrap_scores, difference_of, paired_difference
from superproto.metrics import accuracy_by_class, generalized_scores, harmonic_mean


@pytest.fixture
def rng():
    return np.random.default_rng(7)


TASK = make_task(n_seen=5, n_unseen=3, samples_per_class=7, setting="gzsl")


RNG = np.random.default_rng(0)


ANSWERS = [np.where(RNG.random(len(TASK.expected)) < p, TASK.expected, 0) for p in (0.5, 0.8)]


def test_what_was_packed_comes_back_class_by_class():
    found = bootstrap.unpack_correctness(bootstrap.pack_correctness(TASK, ANSWERS[0]))
    accuracy = [found.right[found.classes == c].mean() for c in np.unique(found.classes)]
    classes, expected = accuracy_by_class(TASK.expected, ANSWERS[0])
    order = np.argsort(np.isin(classes, TASK.seen_classes), kind="stable")
    np.testing.assert_allclose(accuracy, expected[order])
    assert found.seen.sum() == np.isin(TASK.expected, TASK.seen_classes).sum()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "is missing"),
        ({"bits": "AA=="}, "is missing"),
        ({"bits": "AA==", "unseen": [1.5], "seen": []}, "whole numbers above 0"),
        ({"bits": "AA==", "unseen": "12", "seen": []}, "whole numbers above 0"),
        ({"bits": "A?==", "unseen": [3], "seen": []}, "not base64"),
        ({"bits": "AA==", "unseen": [30], "seen": []}, "1 bytes of bits do not fit 30 samples"),
    ],
)
def test_anything_else_is_refused_with_a_reason(content, says):
    with pytest.raises(ValueError, match=says):
        bootstrap.unpack_correctness(content)


@pytest.mark.parametrize("generalized", [False, True])
def test_the_bootstrap_is_the_one_that_redraws_every_class_by_hand(generalized):
    truth, seen = TASK.expected, TASK.seen_classes
    is_seen = np.isin(truth, seen)
    table = np.array([answers == truth for answers in ANSWERS], dtype=float)
    found = bootstrap_correctness(truth, table, is_seen=is_seen if generalized else None, repeats=40, seed=3)
    rng = np.random.default_rng(3)
    kinds = [~is_seen, is_seen] if generalized else [np.ones(len(truth), bool)]
    parts = []
    for kind in kinds:
        scores = np.zeros((2, 40))
        for c in np.unique(truth[kind]):
            rows = np.flatnonzero(truth == c)
            for t, drawn in enumerate(rng.integers(len(rows), size=(40, len(rows)))):
                for m in range(2):
                    scores[m, t] += np.mean([table[m, rows[i]] for i in drawn])
        parts.append(scores / len(np.unique(truth[kind])))
    expected = parts[0] if not generalized else np.vectorize(harmonic_mean)(parts[0], parts[1])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    again = bootstrap_scores(truth, ANSWERS, seen=seen if generalized else None, repeats=40, seed=3)
    np.testing.assert_array_equal(found, again)


def test_packed_answers_give_the_interval_of_the_answers_themselves():
    read = [bootstrap.unpack_correctness(bootstrap.pack_correctness(TASK, answers)) for answers in ANSWERS]
    table = np.array([one.right for one in read], dtype=float)
    draws = bootstrap_correctness(read[0].classes, table, is_seen=read[0].seen, repeats=4000)
    scores = [generalized_scores(TASK.expected, a, TASK.seen_classes).harmonic_mean for a in ANSWERS]
    found = difference_of(scores[1] - scores[0], draws[0], draws[1])
    expected = paired_difference(TASK.expected, *ANSWERS, seen=TASK.seen_classes, repeats=4000)
    assert found.difference == expected.difference
    np.testing.assert_allclose(found[1:3], expected[1:3], atol=0.02)


def test_bootstrap_over_samples_equals_the_binomial_spread(rng):
    truth = np.repeat([0, 1], [50, 200])
    answers = np.where(rng.random(250) < 0.7, truth, 1 - truth)
    draws = bootstrap.bootstrap_scores(truth, [answers], repeats=4000)[0]
    a, b = metrics.accuracy_by_class(truth, answers)[1]
    assert draws.std() == pytest.approx(np.sqrt(a * (1 - a) / 50 + b * (1 - b) / 200) / 2, rel=0.05)
    assert draws.mean() == pytest.approx((a + b) / 2, abs=0.005)


def test_bootstrap_over_classes_has_the_spread_of_the_class_means(rng):
    truth = np.repeat(np.arange(30), 10)
    answers = np.where(rng.random(300) < np.repeat(rng.random(30), 10), truth, -5)
    draws = bootstrap.bootstrap_scores(truth, [answers], over="classes", repeats=4000)[0]
    accuracy = metrics.accuracy_by_class(truth, answers)[1]
    assert draws.std() == pytest.approx(accuracy.std() / np.sqrt(30), rel=0.06)


def test_bootstrap_interval_covers_the_score_and_is_repeatable(rng):
    truth = rng.integers(5, size=300)
    answers = np.where(rng.random(300) < 0.6, truth, (truth + 1) % 5)
    low, high = bootstrap.bootstrap_interval(truth, answers, seed=3)
    assert low < metrics.per_class_accuracy(truth, answers) < high
    assert (low, high) == bootstrap.bootstrap_interval(truth, answers, seed=3)
    h = metrics.generalized_scores(truth, answers, [0, 1]).harmonic_mean
    low, high = bootstrap.bootstrap_interval(truth, answers, seen=[0, 1])
    assert low < h < high


def test_paired_difference_is_tighter_than_two_intervals(rng):
    truth = rng.integers(5, size=600)
    first = np.where(rng.random(600) < 0.6, truth, (truth + 1) % 5)
    second = first.copy()
    mended = np.flatnonzero(first != truth)[:40]
    second[mended] = truth[mended]
    difference, low, high, p_value = bootstrap.paired_difference(truth, first, second)
    assert difference == pytest.approx(
        metrics.per_class_accuracy(truth, second) - metrics.per_class_accuracy(truth, first)
    )
    assert 0 < low < difference < high
    assert p_value == 0
    alone = bootstrap.bootstrap_interval(truth, first)
    assert high - low < alone.high - alone.low
    assert bootstrap.paired_difference(truth, first, first) == (0, 0, 0, 1)


def test_large_classes_are_drawn_in_blocks(rng, monkeypatch):
    truth, answers = np.zeros(40, int), rng.integers(2, size=40)
    whole = bootstrap.bootstrap_scores(truth, [answers], repeats=50)
    monkeypatch.setattr(bootstrap, "_MOST_DRAWN", 100)
    assert bootstrap.bootstrap_scores(truth, [answers], repeats=50) == pytest.approx(whole)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap.bootstrap_interval([0], [0], over="rows"), "over='rows' is not known"),
        (lambda: bootstrap.bootstrap_interval([0], [0], level=95), "level=95"),
        (lambda: bootstrap.bootstrap_interval([0], [0], repeats=0), "repeats=0"),
    ],
)
def test_a_wrong_call_is_told_so(call, message):
    with pytest.raises(UserError, match=message):
        call()
