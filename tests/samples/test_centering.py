"""No labels at all: the offset between images and texts, whatever classes the unlabeled samples have."""

from __future__ import annotations

import numpy as np
import pytest

from builders import fit_quietly, images_and_texts
from superproto import HPL
from superproto.samples.centering import center_descriptions, center_metric, has_structure, mean_shift
from superproto.samples.chunks import ArrayRows
from superproto.samples.kernels import unit_rows

UNEVEN = (300, 50, 20, 10, 5, 5, 5, 5, 2, 1)


def fit(X, texts):
    return fit_quietly(HPL(), X, np.full(len(X), -1), texts)


def accuracy(sizes, **kwargs):
    """Of the model, and of the most similar text as it is, over six draws."""
    found = []
    for seed in range(6):
        X, texts, truth = images_and_texts(sizes, seed=seed, **kwargs)
        plain = (unit_rows(X) @ unit_rows(texts).T).argmax(axis=1)
        found.append([np.mean(fit(X, texts).transduction_ == truth), np.mean(plain == truth)])
    return np.mean(found, axis=0)


class TestTheGap:
    def test_an_even_pool_is_centered_by_its_mean(self):
        X, texts, _ = images_and_texts()
        mean = unit_rows(X).mean(axis=0)
        A = center_descriptions(texts, centered=True)
        assert np.linalg.norm(mean_shift(unit_rows(X), mean, A)) < 0.02 * np.linalg.norm(mean)

    @pytest.mark.parametrize("sizes", [UNEVEN, (40,) * 5 + (0,) * 25])
    def test_it_is_that_of_a_pool_of_even_classes(self, sizes):
        X, texts, truth = images_and_texts(sizes)
        U = unit_rows(X)
        there = np.unique(truth)
        A = center_descriptions(texts, centered=True)
        even = np.mean([U[truth == j].mean(axis=0) for j in there], axis=0)
        found = center_metric(ArrayRows(X), texts, np.ones(len(texts), bool)).mean
        # What the classes in the pool have in common with their descriptions alone is no gap either.
        common = A[there].mean(axis=0)
        even -= common * (even @ common) / max(common @ common, 1e-12)
        found = found - common * (found @ common) / max(common @ common, 1e-12)
        assert np.linalg.norm(found - even) < 0.5 * np.linalg.norm(U.mean(axis=0) - even) + 0.02

    @pytest.mark.parametrize(("sizes", "gap", "noise"), [(UNEVEN, 5.0, 1.0), ((30,) * 10, 10.0, 2.0)])
    def test_a_wide_gap_leaves_what_the_plain_rule_finds(self, sizes, gap, noise):
        """Texts vote as they are: a gap that hides them from the plain rule hides them from the model."""
        model, plain = accuracy(sizes, gap=gap, noise=noise)
        assert model >= plain - 0.02

    @pytest.mark.parametrize("sizes", [(300, *(0,) * 9), (290, *(1,) * 9), (150, 150, *(0,) * 8)])
    def test_a_pool_of_one_class_or_two_is_labeled_as_texts_say(self, sizes):
        model, plain = accuracy(sizes)
        assert model >= plain - 0.02

    def test_a_single_sample_gets_the_most_similar_text(self):
        X, texts, _ = images_and_texts()
        plain = (unit_rows(X) @ unit_rows(texts).T).argmax(axis=1)
        assert [fit(X[i : i + 1], texts).transduction_[0] for i in range(0, 300, 30)] == plain[::30].tolist()

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_samples_that_are_all_alike_get_one_label(self, dtype):
        X, texts, _ = images_and_texts()
        same = np.repeat(X[:1], 5, axis=0).astype(dtype)
        model = fit(same, texts)
        assert len(set(model.transduction_.tolist())) == 1
        assert model.transduction_.tolist() == model.predict(same).tolist()
        assert np.isfinite(model.doubt_).all()

    def test_noise_has_no_structure_and_classes_have(self):
        rng = np.random.default_rng(0)
        A = center_descriptions(rng.normal(size=(10, 64)), centered=True)
        assert not has_structure(rng.normal(size=(500, 64)), A)
        assert has_structure(3 * A[rng.integers(10, size=500)] + rng.normal(size=(500, 64)), A)

    def test_own_votes_do_not_make_it_sure(self):
        """Many labels are wrong, and the assignment's own temperature would hardly doubt them."""
        X, texts, truth = images_and_texts((30,) * 30, noise=3.0)
        model = fit(X, texts)
        right, sure = np.mean(model.transduction_ == truth), model.label_distributions_.max(axis=1).mean()
        assert right < 0.8
        sharp = model._distributions(model.decision_function(X) / model.sharpness_ / model.temperature_)
        assert sure < sharp.max(axis=1).mean() - 0.03
