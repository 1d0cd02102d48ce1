"""Few labels for many classes: seen classes with few samples are open to the unlabeled ones, and no harm is done."""

from __future__ import annotations

import numpy as np
import pytest

from builders import fit_quietly, images_and_texts
from superproto import HPL
from superproto.datasets import digits
from superproto.samples.centering import match_own_descriptions


class TestFewLabels:
    """Classes with few labels are open to the pool, but those that stay seen must be able to teach."""

    @staticmethod
    def task(d=64, seed=0):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(28, 32))
        truth = np.repeat(np.arange(28), 40)
        X = (A @ rng.normal(size=(32, d)) / 32**0.5)[truth] + rng.normal(size=(1120, d))
        return X, A, truth

    @staticmethod
    def labels(truth, few, many, classes):
        y = np.full(len(truth), -1)
        for j in range(20):
            y[np.flatnonzero(truth == j)[: many if j < classes else few]] = j
        return y

    def right(self, X, y, A, truth):
        model = fit_quietly(HPL(candidates="all"), X, y, A)
        unseen = (y == -1) & (truth >= 20)
        return np.mean(model.transduction_[unseen] == truth[unseen])

    @pytest.mark.parametrize("classes", [1, 5, 10])
    def test_more_labels_for_some_classes_do_no_harm(self, classes):
        X, A, truth = self.task()
        before = self.right(X, self.labels(truth, 8, 8, 0), A, truth)
        assert self.right(X, self.labels(truth, 8, 12, classes), A, truth) > before - 0.06

    def test_as_many_attributes_as_features_are_no_texts(self):
        X, A, truth = self.task(d=32)
        assert self.right(X, self.labels(truth, 8, 8, 0), A, truth) > 0.9

    def test_texts_are_told_from_attributes_by_labeled_samples(self):
        X, texts, truth = images_and_texts()
        assert match_own_descriptions(X, truth, texts)
        assert not match_own_descriptions(X, truth, np.random.default_rng(1).normal(size=texts.shape))
        assert match_own_descriptions(X[truth < 2], truth[truth < 2], texts)


@pytest.mark.parametrize("candidates", ["named", "all"])
@pytest.mark.parametrize("unseen", [(0, 1, 4), (0, 2, 4, 6, 8)])
def test_a_label_outweighs_the_description_of_its_class(unseen, candidates):
    """Descriptions exchange these digits; two labels for each put that right."""
    task = digits(unseen=unseen)
    rng, y = np.random.default_rng(0), task.y.copy()
    asked = np.concatenate(
        [rng.choice(np.flatnonzero(task.asked & (task.truth == j)), 2, replace=False) for j in unseen]
    )
    y[asked] = task.truth[asked]
    rest = y == -1

    def right(labels, **parameters):
        model = fit_quietly(HPL(random_state=0, **parameters), task.X, labels, task.semantics)
        return np.mean(model.transduction_[rest] == task.truth[rest])

    helped = right(y, candidates=list(unseen) if candidates == "named" else "all")
    nearest = ((task.X[rest][:, None] - task.X[asked]) ** 2).sum(axis=2).argmin(axis=1)
    assert helped > right(task.y) + 0.2
    assert helped > np.mean(task.truth[asked][nearest] == task.truth[rest])
