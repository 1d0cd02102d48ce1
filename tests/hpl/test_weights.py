"""Weights: how strongly descriptions count, by how well they predict seen classes that are left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from superproto.datasets import make_task
from superproto.hpl.constants import Constants

CONSTANTS = Constants()

TASK = make_task(
    n_seen=40, n_unseen=10, n_features=60, n_attributes=20, samples_per_class=60, separation=0.6, attribute_noise=0.3
)


def test_descriptions_pull_by_what_they_are_worth_where_candidates_are_missing(diagnose):
    few = diagnose(TASK.with_pool("few-classes", classes=3, seed=1))
    uneven, e, R = 1 - few.evenness, few.weights.expected, few.seen.compactness
    s = np.median([p @ q for p, q in zip(few.seen.prototypes, few.seen.left_out)])
    assert uneven > 0
    worth = CONSTANTS.uneven_weight * 0.75 * uneven * s / ((1 - s**2) * R)
    assert few.weights.minimum == pytest.approx(CONSTANTS.small_pool_weight / (1 + e) ** (3 - uneven) + worth)


def test_descriptions_pull_as_usual_where_nothing_is_missing_or_they_say_nothing(diagnose):
    few = TASK.with_pool("few-classes", classes=3, seed=1)
    meaningless = replace(few, semantics=np.random.default_rng(7).normal(size=few.semantics.shape))
    mixed = make_task(n_seen=12, n_unseen=4, setting="gzsl", random_state=0)
    known = TASK._select(np.flatnonzero(~TASK.asked))
    for task in (TASK, meaningless, mixed, known):
        found = diagnose(task)
        usual = CONSTANTS.small_pool_weight / (1 + found.weights.expected) ** (2 + found.evenness)
        assert found.weights.minimum - usual < 0.02 * found.weights.expected
    assert diagnose(few, alignment_scale=0.0).weights.minimum < diagnose(few).weights.minimum / 2


def test_worth_is_what_bayes_gives_a_prediction_beside_samples():
    """The mean of n samples and a prediction, weighted as the pull has it, is the best mixture of the two."""
    rng, d, R, s, n = np.random.default_rng(0), 2000, 0.4, 0.5, 6
    unit = lambda v: v / np.linalg.norm(v)  # noqa: E731
    errors = dict.fromkeys((0.2, 0.5, 1.0, 2.0, 5.0), 0.0)
    for _ in range(60):
        told, rest = unit(rng.normal(size=d)), unit(rng.normal(size=d))
        mean = R * unit(s * told + np.sqrt(1 - s**2) * rest)
        total = n * mean + np.sqrt(n / d) * rng.normal(size=d)
        for w in errors:
            errors[w] -= unit(total + w * s / ((1 - s**2) * R) * told) @ unit(mean)
    assert min(errors, key=errors.get) == 1.0


def test_a_left_out_class_is_predicted_without_its_own_samples(read_task):
    found = read_task(TASK)
    A, P = found.seen.descriptions, found.seen.prototypes
    K = A[1:] @ A[1:].T + found.seen.ridge * np.trace(A @ A.T) / len(A) * np.eye(len(A) - 1)
    by_hand = A[0] @ A[1:].T @ np.linalg.solve(K, P[1:])
    np.testing.assert_allclose(found.seen.left_out[0], by_hand / np.linalg.norm(by_hand), atol=1e-10)
