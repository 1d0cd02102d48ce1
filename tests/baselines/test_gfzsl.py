"""GFZSL and its EM: a twin of a seen class, and the fit without unlabeled samples."""

from __future__ import annotations

import warnings

import numpy as np

from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows

TASK = make_task(n_seen=10, n_unseen=4, n_features=8, n_attributes=6, samples_per_class=20, random_state=2)


def test_gfzsl_without_a_ridge_on_variances_knows_a_twin_of_a_seen_class():
    X = unit_rows(np.asarray(TASK.X, dtype=np.float64))
    A = np.vstack([TASK.semantics, TASK.semantics[:1] * 3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = METHODS["gfzsl"](ridge=1e-9, variance_ridge=1e-9, kernel="rbf").fit(X, TASK.y, semantics=A)
    np.testing.assert_allclose(model.means_[-1], model.means_[0], atol=1e-4)
    np.testing.assert_allclose(model.variances_[-1], model.variances_[0], rtol=1e-3)


def test_without_a_pool_the_mixture_is_its_start():
    known = ~TASK.asked
    model, start = (
        METHODS[name]().fit(TASK.X[known], TASK.y[known], semantics=TASK.semantics) for name in ("gfzsl-em", "gfzsl")
    )
    assert model.n_iter_ == 1
    np.testing.assert_allclose(model.means_, start.means_)
