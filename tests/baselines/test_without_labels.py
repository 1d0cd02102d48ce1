"""Pools without any label: methods that compare samples with texts run, the others say what they need."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from builders import fit_quietly
from superproto import UserError
from superproto.baselines.registry import DEEP, METHODS
from superproto.metrics import per_class_accuracy
from superproto.samples.kernels import unit_rows

TAKE_TEXTS = ["prototypes", "zero-shot", "kmeans", "label-spreading", "zlap", "transclip", "stata", "em-dirichlet"]
TAKE_TEXTS += ["inmap", "hpl"]


def pool_and_texts(n_classes: int = 6, per_class: int = 15, d: int = 24) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples around their class text, and their classes."""
    rng = np.random.default_rng(0)
    texts = unit_rows(rng.normal(size=(n_classes, d)))
    truth = np.repeat(np.arange(n_classes), per_class)
    return unit_rows(texts[truth] + 0.12 * rng.normal(size=(len(truth), d))), texts, truth


@pytest.mark.parametrize("name", TAKE_TEXTS)
def test_texts_are_enough(name):
    X, texts, truth = pool_and_texts()
    model = fit_quietly(METHODS[name](random_state=0), X, np.full(len(X), -1), texts)
    assert per_class_accuracy(truth, model.transduction_) > 0.85  # chance is 1/6
    assert np.array_equal(model.predict(X), model.transduction_)


@pytest.mark.parametrize("name", sorted(set(METHODS) - set(TAKE_TEXTS) - {"hpl-published", "hpl1"}))
def test_a_method_that_learns_from_labels_says_so(name):
    X, texts, _ = pool_and_texts()
    with pytest.raises(UserError, match=r"No sample is labeled: .* learns from labeled samples\. Label samples of"):
        METHODS[name]().fit(X, np.full(len(X), -1), semantics=texts)


@pytest.mark.parametrize("name", ["kmeans", "prototypes", "transclip"])
def test_descriptions_of_another_length_cannot_stand_for_labels(name):
    X, texts, _ = pool_and_texts()
    with pytest.raises(UserError, match="descriptions of 10 numbers cannot be compared with 24 features"):
        METHODS[name]().fit(X, np.full(len(X), -1), semantics=texts[:, :10])


def test_deep_methods_need_labels_before_they_need_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    X, texts, _ = pool_and_texts()
    for name in DEEP:
        with pytest.raises(UserError, match="learns from labeled samples"):
            METHODS[name]().fit(X, np.full(len(X), -1), semantics=texts)
