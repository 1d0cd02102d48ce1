"""Uncertainty: how far labels can be trusted, from labeled samples, descriptions and unlabeled samples.

Two things go wrong. A sample lies between prototypes: how often that happens is learned from labeled samples, each
taken out of its class. And a whole cluster is matched to the wrong class: how well the clusters fit their own
descriptions, against all the others, is measured in units in which seen classes fit theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, softmax

from superproto.estimator.calibration import likeliest_sharpness
from superproto.hpl.fit_data import FitData
from superproto.hpl.forecast import LeftOutFits
from superproto.hpl.generalized import CALIBRATION_ROWS, leave_out
from superproto.hpl.objective.sphere import normalized
from superproto.hpl.objective.state import State
from superproto.hpl.seen_classes import SeenClasses
from superproto.hpl.texts import TextFit
from superproto.samples.chunks import Array
from superproto.samples.whitened import WhitenedSamples

MATCHING_ROUNDS = 100
SMALLEST_CONFIDENCE = 1e-3
# A single number is learned from them.
UNCERTAINTY_ROWS = 1000
ScoreFunction = Callable[[WhitenedSamples], Array]


class Uncertainty(NamedTuple):
    """The inverse temperature of probabilities; (C,) the chance that a class's samples are another class's.

    ``labeled`` is the inverse temperature that is the likeliest on labeled samples, before it is calibrated.
    """

    sharpness: float
    by_class: Array
    labeled: float

    def in_order(self, order: Array) -> Uncertainty:
        """For classes that were numbered in this order for the fit."""
        return self._replace(by_class=self.by_class[np.argsort(order)])


def measure_uncertainty(
    data: FitData, seen: SeenClasses, state: State, score: ScoreFunction, trust: Trust
) -> Uncertainty | None:
    """Of a fit's last state; ``score`` gives samples their (N, C) scores. None where the assignment is hard.

    ``trust`` says how confident labels should be on average.
    """
    if seen.temperature == 0:
        return None
    empty = _without_samples(data, state)
    by_class = np.where(empty & (data.pool is not None), 1.0, 0.0)
    if len(seen.prototypes) < 2:
        sharpness = _sharpness_of_found(data, state, seen.temperature, score)
        return Uncertainty(_calibrated(data, sharpness, by_class, trust, score), by_class, sharpness)
    rows = leave_out(data, seen.prototypes, UNCERTAINTY_ROWS)
    scores = rows.scores()
    sharpness = likeliest_sharpness(scores, scores[np.arange(len(scores)), rows.labeled.classes])
    if data.pool is None:
        # Without clusters, texts alone decide; the temperature is that of their votes.
        sharpness = sharpness if seen.votes is None else 1 / seen.temperature
        return Uncertainty(sharpness, by_class, sharpness)
    by_class = _uncertainty_of_matching(data, seen, state, empty)
    return Uncertainty(_calibrated(data, sharpness, by_class, trust, score), by_class, sharpness)


class Trust(NamedTuple):
    """How confident the labels should be on average: the model's own confidence times ``ratio``.

    Where an ``accuracy`` is to be expected, it is the geometric mean of both: the first knows the pool, the second the
    truth.
    """

    ratio: float = 1.0
    accuracy: float | None = None

    def of(self, confidence: float) -> float:
        """The mean confidence that is due."""
        due = self.ratio * confidence
        return float(min(1.0, due if self.accuracy is None else np.sqrt(due * self.accuracy)))


def trust_in_labels(left_out: LeftOutFits | None, texts: TextFit | None) -> Trust:
    """With texts alone, their stability; else what fits with left-out classes had."""
    if texts is not None:
        return Trust(texts.stability)
    if left_out is None:
        return Trust()
    return Trust(left_out.correct / max(left_out.confidence, SMALLEST_CONFIDENCE), left_out.among_all(left_out.correct))


def matching(fit: Array) -> Array:
    """R (n, n) with rows and columns that sum to 1, R_jk ~ u_j exp(fit_jk) v_k: who is whose, when each has one."""
    logs = np.array(fit, dtype=np.float64)
    for _ in range(MATCHING_ROUNDS):
        logs -= logsumexp(logs, axis=0, keepdims=True)
        logs -= logsumexp(logs, axis=1, keepdims=True)
    return np.asarray(np.exp(logs))


def choose_informative(clusters: Array, doubt: Array, n: int) -> Array:
    """(n,) which samples to label: each time the surest one left in the cluster with the most expected errors.

    A cluster's expected errors count sum_i doubt_i / (1 + labels already asked for in it).
    """
    order = np.lexsort((doubt, clusters))
    starts = np.searchsorted(clusters[order], np.arange(clusters.max(initial=-1) + 1))
    errors = np.bincount(clusters, doubt)
    sizes, asked, chosen = np.bincount(clusters), np.zeros(len(starts), dtype=np.int64), []
    for _ in range(n):
        j = int(np.argmax(np.where(asked < sizes, errors / (1 + asked), -1.0)))
        chosen.append(order[starts[j] + asked[j]])
        asked[j] += 1
    return np.array(chosen, dtype=np.int64)


def _sharpness_of_found(data: FitData, state: State, temperature: float, score: ScoreFunction) -> float:
    """For want of labels: the likeliest on what samples are found to be, each without its self-influence.

    Never sharper than the assignment was. It cannot know of clusters that are matched to the wrong class.
    """
    pool, columns = data.pool, data.candidates
    if pool is None or len(columns) < 2:
        return 1 / temperature
    scores = np.asarray(score(pool.some(pool.spread(UNCERTAINTY_ROWS))), dtype=np.float64)[:, columns]
    rows, found = np.arange(len(scores)), scores.argmax(axis=1)
    scores[rows, found] -= state.continuation.self_influence[columns][found]
    return min(1 / temperature, likeliest_sharpness(scores, scores[rows, found]))


def _uncertainty_of_matching(data: FitData, seen: SeenClasses, state: State, empty: Array) -> Array:
    """(C,) 1 - R_jj of the clusters' own means against what the codes expect; 1 for an unseen class without samples."""
    doubt = np.where(empty, 1.0, 0.0)
    there = data.allowed & ~data.seen & ~empty
    if not there.any() or not data.described:
        return doubt
    found = data.sums + state.sums
    fit = seen.prototypes @ seen.left_out.T
    sharpness = likeliest_sharpness(fit, np.diag(fit))
    expected = state.Z[there] @ state.D_v
    cosines = normalized(found[there], expected) @ normalized(expected, expected).T
    doubt[there] = 1 - np.diag(matching(sharpness * cosines))
    return np.clip(doubt, 0.0, 1.0)


