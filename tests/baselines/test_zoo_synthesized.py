"""Definition: SynC against one-vs-all classifiers, EXEM against scikit-learn's SVR and PCA, losses by differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC, NuSVR

from superproto.baselines._shared.losses import (
    cross_entropy,
    logistic,
    minimize_linear,
    squared_hinge,
    structured_hinge,
)
from superproto.baselines._shared.predicted_prototypes import description_kernel
from superproto.baselines.exem import principal_axes, regress_exemplars
from superproto.baselines.registry import METHODS
from superproto.baselines.sync import similarities
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows

RNG = np.random.default_rng(5)
LABELS = RNG.integers(4, size=20)
LOSSES = {
    "squared hinge": squared_hinge(np.where(LABELS[:, None] == np.arange(4), 1.0, -1.0)),
    "structured": structured_hinge(LABELS, RNG.uniform(0.5, 1.5, size=(4, 4))),
    "cross entropy": cross_entropy(LABELS),
    "logistic": logistic(RNG.normal(size=(20, 2, 2)), RNG.uniform(size=(20, 2))),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_returns_its_own_gradient(name):
    loss = LOSSES[name]
    F = RNG.normal(size=80)
    error = check_grad(lambda f: loss(f.reshape(20, 4))[0], lambda f: loss(f.reshape(20, 4))[1].ravel(), F)
    assert error < 1e-5


def test_cross_entropy_finds_scikit_learns_logistic_regression():
    X = RNG.normal(size=(20, 3))
    found, steps = minimize_linear(X, LOSSES["cross entropy"], 4, 0.1, 500)
    reference = LogisticRegression(C=1 / (20 * 0.1), fit_intercept=False, tol=1e-8, max_iter=1000).fit(X, LABELS)
    np.testing.assert_allclose(found, reference.coef_, atol=1e-3)
    assert 1 < steps < 500


def test_sync_with_identity_similarities_is_its_one_vs_all_classifiers():
    task = make_task(n_seen=5, n_unseen=0, n_features=6, samples_per_class=20, separation=1.5)
    X = task.X.astype(np.float64)
    model = METHODS["sync"](loss="one-vs-all", ridge=1e-2, sharpness=1e9, normalize=False, max_iter=1000)
    model.fit(X, task.truth, semantics=task.semantics)
    rows = unit_rows(X)
    machine = LinearSVC(C=1 / (len(X) * 5 * 1e-2), tol=1e-8, max_iter=100_000, random_state=0)
    reference = machine.fit(rows - rows.mean(axis=0), task.truth)
    np.testing.assert_allclose(model.classifiers_, reference.coef_, atol=1e-3)
    np.testing.assert_allclose(
        model.decision_function(X), reference.decision_function(rows - rows.mean(axis=0)), atol=2e-3
    )


@pytest.mark.parametrize("loss", ["one-vs-all", "struct"])
def test_sync_gives_a_class_next_to_a_seen_one_its_classifier(loss):
    task = make_task(n_seen=6, n_unseen=1, n_features=8, n_attributes=6, samples_per_class=10)
    A = task.semantics.astype(np.float64).copy()
    A[6] = A[2] + 1e-9
    model = METHODS["sync"](loss=loss, sharpness=2.0).fit(task.X, task.y, semantics=A)
    np.testing.assert_allclose(model.classifiers_[6], model.classifiers_[2], atol=1e-4)


def test_similarities_are_a_softmax_of_squared_distances():
    A = RNG.normal(size=(5, 3))
    S = similarities(A, A[:4], 2.0)
    np.testing.assert_allclose(S.sum(axis=1), 1)
    d = ((A[4] - A[:4]) ** 2).sum(axis=1)
    median = np.median([((a - b) ** 2).sum() for i, a in enumerate(A[:4]) for b in A[:i]])
    assert S[4, 0] / S[4, 1] == pytest.approx(np.exp(-2 * (d[0] - d[1]) / median))


def test_exem_regresses_every_coordinate_by_nu_svr():
    A, exemplars = RNG.normal(size=(12, 4)), RNG.normal(size=(9, 3))
    kernel = description_kernel(A, A[:9], "rbf", 3.0)
    found = regress_exemplars(kernel[:9], kernel[9:], exemplars, 5.0, 0.5)
    scale = exemplars.std()
    for column in range(3):
        machine = NuSVR(kernel="rbf", gamma=1 / 3, C=5.0, nu=0.5).fit(A[:9], exemplars[:, column] / scale)
        np.testing.assert_allclose(found[:, column], scale * machine.predict(A[9:]), atol=1e-3)


@pytest.mark.parametrize("shape", [(30, 6), (5, 9)])
def test_principal_axes_span_scikit_learns_components(shape):
    X = RNG.normal(size=shape)
    axes = principal_axes(X - X.mean(axis=0), 3)
    reference = PCA(3).fit(X).components_
    np.testing.assert_allclose(axes @ axes.T, reference.T @ reference, atol=1e-8)


def test_exem_standardized_divides_by_the_spread_within_classes():
    task = make_task(n_seen=8, n_unseen=3, n_features=6, samples_per_class=20)
    X = task.X.astype(np.float64)
    model = METHODS["exem"](distance="standardized").fit(X, task.y, semantics=task.semantics)
    known = ~task.asked
    reduced = (unit_rows(X[known]) - model.center_) @ model.axes_
    spreads = [reduced[task.y[known] == c].std(axis=0) for c in task.seen_classes]
    np.testing.assert_allclose(np.mean(spreads, axis=0), 1, rtol=1e-6)
