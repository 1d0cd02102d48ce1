"""ESZSL against a Kronecker solve."""

from __future__ import annotations

import numpy as np

from superproto.baselines._shared.predicted_prototypes import unit_semantics
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows

TASK = make_task(n_seen=6, n_unseen=3, n_features=7, n_attributes=5, samples_per_class=9, random_state=3)


def test_eszsl_solves_the_kronecker_system():
    features = np.asarray(TASK.X, dtype=np.float64)
    model = METHODS["eszsl"](candidates="all", gamma=0.5, lam=2.0).fit(features, TASK.y, semantics=TASK.semantics)
    X, A = unit_rows(features), unit_semantics(TASK.semantics)
    X_seen, A_seen = X[~TASK.asked], A[TASK.seen_classes]
    Y = (TASK.y[~TASK.asked, None] == TASK.seen_classes).astype(float)
    gram_x, gram_a = X_seen.T @ X_seen, A_seen.T @ A_seen
    gram_x += 0.5 * np.trace(gram_x) / 7 * np.eye(7)
    gram_a += 2.0 * np.trace(gram_a) / 5 * np.eye(5)
    flat = np.linalg.solve(np.kron(gram_x, gram_a), (X_seen.T @ Y @ A_seen).ravel())
    np.testing.assert_allclose(model.decision_function(features), X @ flat.reshape(7, 5) @ A.T, atol=1e-8)
