"""ASK: which sample a person is shown next, and how many labels are probably still wrong.

Stage one names clusters: each group of samples that the model gave one name gets an answer, those with the most
expected errors first. A description that fits the wrong cluster is put right by one answer. Stage two takes the most
doubtful samples. Every twentieth question is blind: a sure label, shown without the guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from superproto.samples.chunks import Array

CLUSTER, DOUBTFUL, BLIND = "cluster", "doubtful", "blind"
QUESTION_KINDS = (CLUSTER, DOUBTFUL, BLIND)
BLIND_EVERY = 20
SHOWN = 9
# Doubt up to which a label is called sure, and how many answers the model's own doubt is worth.
SURE = 0.1
_OWN_WEIGHT = 10
# Of doubtful labels: how many expected errors.
_OWN_ERRORS = 3
# An answer gave the cluster's name to other samples: so its own are most probably something else.
_NAME_TAKEN = 0.9
_MOST_SKIPS = 3


class PoolView(NamedTuple):
    """What is known about the N samples of a run, and about its C classes.

    labels : (N,) classes that the model found; doubt : (N,); answers : (N,) a class, -1 without answer, -2 none of
    these; skipped : (N,) bool; asked : (N,) bool, without a label at the beginning; targets : (C,) bool, the classes
    that had no labeled sample and may occur.
    """

    labels: Array
    doubt: Array
    answers: Array
    skipped: Array
    asked: Array
    targets: Array

    @property
    def open(self) -> Array:
        """(N,) the samples that a question may be about."""
        return np.asarray(self.asked & (self.answers == -1) & ~self.skipped)


class Question(NamedTuple):
    """The sample that is asked about, and what is shown with it.

    kind : "cluster", "doubtful" or "blind"; members : further samples of the cluster; size : samples of the cluster;
    expected : how many of its labels are probably wrong; name_taken : its name was given to other samples.
    """

    kind: str
    row: int
    members: list[int]
    size: int
    expected: float
    name_taken: bool = False


class ErrorEstimate(NamedTuple):
    """How many labels are probably wrong, of how many; blind answers and how many of them were errors."""

    wrong: float
    of: int
    blind: int
    blind_wrong: int


def next_question(view: PoolView, number: int, seed: int = 0) -> Question | None:
    """The question after ``number`` others; None where every sample has an answer or was skipped."""
    open_rows = np.flatnonzero(view.open)
    if not len(open_rows):
        return None
    if (number + 1) % BLIND_EVERY == 0:
        return _blind_question(view, open_rows, np.random.default_rng([seed, number]))
    return _cluster_question(view, open_rows) or _doubtful_question(view, open_rows)


def clusters_left(view: PoolView) -> int:
    """How many clusters of stage one wait for an answer."""
    return int((_cluster_errors(view, np.flatnonzero(view.open))[0] >= 0).sum())


def classes_without_answer(view: PoolView) -> int:
    """How many classes without an example have no answer yet."""
    return int((view.targets & ~_named(view)).sum())


class Check(NamedTuple):
    """An answer to a question about a label: the doubt of the label, whether it was wrong, whether it was hidden."""

    doubt: float
    wrong: bool
    blind: bool


def estimate_errors(view: PoolView, checks: Sequence[Check]) -> ErrorEstimate:
    """From the model's doubt, put right by answers: blind ones tell about sure labels, the others about doubtful ones.

    Doubt is multiplied by how often labels were wrong, divided by how often the doubt said so.
    """
    waiting = view.asked & (view.answers == -1)
    doubt = view.doubt[waiting].astype(np.float64)
    sure = doubt <= SURE
    measured = [check.wrong for check in checks if check.blind]
    others = [check for check in checks if not check.blind and check.doubt > SURE]
    factor = (_OWN_ERRORS + sum(c.wrong for c in others)) / (_OWN_ERRORS + sum(c.doubt for c in others))
    claimed = float(doubt[sure].mean()) if sure.any() else 0.0
    rate = (_OWN_WEIGHT * claimed + sum(measured)) / (_OWN_WEIGHT + len(measured))
    wrong = float(np.minimum(1.0, factor * doubt[~sure]).sum()) + rate * int(sure.sum())
    return ErrorEstimate(wrong, len(doubt), len(measured), sum(measured))


def _named(view: PoolView) -> Array:
    """(C,) the classes that some answer named."""
    named = np.zeros(len(view.targets), dtype=bool)
    named[view.answers[view.answers >= 0]] = True
    return named


def _cluster_errors(view: PoolView, open_rows: Array) -> tuple[Array, Array, Array]:
    """(C,) expected errors of the clusters that wait for an answer, -1 for others; sizes; whose name is taken."""
    n_classes, labels = len(view.targets), view.labels
    found = open_rows[labels[open_rows] >= 0]
    sizes = np.bincount(labels[found], minlength=n_classes)
    errors: Array = np.bincount(labels[found], view.doubt[found], minlength=n_classes)
    answered = np.flatnonzero(view.asked & (view.answers != -1) & (labels >= 0))
    inside = np.bincount(labels[answered], minlength=n_classes)
    passed = np.flatnonzero(view.skipped & (labels >= 0))
    skips = np.bincount(labels[passed], minlength=n_classes)
    taken = _named(view) & (inside == 0)
    errors = np.where(taken, np.maximum(errors, _NAME_TAKEN * sizes), errors) / (1 + skips)
    waits = view.targets & (sizes > 0) & (inside == 0) & (skips < _MOST_SKIPS)
    return np.where(waits, errors, -1.0), sizes, taken


def _cluster_question(view: PoolView, open_rows: Array) -> Question | None:
    errors, sizes, taken = _cluster_errors(view, open_rows)
    chosen = int(errors.argmax())
    if errors[chosen] < 0:
        return None
    own = open_rows[view.labels[open_rows] == chosen]
    first = own[np.argsort(view.doubt[own], kind="stable")[:SHOWN]].tolist()
    return Question(CLUSTER, first[0], first[1:], int(sizes[chosen]), float(errors[chosen]), bool(taken[chosen]))


def _doubtful_question(view: PoolView, open_rows: Array) -> Question:
    row = int(open_rows[view.doubt[open_rows].argmax()])
    return Question(DOUBTFUL, row, [], 1, float(view.doubt[row]))


def _blind_question(view: PoolView, open_rows: Array, generator: np.random.Generator) -> Question:
    doubt = view.doubt[open_rows]
    sure = open_rows[doubt <= max(SURE, float(np.quantile(doubt, 0.1)))]
    row = int(generator.choice(sure))
    return Question(BLIND, row, [], 1, float(view.doubt[row]))