def _without_samples(data: FitData, state: State) -> Array:
    """(C,) unseen candidates for which there is hardly a sample."""
    return np.asarray(data.allowed & ~data.seen & (state.masses + data.counts < 0.5))


def _calibrated(data: FitData, sharpness: float, by_class: Array, trust: Trust, score: ScoreFunction) -> float:
    """The inverse temperature at which the mean confidence is due: that of samples times that of their classes.

    One number for all rows, so that the likeliest class stays the label.
    """
    pool, columns = data.pool, data.candidates
    if pool is None:
        return sharpness
    some = pool.some(pool.spread(CALIBRATION_ROWS))
    scores = np.asarray(score(some), dtype=np.float64)[:, columns]
    certain = 1 - by_class[columns][scores.argmax(axis=1)]

    def confidence(sharp: float) -> Array:
        return np.asarray(softmax(sharp * scores, axis=1).max(axis=1))

    # So many labels cannot show that fewer are wrong.
    due = min(trust.of(float((confidence(sharpness) * certain).mean())), 1 - 1 / (len(scores) + 2))
    least = 1e-3 * sharpness
    most = 10 * sharpness
    if len(columns) < 2 or float(confidence(most).mean()) <= due:
        return most if len(columns) > 1 else sharpness
    if due <= float(confidence(least).mean()):
        return least
    return float(brentq(lambda sharp: float(confidence(sharp).mean()) - due, least, most, rtol=1e-6))
