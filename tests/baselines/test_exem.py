"""EXEM against scikit-learn's support vector regression and principal components."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.svm import NuSVR

from superproto.baselines._shared.predicted_prototypes import description_kernel
from superproto.baselines.exem import principal_axes, regress_exemplars
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows


def test_exem_regresses_every_coordinate_by_nu_svr(rng):
    A, exemplars = rng.normal(size=(12, 4)), rng.normal(size=(9, 3))
    kernel = description_kernel(A, A[:9], "rbf", 3.0)
    found = regress_exemplars(kernel[:9], kernel[9:], exemplars, 5.0, 0.5)
    scale = exemplars.std()
    for column in range(3):
        machine = NuSVR(kernel="rbf", gamma=1 / 3, C=5.0, nu=0.5).fit(A[:9], exemplars[:, column] / scale)
        np.testing.assert_allclose(found[:, column], scale * machine.predict(A[9:]), atol=1e-3)


@pytest.mark.parametrize("shape", [(30, 6), (5, 9)])
def test_principal_axes_span_scikit_learns_components(shape, rng):
    X = rng.normal(size=shape)
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
