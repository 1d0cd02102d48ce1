"""Predicted prototypes: class means of seen classes, and the bias of calibrated stacking."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows


def test_seen_bias_is_subtracted_from_seen_classes_when_both_kinds_compete():
    task = make_task(n_seen=5, n_unseen=3, setting="gzsl", samples_per_class=10)
    plain, biased = (
        METHODS["prototypes"](candidates="all", seen_bias=bias).fit(task.X, task.y, semantics=task.semantics)
        for bias in (0.0, 0.25)
    )
    difference = plain.decision_function(task.X) - biased.decision_function(task.X)
    np.testing.assert_allclose(
        difference, np.where(plain.seen_classes_, 0.25, 0.0) * np.ones((len(task.X), 1)), atol=1e-6
    )
    alone = METHODS["prototypes"](seen_bias=0.25).fit(task.X, task.y, semantics=task.semantics)
    reference = METHODS["prototypes"]().fit(task.X, task.y, semantics=task.semantics)
    assert np.array_equal(alone.decision_function(task.X), reference.decision_function(task.X))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_seen_prototypes_are_the_class_means_at_unit_length(kernel):
    task = make_task(n_seen=5, n_unseen=3, samples_per_class=10)
    model = METHODS["prototypes"](kernel=kernel).fit(task.X, task.y, semantics=task.semantics)
    rows = unit_rows(task.X)
    means = unit_rows(np.stack([rows[task.y == c].mean(axis=0) for c in task.seen_classes]))
    np.testing.assert_allclose(model.classifiers_[task.seen_classes], means, atol=1e-6)
