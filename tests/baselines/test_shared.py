"""Definition: the start that the zoo shares, its parameter checks and calibrated stacking."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso

from superproto.baselines._shared.predicted_prototypes import (
    class_means,
    class_variances,
    median_squared_distance,
    predict_unseen_prototypes,
    sparse_weights,
    unit_semantics,
)
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.errors import UserError

RNG = np.random.default_rng(0)
A_SEEN, A_UNSEEN, MEANS = (unit_semantics(RNG.normal(size=s)) for s in ((9, 6), (4, 6), (9, 11)))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_predicted_prototypes_are_scikit_learns_kernel_ridge(kernel):
    width = median_squared_distance(A_SEEN)
    alpha = 0.1 * (1.0 if kernel == "rbf" else (A_SEEN**2).sum() / len(A_SEEN))
    reference = KernelRidge(alpha=alpha, kernel=kernel, gamma=1 / width).fit(A_SEEN, MEANS).predict(A_UNSEEN)
    np.testing.assert_allclose(predict_unseen_prototypes(MEANS, A_SEEN, A_UNSEEN, 0.1, kernel), reference, atol=1e-8)


def test_without_ridge_a_seen_description_gets_its_own_mean():
    found = predict_unseen_prototypes(MEANS, A_SEEN, A_SEEN[2:4], 1e-9, "rbf")
    np.testing.assert_allclose(found, MEANS[2:4], atol=1e-6)


def test_class_moments_leave_unlabeled_rows_out():
    X, labels = RNG.normal(size=(30, 3)), RNG.integers(-1, 4, size=30)
    means = class_means(X, labels, 5)
    variances = class_variances(X, labels, means)
    for c in range(4):
        np.testing.assert_allclose(means[c], X[labels == c].mean(axis=0))
        np.testing.assert_allclose(variances[c], X[labels == c].var(axis=0))
    assert not means[4].any()


def test_sparse_weights_are_the_lasso_and_vanish_at_one():
    found = sparse_weights(A_SEEN, A_UNSEEN, 0.2)
    penalty = 0.2 * np.abs(A_SEEN @ A_UNSEEN[1]).max() / A_SEEN.shape[1]
    reference = Lasso(alpha=penalty, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(A_SEEN.T, A_UNSEEN[1]).coef_
    np.testing.assert_allclose(found[1], reference, atol=1e-4)
    assert not sparse_weights(A_SEEN, A_UNSEEN, 1.0).any()
    assert not sparse_weights(A_SEEN, np.zeros((1, 6)), 0.1).any()


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


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("prototypes", {"ridge": -1}, "ridge is -1, but it must be at least 0"),
        ("sae", {"lam": 0}, "lam is 0, but it must be larger than 0"),
        ("prototypes", {"kernel": "poly"}, "kernel is 'poly'. Give one of 'linear', 'rbf'"),
        ("sync", {"loss": "ovo"}, "loss is 'ovo'. Give one of 'one-vs-all', 'struct'"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_value(name, params, words):
    task = make_task(n_seen=4, n_unseen=2, samples_per_class=4)
    with pytest.raises(UserError, match=words):
        METHODS[name](**params).fit(task.X, task.y, semantics=task.semantics)
