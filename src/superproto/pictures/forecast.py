"""FIT: the accuracy to expect on classes without examples: seen classes are left out and labeled as if unseen."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from superproto.hpl.estimator import HPL
from superproto.metrics import per_class_accuracy
from superproto.samples.chunks import Array

_FOLDS = 3
_FEWEST_SEEN = 6
_POOL_OF_SEEN = 0.25


class AccuracyForecast(NamedTuple):
    """Per-class accuracy on left-out classes, what guessing gives, and how many classes were left out at a time."""

    accuracy: float
    chance: float
    n_left_out: int


def forecast_accuracy(
    X: Array, labels: Array, semantics: Array, *, n_unseen: int, candidates: str
) -> AccuracyForecast | None:
    """The mean over three draws of left-out classes; None where fewer than six classes are seen.

    labels : (N,) row of `semantics`, or -1; only labeled rows are used. With candidates "all" the pool of a draw also
    holds a quarter of each remaining class, and every class may be answered.
    """
    known = np.flatnonzero(labels >= 0)
    seen = np.unique(labels[known])
    n_left_out = min(n_unseen, len(seen) // 3)
    if len(seen) < _FEWEST_SEEN or n_left_out < 2:
        return None
    generator = np.random.default_rng(0)
    scores = [
        _score(
            X[known], labels[known], semantics, seen, generator.permutation(seen)[:n_left_out], candidates, generator
        )
        for _ in range(_FOLDS)
    ]
    possible = len(seen) if candidates == "all" else n_left_out
    return AccuracyForecast(float(np.mean(scores)), 1 / possible, n_left_out)


def _score(
    X: Array,
    labels: Array,
    semantics: Array,
    seen: Array,
    left_out: Array,
    candidates: str,
    generator: np.random.Generator,
) -> float:
    asked = np.isin(labels, left_out)
    if candidates == "all":
        asked = asked | (generator.random(len(labels)) < _POOL_OF_SEEN)
    rows = np.searchsorted(seen, labels)
    y = np.where(asked, -1, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HPL(candidates=candidates, random_state=0).fit(X, y, semantics=semantics[seen])
    judged = np.isin(labels, left_out)
    return float(per_class_accuracy(rows[judged], model.transduction_[judged]))
