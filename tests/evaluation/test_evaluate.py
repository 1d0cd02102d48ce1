"""One method on one task: the truth decides scores and nothing else, and time is accounted for."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from superproto import HPL
from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.evaluation.evaluate import answer, difference, evaluate
from superproto.metrics import generalized_scores, per_class_accuracy


def small(setting="zsl", **options):
    sizes = {"n_seen": 6, "n_unseen": 3, "n_features": 8, "n_attributes": 5, "samples_per_class": 10, "separation": 2.0}
    return make_task(setting=setting, **{**sizes, **options})


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("inductive", [False, True])
@pytest.mark.parametrize("method", ["hpl", "eszsl"])
def test_scrambling_the_truth_changes_scores_and_no_answer(method, setting, inductive):
    task = small(setting)
    honest = evaluate(task, method, inductive=inductive)
    rng = np.random.default_rng(1)
    truth = np.where(task.asked, rng.permutation(task.truth), task.truth)
    scrambled = evaluate(replace(task, truth=truth), method, inductive=inductive)
    assert (scrambled.answers == honest.answers).all()
    assert scrambled.scores != honest.scores


def test_fit_receives_samples_labels_and_descriptions_alone():
    task, received = small(), {}

    class Spy(HPL):
        def fit(self, *positional, **named):
            received.update(named, positional=positional)
            return super().fit(*positional, **named)

    answer(Spy.with_constants(forecast=False)(), task)
    X, y = received.pop("positional")
    assert list(received) == ["semantics"]
    assert X is task.X
    assert (y[task.asked] == -1).all()
    assert not any(np.shares_memory(part, task.truth) for part in (X, y, received["semantics"]))


def test_scores_are_those_of_the_arrays_through_the_estimator():
    task = small()
    model = HPL(random_state=0).fit(task.X, task.y, semantics=task.semantics)
    expected = per_class_accuracy(task.truth[task.asked], model.transduction_[task.asked])
    found = evaluate(task)
    assert found.scores["per_class_accuracy"] == expected
    low, high = found.scores["interval"]
    assert low <= expected <= high
    assert found.scores["top5"] == 1, "five guesses among three candidates are always right"


def test_generalized_scores_are_those_of_the_arrays_through_the_estimator():
    task = small("gzsl")
    model = HPL(candidates="all", random_state=0).fit(task.X, task.y, semantics=task.semantics)
    expected = generalized_scores(task.truth[task.asked], model.transduction_[task.asked], task.seen_classes)
    scores = evaluate(task).scores
    assert tuple(scores[name] for name in ("unseen", "seen", "harmonic_mean")) == expected
    assert 0 <= scores["ausuc"] <= 1


def test_samples_outside_the_pool_are_answered_by_predict():
    task = small("gzsl").with_pool("unseen")
    assert len(task.later), "the seen samples left the pool"
    found = evaluate(task)
    assert (found.answers[-len(task.later) :] == found.model.predict(task.later)).all()
    inductive = evaluate(small(), inductive=True)
    assert inductive.task.pool == "none"
    assert (inductive.answers == inductive.model.predict(inductive.task.later)).all()


def test_an_unknown_truth_cannot_be_scored_but_a_part_of_it_can():
    task = small()
    unknown = replace(task, truth=task.y)
    with pytest.raises(
        UserError, match="the true classes of its 30 unlabeled samples are unknown, so there is nothing to score"
    ):
        evaluate(unknown)
    half = task.truth.copy()
    half[np.flatnonzero(task.asked)[::2]] = -1
    assert evaluate(replace(task, truth=half)).scores["questions"] == 15


def test_a_difference_of_methods_is_that_of_their_scores():
    task = small()
    first, second = evaluate(task, "prototypes"), evaluate(task, "hpl")
    change = difference(first, second)
    expected = second.scores["per_class_accuracy"] - first.scores["per_class_accuracy"]
    assert change.difference == pytest.approx(expected)
    assert change.low <= change.difference <= change.high


def test_warnings_of_a_method_become_notes_of_the_run():
    found = evaluate(small(), params={"theta": 1.0})
    assert any("as many super-prototypes as classes" in note for note in found.notes)
    assert found.chosen == "given"
    assert evaluate(small()).chosen == "defaults"


def test_every_second_is_counted_once():
    found = evaluate(small())
    assert set(found.breakdown) == {"read", "passes", "whiten", "fit", "predict", "score"}
    assert found.seconds == pytest.approx(sum(found.breakdown.values()) - found.breakdown["score"])


def test_warnings_stay_inside_an_evaluation():
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        evaluate(small(), params={"theta": 1.0})
    assert not heard


def test_an_estimator_is_evaluated_as_its_key_is():
    from superproto.baselines import METHODS

    task = make_task(n_seen=6, n_unseen=3, random_state=0)
    one, other = evaluate(task, "eszsl"), evaluate(task, METHODS["eszsl"]())
    assert one.scores == other.scores
    assert other.method == METHODS["eszsl"].__name__
    with pytest.raises(UserError, match="not an estimator"):
        evaluate(task, 7)
    with pytest.raises(UserError, match="not an estimator"):
        evaluate(task, object())


class Fixed:
    """A method of one's own that answers what it was given."""

    def __init__(self, answer):
        self.answer = answer

    def fit(self, X, y, semantics=None):
        return self

    def predict(self, X):
        return self.answer(len(X))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.zeros(3, dtype=int), r"Fixed gives labels of shape \(3,\) for \d+ rows"),
        (lambda n: np.array(["a"] * n), r"Fixed gives labels of type <U1\. Give row numbers of semantics"),
        (lambda n: np.full(n, 99), "Fixed gives the label 99, but there are classes 0 to"),
    ],
)
def test_answers_of_a_method_of_ones_own_are_checked(answer, message):
    with pytest.raises(UserError, match=message):
        evaluate(small(), Fixed(answer))


def test_a_method_without_descriptions_is_told_what_it_needs():
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(UserError, match=r"LogisticRegression\.fit takes no semantics="):
        evaluate(small(), LogisticRegression())
