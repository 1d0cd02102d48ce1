"""Descriptions in the space of the features (CLIP's texts): unseen prototypes are texts moved by the gap."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from superproto import HPL
from superproto.baselines import METHODS
from superproto.datasets import load
from superproto.hpl.constants import Constants
from superproto.hpl.seen_classes import text_prototypes, text_slope
from superproto.hpl.texts import agreement_of_hypotheses, text_votes
from superproto.metrics import expected_calibration_error, harmonic_mean, per_class_accuracy
from superproto.samples.chunks import ArrayRows
from superproto.samples.kernels import unit_rows
from superproto.samples.whitening import learn_metric

PACKS = Path(os.environ.get("SUPERPROTO_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")) / "text"
HALF_LABELED = {
    "dtd_clip_vitb32": 0.66,
    "aid5of19_clip_vitl14": 0.93,
    "pets_clip_vitb32": 0.97,
    "whurs19_clip_rn50": 0.97,
    "whurs19_clip_vitb32": 0.975,
    "whurs19_clip_vitl14": 0.99,
}

WITHOUT_LABELS = {
    "dtd_clip_vitb32": 0.55,
    "aid5of19_clip_vitl14": 0.82,
    "whurs19_clip_vitb32": 0.95,
}


def embeddings(seed, n_classes=20, dimension=64, samples=30, noise=0.6):
    """Image and text vectors with a gap: x = gap + b t + noise; the second half of the classes is unseen."""
    rng = np.random.default_rng(seed)
    texts = rng.normal(size=(n_classes, dimension)) / np.sqrt(dimension)
    truth = np.repeat(np.arange(n_classes), samples)
    gap = 2 * rng.normal(size=dimension) / np.sqrt(dimension)
    X = gap + texts[truth] + noise * rng.normal(size=(len(truth), dimension)) / np.sqrt(dimension)
    return X, np.where(truth < n_classes // 2, truth, -1), texts + 1.0 / np.sqrt(dimension), truth


def cosine_labels(X, texts, candidates):
    rows, columns = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (X, texts[candidates]))
    return candidates[(rows @ columns.T).argmax(axis=1)]


def test_prototypes_lie_on_the_line_that_was_measured():
    rng = np.random.default_rng(0)
    texts, gap = rng.normal(size=(9, 5)), rng.normal(size=5)
    means = gap + 0.3 * texts
    assert text_slope(texts[:6], means[:6]) == pytest.approx(0.3)
    np.testing.assert_allclose(text_prototypes(texts[:6], means[:6], texts[6:]), means[6:], atol=1e-12)


def test_texts_that_say_nothing_give_every_class_the_mean():
    rng = np.random.default_rng(0)
    known, means = rng.normal(size=(6, 5)), rng.normal(size=(6, 5))
    against = 2 * known.mean(axis=0) - known
    assert text_slope(against, known) == 0
    found = text_prototypes(against, known, rng.normal(size=(3, 5)))
    np.testing.assert_allclose(found, np.tile(known.mean(axis=0), (3, 1)))
    assert text_slope(np.ones((6, 5)), means) == 0


@pytest.mark.parametrize("seed", range(3))
def test_seen_classes_tell_the_gap_of_the_others(seed):
    X, y, texts, truth = embeddings(seed)
    asked, unseen = y == -1, np.arange(10, 20)
    model = HPL(random_state=0).fit(X, y, semantics=texts)
    plain = per_class_accuracy(truth[asked], cosine_labels(X[asked], texts, unseen))
    assert per_class_accuracy(truth[asked], model.transduction_[asked]) >= plain - 0.01


def test_attributes_of_the_same_width_are_no_texts():
    X, y, _, _ = embeddings(0)
    attributes = np.random.default_rng(1).normal(size=(20, 64)) @ np.diag(np.linspace(0, 2, 64))
    model = HPL(random_state=0)
    _, problem = model._check(X, y, attributes, None)
    assert not model._in_one_space(X, problem)
    _, problem = model._check(X, y, embeddings(0)[2], None)
    assert model._in_one_space(X, problem)


def test_the_plain_rule_is_a_method_with_and_without_labels():
    X, y, texts, _ = embeddings(0)
    model = METHODS["zero-shot"]().fit(X, y, semantics=texts)
    np.testing.assert_array_equal(model.transduction_[y == -1], cosine_labels(X[y == -1], texts, np.arange(10, 20)))
    assert model.sharpness_ == 100
    alone = METHODS["zero-shot"]().fit(X, np.full(len(y), -1), semantics=texts)
    np.testing.assert_array_equal(alone.transduction_, cosine_labels(X, texts, np.arange(20)))


@pytest.mark.filterwarnings("ignore:.*received no sample")
@pytest.mark.parametrize("name", HALF_LABELED)
def test_half_of_the_classes_labeled_real_features(name):
    path = PACKS / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"needs the data pack text/{path.name} (set SUPERPROTO_DATA to its folder)")
    task = load(path)
    model = HPL(random_state=0).fit(task.X, task.y, semantics=task.semantics)
    found = per_class_accuracy(task.truth[task.asked], model.transduction_[task.asked])
    plain = METHODS["zero-shot"]().fit(task.X, task.y, semantics=task.semantics)
    assert found >= HALF_LABELED[name]
    assert found > per_class_accuracy(task.truth[task.asked], plain.transduction_[task.asked])


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
def test_without_unlabeled_samples_texts_are_the_plain_rule(setting):
    X, y, texts, _ = embeddings(0)
    known, candidates = y >= 0, "all" if setting == "gzsl" else "unseen"
    model = HPL(candidates=candidates).fit(X[known], y[known], semantics=texts)
    columns = np.arange(20) if setting == "gzsl" else np.arange(10, 20)
    # Means of seen classes count next to nothing.
    assert np.mean(model.predict(X[~known]) == cosine_labels(X[~known], texts, columns)) > 0.99


@pytest.mark.filterwarnings("ignore:.*received no sample", "ignore:.*match no cluster")
@pytest.mark.parametrize(
    ("name", "gain"), [("dtd_clip_vitb32", 0.05), ("whurs19_clip_vitb32", 0.05), ("aid5of19_clip_vitl14", -0.01)]
)
def test_seen_and_unseen_together_beat_the_plain_rule(name, gain):
    path = PACKS / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"needs the data pack text/{path.name} (set SUPERPROTO_DATA to its folder)")
    task = load(path, setting="gzsl")

    def score(method):
        labels = METHODS[method](candidates="all", random_state=0).fit(task.X, task.y, semantics=task.semantics)
        parts = [task.asked & np.isin(task.truth, classes) for classes in (task.unseen_classes, task.seen_classes)]
        return harmonic_mean(*(per_class_accuracy(task.truth[p], labels.transduction_[p]) for p in parts))

    assert score("hpl") > score("zero-shot") + gain


@pytest.mark.filterwarnings("ignore:.*received no sample")
@pytest.mark.parametrize("name", WITHOUT_LABELS)
def test_no_label_at_all_real_features(name):
    """Per-class accuracy well above the plain rule where class sizes are even, never more than a point below it."""
    path = PACKS / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"needs the data pack text/{path.name} (set SUPERPROTO_DATA to its folder)")
    with np.load(path) as pack:
        X, truth, texts = pack["features"].astype(np.float32), pack["labels"], pack["att"].astype(np.float64)
    model = HPL(random_state=0).fit(X, None, semantics=texts)
    found = per_class_accuracy(truth, model.transduction_)
    plain = METHODS["zero-shot"]().fit(X, None, semantics=texts)
    assert found >= WITHOUT_LABELS[name]
    assert found >= per_class_accuracy(truth, plain.transduction_) - 0.01
    assert expected_calibration_error(truth, model.label_distributions_) <= 0.1
    assert (np.diff(model.objective_) <= 1e-9 * np.abs(model.objective_[:-1])).all()
    np.testing.assert_array_equal(model.predict(X[:200]), model.transduction_[:200])


def test_votes_are_cosines_up_to_the_length_of_a_sample():
    rng = np.random.default_rng(0)
    X, texts = unit_rows(rng.normal(size=(50, 8)) + 1), unit_rows(rng.normal(size=(4, 8)))
    metric = learn_metric(ArrayRows(X), rng.integers(3, size=50), 3)
    away = metric.forward(X - metric.mean)
    for row in away:
        length = float(np.linalg.norm(row))
        votes = text_votes(texts, metric, length, 2.0)
        x = metric.undo(row[None])[0] + metric.mean
        np.testing.assert_allclose(votes.vectors @ (row / length) + votes.biases, 2 * texts @ x, atol=1e-9)


def test_a_wrong_hypothesis_about_sizes_loses_agreement():
    constants = Constants()
    assert agreement_of_hypotheses(100.0, 100.0, constants) == 1
    assert agreement_of_hypotheses(constants.even_agreement * 100, 100.0, constants) == pytest.approx(1)
    assert agreement_of_hypotheses(20.0, 100.0, constants) < 0.01
