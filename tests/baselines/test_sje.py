"""SJE: its weights are those of the definition, and without descriptions it is the multiclass SVM."""

from __future__ import annotations

import numpy as np
from sklearn.svm import LinearSVC

from superproto.baselines.registry import METHODS
from superproto.baselines.sje import worst_violation
from superproto.datasets import make_task


def test_weights_are_those_of_the_definition(rng):
    margins = rng.normal(size=(40, 6))
    margins[0] = -1
    for row, weights in zip(margins, worst_violation(margins)):
        violated = [c for c, margin in enumerate(row) if margin > 0]
        expected = np.zeros(len(row))
        if violated:
            expected[max(violated, key=lambda c: row[c])] = 1
        np.testing.assert_allclose(weights, expected)


def test_sje_without_descriptions_agrees_with_the_multiclass_svm():
    task = make_task(n_seen=5, n_unseen=0, n_features=10, samples_per_class=40, separation=1.2, random_state=1)
    model = METHODS["sje"](n_epochs=60, random_state=0).fit(task.X, task.truth)
    X = task.X / np.linalg.norm(task.X, axis=1, keepdims=True)
    reference = LinearSVC(multi_class="crammer_singer", C=1.0, random_state=0, max_iter=20_000).fit(X, task.truth)
    assert np.mean(model.predict(task.X) == reference.predict(X)) > 0.95
