"""SCORE: the area under the ROC curve, column by column."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from superproto.metrics import area_under_curve


def test_each_column_is_scikit_learn_s_area_with_ties() -> None:
    rng = np.random.default_rng(0)
    scores, positive = rng.integers(0, 6, size=(40, 5)).astype(float), rng.random((40, 5)) < 0.4
    expected = [roc_auc_score(positive[:, j], scores[:, j]) for j in range(5)]
    assert area_under_curve(scores, positive) == pytest.approx(expected)
    assert area_under_curve(scores[:, 0], positive[:, 0]) == pytest.approx(expected[0])


def test_one_kind_alone_has_no_area() -> None:
    assert np.isnan(area_under_curve([0.1, 0.2], [True, True]))
    assert np.isnan(area_under_curve([0.1, 0.2], [False, False]))
