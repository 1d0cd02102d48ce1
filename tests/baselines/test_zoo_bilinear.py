"""Definition: ESZSL against a Kronecker solve, SAE against a general Sylvester solver, and both against public code."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_sylvester

from superproto.baselines._shared.predicted_prototypes import unit_semantics
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows

TASK = make_task(n_seen=6, n_unseen=3, n_features=7, n_attributes=5, samples_per_class=9, random_state=3)


def parts():
    X = unit_rows(np.asarray(TASK.X, dtype=np.float64))
    known = ~TASK.asked
    A = unit_semantics(TASK.semantics)
    return X, X[known], TASK.y[known], A


def fitted(name, **params):
    model = METHODS[name](candidates="all", **params)
    return model.fit(np.asarray(TASK.X, dtype=np.float64), TASK.y, semantics=TASK.semantics)


def test_eszsl_solves_the_kronecker_system():
    X, X_seen, y, A = parts()
    model = fitted("eszsl", gamma=0.5, lam=2.0)
    A_seen = A[TASK.seen_classes]
    Y = (y[:, None] == TASK.seen_classes).astype(float)
    gram_x, gram_a = X_seen.T @ X_seen, A_seen.T @ A_seen
    gram_x += 0.5 * np.trace(gram_x) / 7 * np.eye(7)
    gram_a += 2.0 * np.trace(gram_a) / 5 * np.eye(5)
    flat = np.linalg.solve(np.kron(gram_x, gram_a), (X_seen.T @ Y @ A_seen).ravel())
    np.testing.assert_allclose(model.decision_function(TASK.X.astype(float)), X @ flat.reshape(7, 5) @ A.T, atol=1e-8)


@pytest.mark.parametrize("direction", ["semantic-to-feature", "feature-to-semantic"])
def test_sae_solves_the_sylvester_equation(direction):
    X, X_seen, y, A = parts()
    model = fitted("sae", lam=0.7, direction=direction)
    S = A[y]
    W = solve_sylvester(S.T @ S, 0.7 * X_seen.T @ X_seen, 1.7 * S.T @ X_seen)
    np.testing.assert_allclose(model.projection_, W, atol=1e-8)
    expected = X @ unit_rows(A @ W).T if direction == "semantic-to-feature" else unit_rows(X @ W.T) @ A.T
    np.testing.assert_allclose(model.decision_function(TASK.X.astype(float)), expected, atol=1e-8)
