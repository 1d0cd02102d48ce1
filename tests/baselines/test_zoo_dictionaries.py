"""Definition: CDL's descent and its limit, CAPD's two vectors against the full map, MSplit LBI's path and its ends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

from superproto.baselines._shared.losses import with_constant
from superproto.baselines._shared.predicted_prototypes import unit_semantics
from superproto.baselines.capd import direction_bases, nonnegative_weights, other_means
from superproto.baselines.msplit_lbi import bregman_path
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task

RNG = np.random.default_rng(6)
TASK = make_task(n_seen=12, n_unseen=4, n_features=10, n_attributes=6, samples_per_class=8, random_state=4)


@pytest.mark.parametrize("atoms", [0.3, 0.7, 1.0])
def test_cdl_never_raises_its_objective(atoms):
    model = METHODS["cdl"](atoms=atoms, alpha=0.7, beta=2.0, random_state=0)
    model.fit(TASK.X, TASK.y, semantics=TASK.semantics)
    rises = np.diff(model.objective_)
    assert (rises <= 1e-10 * model.objective_[0]).all()
    assert (np.linalg.norm(model.visual_dictionary_, axis=1) <= 1 + 1e-12).all()
    assert (np.linalg.norm(model.semantic_dictionary_, axis=1) <= 1 + 1e-12).all()


def test_cdl_with_an_atom_for_every_class_is_the_prototypes():
    cdl = METHODS["cdl"](atoms=1.0, code_ridge=0.1).fit(TASK.X, TASK.y, semantics=TASK.semantics)
    start = METHODS["prototypes"](ridge=0.1).fit(TASK.X, TASK.y, semantics=TASK.semantics)
    np.testing.assert_allclose(cdl.decision_function(TASK.X), start.decision_function(TASK.X), atol=1e-4)


@pytest.mark.parametrize("space", ["semantic", "aligned"])
def test_cdl_recognizes_in_every_space(space):
    task = make_task(n_seen=20, n_unseen=3, n_features=12, n_attributes=5, samples_per_class=15, separation=6.0)
    model = METHODS["cdl"](space=space, random_state=0).fit(task.X, task.y, semantics=task.semantics)
    assert np.mean(model.transduction_[task.asked] == task.truth[task.asked]) > 0.8


def test_capd_needs_two_vectors_where_the_definition_has_a_matrix():
    X, labels = RNG.normal(size=(30, 3)), np.repeat(np.arange(3), 10)
    A = unit_semantics(RNG.normal(size=(3, 4)))
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


def test_the_combination_of_directions_is_a_nonnegative_ridge():
    A, U = unit_semantics(RNG.normal(size=(8, 5))), unit_semantics(RNG.normal(size=(3, 5)))
    theta = nonnegative_weights(A, U, 0.1)
    slope = theta @ A @ A.T - U @ A.T + 0.1 * theta
    assert (theta >= 0).all()
    assert (slope[theta == 0] >= -1e-10).all()
    np.testing.assert_allclose(slope[theta > 0], 0, atol=1e-10)


def test_the_bregman_path_starts_at_ridge_and_ends_at_least_squares():
    A, M = RNG.normal(size=(6, 8)), RNG.normal(size=(6, 4))
    dense, sparse = bregman_path(A, M, nu=5.0, kappa=10.0, n_steps=0)
    np.testing.assert_allclose(dense, Ridge(alpha=6 / 5, fit_intercept=False).fit(A, M).coef_.T, atol=1e-10)
    assert not sparse.any()
    dense, sparse = bregman_path(A, M, nu=5.0, kappa=10.0, n_steps=20_000)
    np.testing.assert_allclose(A @ dense, M, atol=1e-3)


def test_strong_entries_enter_the_path_first():
    A, M = RNG.normal(size=(30, 8)), np.zeros((30, 2))
    M[:, 0] = 3 * A[:, 1] + 0.05 * A[:, 5]
    _, sparse = bregman_path(A, M, nu=50.0, kappa=10.0, n_steps=30)
    assert np.flatnonzero(np.abs(sparse).sum(axis=1)).tolist() == [1]
    counts = [
        np.count_nonzero(bregman_path(A, M + 0.3 * RNG.normal(size=M.shape), 50.0, 10.0, n)[1]) for n in (5, 5000)
    ]
    assert counts[0] == 0
    assert counts[1] > 1
