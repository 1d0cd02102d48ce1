"""Doubt, a little help, and no labels at all: what the default model says of its own answers and takes from a user."""

from __future__ import annotations

import numpy as np
import pytest

from superproto import HPL
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.estimator.validation import check_problem
from superproto.hpl.uncertainty import choose_informative, matching
from superproto.hpl.user_warnings import warn_about_unmatched_classes
from superproto.metrics import expected_calibration_error, per_class_accuracy


def fitted(task, y=None, **parameters):
    return HPL(**parameters).fit(task.X, task.y if y is None else y, semantics=task.semantics)


@pytest.fixture(scope="module")
def blurred():
    """Classes that overlap, so that some labels must be wrong."""
    return make_task(n_seen=30, n_unseen=10, separation=0.6, attribute_noise=0.5, random_state=3)


def right(task, model):
    asked = task.y == -1
    return model.transduction_[asked] == task.truth[asked]


class TestDoubt:
    def test_confidence_is_near_accuracy(self, blurred):
        model = fitted(blurred)
        asked = blurred.y == -1
        probabilities = model.label_distributions_[asked]
        assert 0.3 < right(blurred, model).mean() < 0.97
        assert expected_calibration_error(blurred.truth[asked], probabilities) < 0.12

    def test_wrong_labels_are_doubted_more(self, blurred):
        model = fitted(blurred)
        doubt, good = model.doubt_[blurred.y == -1], right(blurred, model)
        assert doubt[~good].mean() > 1.3 * doubt[good].mean()

    def test_given_labels_are_not_doubted(self, blurred):
        model = fitted(blurred)
        assert not model.doubt_[blurred.y != -1].any()
        assert ((model.doubt_ >= 0) & (model.doubt_ <= 1)).all()

    def test_classes_that_the_pool_does_not_have_are_doubted(self):
        task = make_task(n_seen=30, n_unseen=8, separation=4, random_state=1)
        there = ~np.isin(task.truth, [30, 31, 32])
        with pytest.warns(UserWarning, match="3 of 8 classes received no sample"):
            model = HPL().fit(task.X[there], task.y[there], semantics=task.semantics)
        assert model.class_doubt_[30:33].min() > 0.5 > model.class_doubt_[33:].max()

    def test_descriptions_that_match_no_cluster_are_named(self, blurred):
        doubt = np.where(np.isin(np.arange(40), [31, 33]), 0.97, 0.1)
        problem = check_problem(blurred.y, blurred.semantics)
        with pytest.warns(UserWarning, match=r"descriptions of 2 classes match no cluster of the pool \(31, 33\)"):
            warn_about_unmatched_classes(doubt, problem)

    def test_the_likeliest_class_is_the_label(self, blurred):
        model = fitted(blurred, candidates="all")
        probable = model.classes_[model.label_distributions_.argmax(axis=1)]
        np.testing.assert_array_equal(probable, model.transduction_)

    def test_a_matching_has_margins_of_one_and_forgets_scales(self):
        fit = np.random.default_rng(0).normal(size=(6, 6))
        R = matching(fit)
        np.testing.assert_allclose(R.sum(axis=1), 1)
        np.testing.assert_allclose(R.sum(axis=0), 1, atol=1e-6)
        np.testing.assert_allclose(R, matching(fit + np.arange(6) - 3 * np.arange(6)[:, None]), atol=1e-6)


