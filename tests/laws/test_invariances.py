"""What must not change an answer: order, numbering, rotation, scale, chunks, precision; and what must: candidates."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from builders import VARIANTS, fit_variant, law_task
from superproto import HPL
from superproto.datasets import digits


@functools.cache
def undisturbed(name, setting):
    """The fit that the disturbed ones are compared with."""
    return fit_variant(VARIANTS[name], law_task(setting))


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("name", ["default", "published, whitened", "hpl1"])
class TestSymmetries:
    """On separated tasks, what does not matter must not change a label."""

    def test_order_of_samples(self, name, setting):
        task = law_task(setting)
        order = np.random.default_rng(0).permutation(len(task.y))
        plain = undisturbed(name, setting)
        shuffled = fit_variant(VARIANTS[name], task, X=task.X[order], y=task.y[order])
        np.testing.assert_array_equal(shuffled.transduction_, plain.transduction_[order])

    def test_numbering_of_classes(self, name, setting):
        task = law_task(setting)
        order = np.random.default_rng(1).permutation(len(task.semantics))
        renumber = np.argsort(order)
        y = np.where(task.y == -1, -1, renumber[task.y])
        plain = undisturbed(name, setting)
        renamed = fit_variant(VARIANTS[name], task, semantics=task.semantics[order], y=y)
        np.testing.assert_array_equal(renamed.transduction_, renumber[plain.transduction_])

    def test_rotation_of_either_space(self, name, setting):
        task = law_task(setting)
        rng = np.random.default_rng(2)
        turn = np.linalg.qr(rng.normal(size=(task.X.shape[1],) * 2))[0]
        spin = np.linalg.qr(rng.normal(size=(task.semantics.shape[1],) * 2))[0]
        plain = undisturbed(name, setting)
        rotated = fit_variant(VARIANTS[name], task, X=task.X @ turn, semantics=task.semantics @ spin)
        np.testing.assert_array_equal(rotated.transduction_, plain.transduction_)

    def test_scale_of_features(self, name, setting):
        task = law_task(setting)
        plain = undisturbed(name, setting)
        np.testing.assert_array_equal(
            fit_variant(VARIANTS[name], task, X=1000 * task.X).transduction_, plain.transduction_
        )


@pytest.mark.parametrize("name", VARIANTS)
def test_predict_on_a_pool_row_is_its_transduction(name):
    task = law_task("gzsl", separation=0.7)
    model = fit_variant(VARIANTS[name], task)
    asked = task.y == -1
    X = np.asarray(task.X, dtype=np.float64)
    np.testing.assert_array_equal(model.predict(X[asked]), model.transduction_[asked])
    np.testing.assert_array_equal(model.transduction_[~asked], task.y[~asked])
    probabilities = model.predict_proba(X[asked])
    np.testing.assert_allclose(probabilities, model.label_distributions_[asked], atol=1e-9)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.transduction_[asked])


def test_candidates_are_respected():
    task = law_task("gzsl")
    chosen = [8, 9, 0]
    model = HPL(candidates=chosen).fit(task.X, task.y, semantics=task.semantics)
    assert set(model.transduction_[task.y == -1]) <= set(chosen)
    scores = model.decision_function(task.X[:3])
    assert np.isneginf(scores[:, [j for j in range(scores.shape[1]) if j not in chosen]]).all()


def test_chunks_do_not_matter(monkeypatch):
    task = law_task("zsl", separation=0.7)
    whole = fit_variant(HPL(), task)
    monkeypatch.setattr("superproto.samples.chunks.CHUNK_BYTES", 1)
    monkeypatch.setattr("superproto.samples.chunks.chunk_length", lambda *_: 17)
    parts = fit_variant(HPL(), task)
    np.testing.assert_array_equal(parts.transduction_, whole.transduction_)
    np.testing.assert_allclose(parts.objective_, whole.objective_, rtol=1e-9)


def test_scores_need_not_be_remembered(monkeypatch):
    task = law_task("zsl", separation=0.7)
    cached = fit_variant(HPL(), task)
    monkeypatch.setattr("superproto.samples.whitened.SCORE_CACHE_BYTES", 0)
    read_again = fit_variant(HPL(), task)
    np.testing.assert_array_equal(read_again.transduction_, cached.transduction_)


def test_lower_precision_gives_the_same_labels():
    task = digits()
    full, *low = (
        HPL().fit(np.asarray(task.X, dtype=dtype), task.y, semantics=task.semantics).transduction_
        for dtype in (np.float64, np.float32, np.float16)
    )
    for labels in low:
        assert np.mean(full == labels) >= 0.995
