"""SAE against a general solver of Sylvester equations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_sylvester

from superproto.baselines._shared.predicted_prototypes import unit_semantics
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows

TASK = make_task(n_seen=6, n_unseen=3, n_features=7, n_attributes=5, samples_per_class=9, random_state=3)


@pytest.mark.parametrize("direction", ["semantic-to-feature", "feature-to-semantic"])
def test_sae_solves_the_sylvester_equation(direction):
    features = np.asarray(TASK.X, dtype=np.float64)
    model = METHODS["sae"](candidates="all", lam=0.7, direction=direction)
    model.fit(features, TASK.y, semantics=TASK.semantics)
    X, A = unit_rows(features), unit_semantics(TASK.semantics)
    X_seen, S = X[~TASK.asked], A[TASK.y[~TASK.asked]]
    W = solve_sylvester(S.T @ S, 0.7 * X_seen.T @ X_seen, 1.7 * S.T @ X_seen)
    np.testing.assert_allclose(model.projection_, W, atol=1e-8)
    expected = X @ unit_rows(A @ W).T if direction == "semantic-to-feature" else unit_rows(X @ W.T) @ A.T
    np.testing.assert_allclose(model.decision_function(features), expected, atol=1e-8)
