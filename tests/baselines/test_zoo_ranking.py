"""Definition: the three weightings by brute force, gradients by differences, SJE against the multiclass SVM."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from superproto.baselines._shared.ranking import ranking_gradient
from superproto.baselines.ale import rank_weighted
from superproto.baselines.devise import every_violation
from superproto.baselines.registry import METHODS
from superproto.baselines.sje import worst_violation
from superproto.datasets import make_task

RNG = np.random.default_rng(4)


def brute_weights(row, kind):
    violated = [c for c, margin in enumerate(row) if margin > 0]
    weights = np.zeros(len(row))
    if kind == "worst" and violated:
        weights[max(violated, key=lambda c: row[c])] = 1
    for c in violated:
        if kind == "every":
            weights[c] = 1
        if kind == "rank":
            weights[c] = sum(1 / j for j in range(1, len(violated) + 1)) / len(violated)
    return weights


@pytest.mark.parametrize(
    ("kind", "weighting"), [("every", every_violation), ("worst", worst_violation), ("rank", rank_weighted)]
)
def test_weights_are_those_of_the_definition(kind, weighting):
    margins = RNG.normal(size=(40, 6))
    margins[0] = -1
    np.testing.assert_allclose(weighting(margins), [brute_weights(row, kind) for row in margins])


@pytest.mark.parametrize("weighting", [every_violation, worst_violation, rank_weighted])
def test_the_gradient_is_that_of_the_loss(weighting):
    X, A, W = RNG.normal(size=(12, 4)), RNG.normal(size=(5, 3)), RNG.normal(size=(4, 3))
    labels = RNG.integers(5, size=12)
    gradient, value = ranking_gradient(X, labels, A, W, 1.0, weighting)
    assert value > 0
    for index in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[index] = 1e-6
        up, down = (ranking_gradient(X, labels, A, W + s, 1.0, weighting)[1] for s in (step, -step))
        assert (up - down) / 2e-6 == pytest.approx(gradient[index], abs=1e-5)


def test_sje_without_descriptions_agrees_with_the_multiclass_svm():
    task = make_task(n_seen=5, n_unseen=0, n_features=10, samples_per_class=40, separation=1.2, random_state=1)
    model = METHODS["sje"](n_epochs=60, random_state=0).fit(task.X, task.truth)
    X = task.X / np.linalg.norm(task.X, axis=1, keepdims=True)
    reference = LinearSVC(multi_class="crammer_singer", C=1.0, random_state=0, max_iter=20_000).fit(X, task.truth)
    assert np.mean(model.predict(task.X) == reference.predict(X)) > 0.95


@pytest.mark.parametrize("name", ["ale", "devise", "sje"])
def test_margin_and_step_together_change_nothing(name):
    task = make_task(n_seen=6, n_unseen=3, n_features=10, samples_per_class=10)
    X = task.X.astype(np.float64)
    one, four = (
        METHODS[name](margin=s, learning_rate=0.5 * s, random_state=0).fit(X, task.y, semantics=task.semantics)
        for s in (1.0, 4.0)
    )
    np.testing.assert_allclose(four.classifiers_, 4 * one.classifiers_, rtol=1e-6, atol=1e-9)
