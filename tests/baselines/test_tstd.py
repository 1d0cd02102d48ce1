"""TSTD: its confident means, and its dictionary without unlabeled samples."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines.registry import METHODS
from superproto.baselines.tstd import confident_means
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows


def test_confident_means_take_the_part_with_the_largest_lead():
    rows = np.arange(8.0).reshape(4, 2)
    scores = np.array([[0.9, 0.0, 0.0], [0.5, 0.4, 0.0], [0.0, 0.6, 0.1], [0.7, 0.0, 0.0]])
    means, found = confident_means(rows, scores, 0.5)
    assert means[0] == pytest.approx((rows[0] + rows[3]) / 2)
    assert means[1] == pytest.approx(rows[2])
    assert found.tolist() == [True, True, False]


def test_tstd_in_the_inductive_setting_is_the_dictionary_of_the_seen_classes():
    task = make_task(n_seen=8, n_unseen=3, n_features=6, n_attributes=4, random_state=0).inductive()
    model = METHODS["tstd"](reverse_weight=0).fit(task.X.astype(np.float64), task.y, semantics=task.semantics)
    A, seen = unit_rows(np.asarray(task.semantics, dtype=np.float64)), model.seen_classes_
    expected = np.linalg.pinv(A[seen]) @ model.classifiers_[seen]
    assert model.dictionary_ == pytest.approx(expected, abs=1e-6)
