"""STZSL: its choice of rows, and its classifiers before the first round."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines.registry import METHODS
from superproto.baselines.stzsl import diverse_choice
from superproto.datasets import make_task


def test_without_diversity_the_most_alike_rows_are_chosen():
    rows, likeness = np.eye(5), np.array([0.1, 0.9, 0.5, 0.7, 0.2])
    assert diverse_choice(rows, likeness, 3, diversity=0.0).tolist() == [1, 3, 2]


def test_diversity_passes_over_a_copy():
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert diverse_choice(rows, np.array([0.9, 0.89, 0.5]), 2, diversity=1.0).tolist() == [0, 2]


def test_stzsl_without_rounds_learns_from_transferred_rows_alone():
    task = make_task(n_seen=10, n_unseen=3, separation=6, random_state=0)
    pooled = METHODS["stzsl"](n_rounds=0).fit(task.X, task.y, semantics=task.semantics)
    alone = METHODS["stzsl"](n_rounds=0).fit(task.inductive().X, task.inductive().y, semantics=task.semantics)
    assert pooled.classifiers_ == pytest.approx(alone.classifiers_, abs=1e-6)
    assert np.mean(pooled.transduction_[task.asked] == task.truth[task.asked]) > 0.9
