"""CAPD: two vectors a class against the full map, and nonnegative weights against their optimality conditions."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from superproto.baselines._shared.losses import with_constant
from superproto.baselines._shared.predicted_prototypes import unit_semantics
from superproto.baselines.capd import direction_bases, nonnegative_weights, other_means
from superproto.baselines.registry import METHODS


def test_capd_needs_two_vectors_where_the_definition_has_a_matrix(rng):
    X, labels = rng.normal(size=(30, 3)), np.repeat(np.arange(3), 10)
    A = unit_semantics(rng.normal(size=(3, 4)))
    rows = with_constant(X, np.zeros(3))
    model = METHODS["capd"](ridge=0.05, max_iter=2000)
    bases = direction_bases(A)
    maps = model._fit_maps(rows, labels, A, bases)
    others = other_means(A)

    def full(flat, s):
        P = rows @ flat.reshape(4, 4)
        own = labels == s
        L = np.where(own, P @ (others[s] - A[s]), P @ A[s])
        weights = np.where(own, 0.5 / own.sum(), 0.5 / (~own).sum())
        return (weights * np.logaddexp(0, L)).sum() + 0.025 * flat @ flat

    for s in range(3):
        W = minimize(full, np.zeros(16), args=(s,), options={"gtol": 1e-9}).x.reshape(4, 4)
        np.testing.assert_allclose(maps[s].T @ bases[s], W, atol=2e-3)


def test_the_combination_of_directions_is_a_nonnegative_ridge(rng):
    A, U = unit_semantics(rng.normal(size=(8, 5))), unit_semantics(rng.normal(size=(3, 5)))
    theta = nonnegative_weights(A, U, 0.1)
    slope = theta @ A @ A.T - U @ A.T + 0.1 * theta
    assert (theta >= 0).all()
    assert (slope[theta == 0] >= -1e-10).all()
    np.testing.assert_allclose(slope[theta > 0], 0, atol=1e-10)
