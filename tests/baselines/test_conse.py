"""ConSE against its definition, row by row."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from superproto.baselines._shared.predicted_prototypes import unit_semantics
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows

TASK = make_task(n_seen=12, n_unseen=4, n_features=10, n_attributes=6, samples_per_class=10, random_state=5)


def test_conse_averages_the_descriptions_of_the_likeliest_classes():
    X = TASK.X.astype(np.float64)
    model = METHODS["conse"](n_top=3, candidates="all").fit(X, TASK.y, semantics=TASK.semantics)
    logits = unit_rows(X) @ model.weights_.T + model.biases_
    A = unit_semantics(TASK.semantics)
    A = A - A[TASK.seen_classes].mean(axis=0)
    for row in (0, 17, 60):
        top = np.argsort(logits[row])[-3:]
        p = softmax(logits[row])[top] / softmax(logits[row])[top].sum()
        mixed = p @ A[TASK.seen_classes][top]
        cosines = A @ mixed / np.linalg.norm(A, axis=1) / np.linalg.norm(mixed)
        np.testing.assert_allclose(model.decision_function(X)[row], cosines, atol=1e-8)
