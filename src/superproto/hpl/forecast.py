"""A forecast: some seen classes are left out, and labeled as if they were unseen.

It tells the accuracy to expect on classes without labels before any of them has one, and whether the model's confidence
on such classes is too high or too low.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from superproto.estimator.forecast import Forecast
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array, rows_at, rows_of

FEWEST_SEEN_TO_FORECAST = 4
FEWEST_CLASSES_TO_JUDGE = 20
# Features of the labeled samples of a forecast's fit at most; left-out classes of all its fits together at least.
ENTRIES, LEFT_OUT_CLASSES, MOST_FITS = 2**23, 40, 3
# Parameters that a fit with left-out classes does not take over.
OF_ONE_FIT = ("candidates", "init", "callback", "checkpoint", "verbose")
# Share of the samples of the other classes that join the pool in the generalized setting.
POOL_OF_SEEN = 0.2


class LeftOutFits(NamedTuple):
    """What fits with left-out classes found.

    ``by_class`` are the accuracies of left-out classes, one after the other; ``candidates`` is how many classes a
    sample could have, ``asked_candidates`` how many it can have in the fit that is forecast. ``rivals`` is how many
    times as many classes without a label a sample can be taken for there. ``correct`` and ``confidence`` are means over
    the unlabeled samples.
    """

    by_class: Array
    candidates: int
    asked_candidates: int
    rivals: float
    correct: float
    confidence: float

    def forecast(self) -> Forecast:
        return Forecast(self.among_all(float(self.by_class.mean())), 1 / self.asked_candidates)

    def among_all(self, accuracy: float) -> float:
        """The accuracy among all rivals, if each of them is as likely to be preferred to the true class."""
        return float(accuracy**self.rivals)

    def beats_chance(self) -> bool:
        """Whether the accuracy is above that of guessing by two standard errors over the classes.

        A handful of classes cannot tell; they are given the benefit of the doubt.
        """
        if len(self.by_class) < FEWEST_CLASSES_TO_JUDGE:
            return True
        error = float(self.by_class.std()) / np.sqrt(len(self.by_class))
        return bool(self.by_class.mean() - 2 * error > 1 / self.candidates)


def label_left_out_classes(
    X: Any, problem: Problem, model_of: Callable[[Any], Any], seed: int
) -> LeftOutFits | None:  # fmt: skip
    """Fit models where as many seen classes as are unseen, half of them at most, are left out.

    ``model_of(candidates)`` makes an unfitted model. None where too few classes are seen to leave two out.
    """
    seen = np.flatnonzero(problem.seen)
    unseen = int((problem.allowed & ~problem.seen).sum())
    number = min(unseen, len(seen) // 2)
    if len(seen) < FEWEST_SEEN_TO_FORECAST or number < 2 or not problem.described:
        return None
    rows = _some_rows(problem, ENTRIES // rows_of(X).n_columns)
    labels = np.searchsorted(seen, problem.labels[rows])
    samples, rng = rows_at(X, rows), np.random.default_rng(seed)
    compete = bool((problem.allowed & problem.seen).any())
    found = []
    for _ in range(min(MOST_FITS, -(-LEFT_OUT_CLASSES // number))):
        left_out = rng.permutation(len(seen))[:number]
        asked = np.isin(labels, left_out)
        if compete:
            asked |= rng.random(len(labels)) < POOL_OF_SEEN
        model = model_of("all" if compete else "unseen")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(samples, np.where(asked, -1, labels), semantics=problem.semantics[seen])
        found.append(_judge(model, labels, asked, left_out))
    by_class, correct, confidence = zip(*found)
    return LeftOutFits(
        np.concatenate(by_class), len(seen) if compete else number, int(problem.allowed.sum()),
        max(1.0, (unseen - 1) / (number - 1)), float(np.mean(correct)), float(np.mean(confidence)),
    )  # fmt: skip


def _judge(model: Any, labels: Array, asked: Array, left_out: Array) -> tuple[Array, float, float]:
    """Accuracy of each left-out class; mean accuracy and mean confidence of all that was asked."""
    right = model.transduction_ == labels
    by_class = np.array([right[asked & (labels == j)].mean() for j in left_out if (asked & (labels == j)).any()])
    return by_class, float(right[asked].mean()), float(model.label_distributions_[asked].max(axis=1).mean())


def _some_rows(problem: Problem, at_most: int) -> Array:
    """Labeled rows of seen classes, evenly many of each, so many at most in all."""
    most = max(2, at_most // int(problem.seen.sum()))
    chosen = []
    for j in np.flatnonzero(problem.seen):
        own = np.flatnonzero(problem.labels == j)
        chosen.append(own[np.unique(np.linspace(0, len(own) - 1, min(len(own), most)).astype(np.int64))])
    return np.sort(np.concatenate(chosen))


def left_out_fits(model: Any, X: Any, problem: Problem, seed: int) -> LeftOutFits | None:
    """Fits of the same method in which seen classes are left out; None where nothing is asked or that is impossible."""
    if not problem.asked.any():
        return None
    kind = type(model).with_constants(forecast=False)
    own = {name: value for name, value in model.get_params(deep=False).items() if name not in OF_ONE_FIT}
    own["prior"] = own["prior"] if own["prior"] is None or isinstance(own["prior"], str) else "estimated"
    return label_left_out_classes(X, problem, lambda candidates: kind(**own, candidates=candidates), seed)
