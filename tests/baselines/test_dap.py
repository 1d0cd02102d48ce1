"""DAP against Bayes' rule attribute by attribute, and Platt's sigmoid against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from superproto.baselines._shared.losses import with_constant
from superproto.baselines.dap import attribute_ridge, platt
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows

TASK = make_task(n_seen=12, n_unseen=4, n_features=10, n_attributes=6, samples_per_class=10, random_state=5)


def test_platts_sigmoid_is_a_logistic_regression_of_one_output(rng):
    outputs = rng.normal(size=(60, 3))
    targets = expit(2 * outputs - 0.5 + rng.normal(size=outputs.shape)) > 0.5
    usable = np.ones(outputs.shape, dtype=bool)
    slopes, offsets = platt(outputs, targets, usable)
    for column in range(3):
        reference = LogisticRegression(C=1.0, tol=1e-10).fit(outputs[:, [column]], targets[:, column])
        assert slopes[column] == pytest.approx(reference.coef_[0, 0], abs=1e-3)
        assert offsets[column] == pytest.approx(reference.intercept_[0], abs=1e-3)


def test_an_attribute_without_both_kinds_keeps_a_plain_sigmoid(rng):
    usable = np.ones((10, 1), dtype=bool)
    slopes, offsets = platt(rng.normal(size=(10, 1)), np.ones((10, 1), dtype=bool), usable)
    assert (slopes[0], offsets[0]) == (2.0, 0.0)


def test_dap_is_bayes_rule_over_independent_attributes():
    X = TASK.X.astype(np.float64)
    model = METHODS["dap"](random_state=0, candidates="all").fit(X, TASK.y, semantics=TASK.semantics)
    known, A = ~TASK.asked, TASK.semantics.astype(np.float64)
    seen = np.isin(np.arange(len(A)), TASK.seen_classes)
    has = A[seen].mean(axis=0) < A
    rows = with_constant(unit_rows(X), unit_rows(X)[known].mean(axis=0))
    signs = np.where(has, 1.0, -1.0)
    slopes, offsets = model._calibrate(rows[known], TASK.y[known], signs, seen)
    p = expit(rows @ attribute_ridge(rows[known], TASK.y[known], signs, model.ridge).T * slopes + offsets)
    share = has[seen].mean(axis=0)
    scores = np.array(
        [(np.log(np.where(a, p, 1 - p)) - np.log(np.where(a, share, 1 - share))).sum(axis=1) for a in has]
    ).T
    found = model.decision_function(X)
    # What all classes share cancels.
    np.testing.assert_allclose(found - found[:, :1], scores - scores[:, :1], atol=1e-8)
