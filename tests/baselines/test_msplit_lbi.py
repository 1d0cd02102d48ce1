"""MSplit LBI: the start, the order and the end of its path."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import Ridge

from superproto.baselines.msplit_lbi import bregman_path


def test_the_bregman_path_starts_at_ridge_and_ends_at_least_squares(rng):
    A, M = rng.normal(size=(6, 8)), rng.normal(size=(6, 4))
    dense, sparse = bregman_path(A, M, nu=5.0, kappa=10.0, n_steps=0)
    np.testing.assert_allclose(dense, Ridge(alpha=6 / 5, fit_intercept=False).fit(A, M).coef_.T, atol=1e-10)
    assert not sparse.any()
    dense, sparse = bregman_path(A, M, nu=5.0, kappa=10.0, n_steps=20_000)
    np.testing.assert_allclose(A @ dense, M, atol=1e-3)


def test_strong_entries_enter_the_path_first(rng):
    A, M = rng.normal(size=(30, 8)), np.zeros((30, 2))
    M[:, 0] = 3 * A[:, 1] + 0.05 * A[:, 5]
    _, sparse = bregman_path(A, M, nu=50.0, kappa=10.0, n_steps=30)
    assert np.flatnonzero(np.abs(sparse).sum(axis=1)).tolist() == [1]
    counts = [
        np.count_nonzero(bregman_path(A, M + 0.3 * rng.normal(size=M.shape), 50.0, 10.0, n)[1]) for n in (5, 5000)
    ]
    assert counts[0] == 0
    assert counts[1] > 1
