"""Scores: each against a value computed by hand, and against brute force or scikit-learn where one exists."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, top_k_accuracy_score

from superproto import metrics
from superproto.errors import UserError


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_per_class_accuracy_weighs_classes_equally():
    assert metrics.per_class_accuracy([0, 0, 0, 1], [0, 0, 1, 1]) == pytest.approx((2 / 3 + 1) / 2)


def test_per_class_accuracy_is_over_the_classes_of_the_truth_only():
    # Class 2 is predicted but never true: it must not count as a class with accuracy 0.
    assert metrics.per_class_accuracy([0, 0, 1], [0, 2, 1]) == pytest.approx(0.75)


def test_per_class_accuracy_equals_balanced_accuracy(rng):
    truth = rng.integers(9, size=500)
    answers = np.where(rng.random(500) < 0.6, truth, rng.integers(9, size=500))
    assert metrics.per_class_accuracy(truth, answers) == pytest.approx(balanced_accuracy_score(truth, answers))
    names = np.array([f"class {c}" for c in range(9)])
    assert metrics.per_class_accuracy(names[truth], names[answers]) == metrics.per_class_accuracy(truth, answers)


def test_accuracy_by_class_names_the_classes():
    classes, accuracy = metrics.accuracy_by_class(["b", "a", "b"], ["b", "b", "a"])
    assert classes.tolist() == ["a", "b"]
    assert accuracy.tolist() == [0.0, 0.5]


def test_top_k_by_hand():
    scores = [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.4, 0.35, 0.25]]
    assert metrics.top_k_accuracy([0, 1, 2], scores, 1) == pytest.approx(1 / 3)
    assert metrics.top_k_accuracy([0, 1, 2], scores, 2) == pytest.approx(2 / 3)
    assert metrics.top_k_accuracy([0, 1, 2], scores, 3) == 1
    assert metrics.top_k_accuracy(["x", "y", "z"], scores, 2, classes=["x", "y", "z"]) == pytest.approx(2 / 3)


def test_top_k_equals_scikit_learn_on_each_class(rng):
    truth, scores = np.arange(400) % 8, rng.normal(size=(400, 8))
    for k in (1, 3, 5):
        expected = top_k_accuracy_score(truth, scores, k=k)  # per sample: the same on balanced classes
        assert metrics.top_k_accuracy(truth, scores, k) == pytest.approx(expected)


def test_top_1_with_ties_is_argmax(rng):
    truth, scores = rng.integers(5, size=300), rng.integers(3, size=(300, 5)).astype(float)
    assert metrics.top_k_accuracy(truth, scores, 1) == metrics.per_class_accuracy(truth, scores.argmax(axis=1))


def test_harmonic_mean():
    assert metrics.harmonic_mean(0.471, 0.542) == pytest.approx(0.504, abs=5e-4)  # the paper's CUB row
    assert metrics.harmonic_mean(0, 0) == 0
    assert metrics.harmonic_mean(0, 1) == 0


def test_generalized_scores_by_hand():
    truth, answers = [0, 0, 1, 2, 2, 3], [0, 2, 1, 2, 0, 0]
    scores = metrics.generalized_scores(truth, answers, seen=[0, 1])
    assert scores == (pytest.approx(0.25), pytest.approx(0.75), pytest.approx(0.375))


def test_ausuc_by_hand():
    # Sample 0 (seen) is right until γ = 1, sample 1 (unseen) from γ = 2: the curve (0,1) (0,0) (1,0) has no area.
    assert metrics.ausuc([0, 1], [[2.0, 1.0], [3.0, 1.0]], [0]) == 0
    # The other way round there is a γ at which both are right.
    assert metrics.ausuc([0, 1], [[3.0, 1.0], [2.0, 1.0]], [0]) == 1
    # Both change at the same γ: a diagonal, half the area.
    assert metrics.ausuc([0, 1], [[2.0, 1.0], [2.0, 1.0]], [0]) == 0.5


def _ausuc_by_trying(truth, scores, seen):
    """Every γ between two neighboring differences, with plain predictions."""
    mask = np.isin(np.arange(scores.shape[1]), seen)
    edges = np.unique(scores[:, mask].max(1) - scores[:, ~mask].max(1))
    trials = np.concatenate([[edges[0] - 1], (edges[1:] + edges[:-1]) / 2, [edges[-1] + 1]])
    points = [metrics.generalized_scores(truth, (scores - g * mask).argmax(1), seen)[:2] for g in trials]
    u, s = np.array(points).T
    return np.sum(np.diff(u) * (s[1:] + s[:-1]) / 2), points


def test_ausuc_equals_brute_force(rng):
    for _ in range(20):
        truth = np.concatenate([np.arange(7), rng.integers(7, size=60)])
        scores = rng.normal(size=(67, 7)) + 1.2 * np.eye(7)[truth]
        scores[:, :4] += 1
        seen = np.arange(4)
        area, points = _ausuc_by_trying(truth, scores, seen)
        assert metrics.ausuc(truth, scores, seen) == pytest.approx(area, abs=1e-12)
        assert metrics.ausuc(truth, scores, seen) == metrics.ausuc(truth, scores, np.arange(7) < 4)
        best = max(metrics.harmonic_mean(u, s) for u, s in points)
        bias = metrics.bias_for_harmonic_mean(truth, scores, seen)
        answers = metrics.predict_with_bias(scores, seen, bias)
        assert metrics.generalized_scores(truth, answers, seen).harmonic_mean == pytest.approx(best)


def test_ausuc_takes_minus_infinity_for_no_candidate():
    scores = np.array([[-np.inf, 1.0], [2.0, 1.0], [3.0, -np.inf]])
    assert metrics.ausuc([1, 1, 0], scores, [0]) == 1
    bias = metrics.bias_for_harmonic_mean([1, 1, 0], scores, [0])
    assert metrics.predict_with_bias(scores, [0], bias).tolist() == [1, 1, 0]


def test_confusion_equals_scikit_learn(rng):
    truth, answers = rng.integers(6, size=200), rng.integers(6, size=200)
    classes, table = metrics.confusion(truth, answers)
    assert (table == confusion_matrix(truth, answers)).all()
    order = np.array([3, 1, 0, 5, 4, 2])
    classes, table = metrics.confusion(truth, answers, order)
    assert (classes == order).all()
    assert (table == confusion_matrix(truth, answers, labels=order)).all()


def test_calibration_error_by_hand():
    # Confidence .8 and right, .6 and wrong, in two different bins: (|1 - .8| + |0 - .6|) / 2.
    assert metrics.expected_calibration_error([0, 0], [[0.8, 0.2], [0.4, 0.6]], bins=10) == pytest.approx(0.4)
    # In one bin the two errors cancel in part: |(1 - .8) + (0 - .6)| / 2.
    assert metrics.expected_calibration_error([0, 0], [[0.8, 0.2], [0.4, 0.6]], bins=1) == pytest.approx(0.2)


def test_calibration_error_of_honest_probabilities_is_small(rng):
    probabilities = rng.dirichlet(np.ones(4), size=20000)
    truth = (probabilities.cumsum(1) > rng.random((20000, 1))).argmax(1)
    assert metrics.expected_calibration_error(truth, probabilities) < 0.02


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.per_class_accuracy([0, 1], [0]), "one label for each sample"),
        (lambda: metrics.per_class_accuracy([], []), "nothing to score"),
        (lambda: metrics.per_class_accuracy([0, -1], [0, 1]), r"unknown \(-1\) for 1 samples"),
        (lambda: metrics.per_class_accuracy(["a"], [0]), "both as names, or both as numbers"),
        (lambda: metrics.top_k_accuracy([0], [[1.0, 2.0]], 3), "k=3 must be 1 to 2"),
        (lambda: metrics.top_k_accuracy([2], [[1.0, 2.0]], 1), "columns of scores, 0 to 1"),
        (lambda: metrics.top_k_accuracy([0], [[np.nan, 2.0]], 1), "1 rows with NaN"),
        (
            lambda: metrics.top_k_accuracy(["c"], [[1.0, 2.0]], 1, classes=["a", "b"]),
            "label .*'c'.* is not among the 2",
        ),
        (lambda: metrics.generalized_scores([0, 1], [0, 1], [0, 1]), "no sample of an unseen class"),
        (lambda: metrics.ausuc([0, 1], [[1.0, 2.0], [1.0, 2.0]], [0, 1]), "seen marks 2 of 2"),
        (lambda: metrics.ausuc([0, 1], np.eye(2), [True]), "mask of shape"),
        (lambda: metrics.confusion([0, 7], [0, 0], [0, 1]), "label .*7.* is not among the 2"),
        (lambda: metrics.expected_calibration_error([0], [[3.0, 2.0]]), "Give predict_proba"),
        (lambda: metrics.expected_calibration_error([0], [[1.0, 0.0]], bins=0), "bins=0"),
    ],
)
def test_a_wrong_call_is_told_so(call, message):
    with pytest.raises(UserError, match=message):
        call()
