"""Right answers in a line of text, and the bootstrap that reads them, against a brute-force one."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.datasets import make_task
from superproto.evaluation import bootstrap
from superproto.evaluation.bootstrap import bootstrap_correctness, bootstrap_scores, difference_of, paired_difference
from superproto.metrics import accuracy_by_class, generalized_scores, harmonic_mean

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
        (None, "not there"),
        ({"bits": "AA=="}, "not there"),
        ({"bits": "AA==", "unseen": [1.5], "seen": []}, "whole numbers above 0"),
        ({"bits": "AA==", "unseen": "12", "seen": []}, "whole numbers above 0"),
        ({"bits": "A?==", "unseen": [3], "seen": []}, "not base64"),
        ({"bits": "AA==", "unseen": [30], "seen": []}, "1 bytes of bits do not fit 30 questions"),
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