class TestALittleHelp:
    @pytest.mark.filterwarnings("ignore:.*received no sample")
    def test_labels_for_unseen_classes_help_and_do_not_hurt(self):
        gains = []
        for seed in (7, 8, 9):
            vague = make_task(n_seen=30, n_unseen=10, separation=1.0, attribute_noise=0.9, random_state=seed)
            rng, asked = np.random.default_rng(0), np.flatnonzero(vague.y == -1)
            without = fitted(vague).transduction_
            for number in (3, 10, 30):
                told = rng.choice(asked, number, replace=False)
                y = vague.y.copy()
                y[told] = vague.truth[told]
                rest = np.setdiff1d(asked, told)
                found = fitted(vague, y, candidates=vague.unseen_classes.tolist()).transduction_
                before, after = (per_class_accuracy(vague.truth[rest], x[rest]) for x in (without, found))
                gains.append(after - before)
        assert min(gains) > -0.02
        assert np.mean(gains) > 0.1

    def test_a_told_class_stays_open_to_the_pool(self, blurred):
        asked = np.flatnonzero(blurred.y == -1)
        y = blurred.y.copy()
        y[asked[0]] = blurred.truth[asked[0]]
        model = fitted(blurred, y, candidates=blurred.unseen_classes.tolist())
        assert (model.transduction_[asked[1:]] == blurred.truth[asked[0]]).sum() > 5

    def test_the_objective_never_rises_with_such_labels(self, blurred):
        asked = np.flatnonzero(blurred.y == -1)
        y = blurred.y.copy()
        y[asked[::40]] = blurred.truth[asked[::40]]
        values = fitted(blurred, y, candidates=blurred.unseen_classes.tolist(), tol=0.0).objective_
        assert np.all(np.diff(values) <= 1e-10 * np.abs(values[:-1]))

    def test_most_informative_rows_are_unlabeled_and_distinct(self, blurred):
        rows = fitted(blurred).most_informative(12)
        assert len(set(rows.tolist())) == 12
        assert (blurred.y[rows] == -1).all()

    def test_the_most_doubtful_cluster_is_asked_about_first(self):
        clusters, doubt = np.array([0, 0, 1, 1, 1]), np.array([0.1, 0.2, 0.9, 0.8, 0.7])
        np.testing.assert_array_equal(choose_informative(clusters, doubt, 3), [4, 3, 2])

    def test_more_rows_than_there_are(self, blurred):
        with pytest.raises(UserError, match="Ask for at most"):
            fitted(blurred).most_informative(10_000)


class TestNoLabels:
    """Text vectors in the space of the features: y is -1 everywhere."""

    def task(self, gap=3.0, noise=0.5):
        rng = np.random.default_rng(0)
        centers = rng.normal(size=(12, 64))
        truth = np.repeat(np.arange(12), 40)
        images = centers[truth] + 1.5 * rng.normal(size=(480, 64)) + gap * rng.normal(size=64)
        texts = centers + noise * rng.normal(size=centers.shape) + gap * rng.normal(size=64)
        return images, texts, truth

    def test_pictures_find_their_texts(self):
        images, texts, truth = self.task(noise=1.2)
        model = HPL().fit(images, np.full(len(images), -1), semantics=texts)
        plain = (images - images.mean(0)) @ (texts - texts.mean(0)).T
        start = per_class_accuracy(truth, plain.argmax(axis=1))
        assert per_class_accuracy(truth, model.transduction_) > max(0.9, start + 0.05)
        np.testing.assert_array_equal(model.predict(images), model.transduction_)

    def test_the_objective_never_rises(self):
        images, texts, _ = self.task()
        values = HPL(tol=0.0).fit(images, np.full(len(images), -1), semantics=texts).objective_
        assert np.all(np.diff(values) <= 1e-10 * np.abs(values[:-1]))

    def test_descriptions_in_another_space_are_refused(self):
        images, texts, _ = self.task()
        with pytest.raises(UserError, match="descriptions of 7 numbers cannot be compared with 64 features"):
            HPL().fit(images, np.full(len(images), -1), semantics=texts[:, :7])

    def test_the_published_method_needs_labels(self):
        images, texts, _ = self.task()
        with pytest.raises(UserError, match="No sample is labeled"):
            HPL.as_published().fit(images, np.full(len(images), -1), semantics=texts)

    @pytest.mark.parametrize("name", ["transclip", "stata", "zlap", "label-spreading", "em-dirichlet", "inmap"])
    def test_the_methods_of_the_zoo_that_people_use_for_this(self, name):
        images, texts, truth = self.task(noise=1.2)
        model = METHODS[name](random_state=0, whiten=True).fit(images, np.full(len(images), -1), semantics=texts)
        plain = per_class_accuracy(truth, ((images - images.mean(0)) @ (texts - texts.mean(0)).T).argmax(axis=1))
        assert per_class_accuracy(truth, model.transduction_) > plain - 0.05
        np.testing.assert_array_equal(model.predict(images), model.transduction_)


def test_classes_with_a_few_labels_that_are_no_candidates_are_named():
    task = make_task(n_seen=9, n_unseen=4, samples_per_class=60)
    y = task.y.copy()
    y[np.flatnonzero(task.truth == task.unseen_classes[0])[:2]] = task.unseen_classes[0]
    with pytest.warns(UserWarning, match="Classes with at most 10 labels"):
        HPL().fit(task.X, y, semantics=task.semantics)
