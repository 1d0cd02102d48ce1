"""SynC against one-vs-all classifiers, and its similarities by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from superproto.baselines.registry import METHODS
from superproto.baselines.sync import similarities
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows


def test_sync_with_identity_similarities_is_its_one_vs_all_classifiers():
    task = make_task(n_seen=5, n_unseen=0, n_features=6, samples_per_class=20, separation=1.5)
    X = task.X.astype(np.float64)
    model = METHODS["sync"](loss="one-vs-all", ridge=1e-2, sharpness=1e9, normalize=False, max_iter=1000)
    model.fit(X, task.truth, semantics=task.semantics)
    rows = unit_rows(X)
    machine = LinearSVC(C=1 / (len(X) * 5 * 1e-2), tol=1e-8, max_iter=100_000, random_state=0)
    reference = machine.fit(rows - rows.mean(axis=0), task.truth)
    np.testing.assert_allclose(model.classifiers_, reference.coef_, atol=1e-3)
    np.testing.assert_allclose(
        model.decision_function(X), reference.decision_function(rows - rows.mean(axis=0)), atol=2e-3
    )


@pytest.mark.parametrize("loss", ["one-vs-all", "struct"])
def test_sync_gives_a_class_next_to_a_seen_one_its_classifier(loss):
    task = make_task(n_seen=6, n_unseen=1, n_features=8, n_attributes=6, samples_per_class=10)
    A = task.semantics.astype(np.float64).copy()
    A[6] = A[2] + 1e-9
    model = METHODS["sync"](loss=loss, sharpness=2.0).fit(task.X, task.y, semantics=A)
    np.testing.assert_allclose(model.classifiers_[6], model.classifiers_[2], atol=1e-4)


def test_similarities_are_a_softmax_of_squared_distances(rng):
    A = rng.normal(size=(5, 3))
    S = similarities(A, A[:4], 2.0)
    np.testing.assert_allclose(S.sum(axis=1), 1)
    d = ((A[4] - A[:4]) ** 2).sum(axis=1)
    median = np.median([((a - b) ** 2).sum() for i, a in enumerate(A[:4]) for b in A[:i]])
    assert S[4, 0] / S[4, 1] == pytest.approx(np.exp(-2 * (d[0] - d[1]) / median))
