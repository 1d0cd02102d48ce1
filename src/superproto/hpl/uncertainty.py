"""DOUBT: how far labels can be trusted, from the labeled rows, the descriptions and the pool; no label of it is known.

Two things go wrong. A sample lies between prototypes: how often that happens is learned from labeled rows, each taken
out of its class. And a whole cluster carries the wrong name: how well the clusters fit their own descriptions, against
all the others, is measured in units in which seen classes fit theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, softmax

from superproto.estimator.calibration import likeliest_sharpness
from superproto.hpl.generalized import CALIBRATION_ROWS, left_out
from superproto.hpl.objective.formulations import State
from superproto.hpl.objective.sphere import normalized
from superproto.samples.chunks import Array
from superproto.samples.whitened import WhitenedSamples, evenly_spread_rows

if TYPE_CHECKING:
    from superproto.hpl.assembly import Assembly

MATCHING_ROUNDS = 100
# A single number is learned from them.
UNCERTAINTY_ROWS = 1000


class Uncertainty(NamedTuple):
    """The inverse temperature of probabilities; (C,) the chance that a class's samples are another class's."""

    sharpness: float
    by_class: Array


def matching(fit: Array) -> Array:
    """R (n, n) with rows and columns that sum to 1, R_jk ~ u_j exp(fit_jk) v_k: who is whose, when each has one."""
    logs = np.array(fit, dtype=np.float64)
    for _ in range(MATCHING_ROUNDS):
        logs -= logsumexp(logs, axis=0, keepdims=True)
        logs -= logsumexp(logs, axis=1, keepdims=True)
    return np.asarray(np.exp(logs))


def measure_uncertainty(assembly: Assembly, state: State, score: Callable[[WhitenedSamples], Array]) -> Uncertainty:
    """Of a fit's last state; ``score`` gives samples their (N, C) scores."""
    seen, empty = assembly.problem.seen, _without_samples(assembly, state)
    by_class = np.where(empty & (assembly.pool is not None), 1.0, 0.0)
    if seen.sum() < 2:
        return Uncertainty(_sharpness_of_found(assembly, state, score), by_class)
    rows = left_out(assembly, UNCERTAINTY_ROWS)
    scores = rows.scores()
    sharpness = likeliest_sharpness(scores, scores[np.arange(len(scores)), rows.labeled.classes])
    if assembly.pool is None:
        return Uncertainty(sharpness, by_class)
    by_class = _doubt_of_names(assembly, state)
    return Uncertainty(_blunted(assembly, sharpness, by_class, score), by_class)


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


def _sharpness_of_found(assembly: Assembly, state: State, score: Callable[[WhitenedSamples], Array]) -> float:
    """For want of labels: the likeliest on what the pool's samples are found to be, each without its own vote.

    Never sharper than the assignment was. It cannot know of clusters with wrong names.
    """
    pool, columns = assembly.pool, np.flatnonzero(assembly.problem.allowed)
    if pool is None or len(columns) < 2:
        return 1 / assembly.temperature
    scores = np.asarray(score(pool.some(evenly_spread_rows(pool.n, UNCERTAINTY_ROWS))), dtype=np.float64)[:, columns]
    rows, found = np.arange(len(scores)), scores.argmax(axis=1)
    scores[rows, found] -= state.own[columns][found]
    return min(1 / assembly.temperature, likeliest_sharpness(scores, scores[rows, found]))


def _doubt_of_names(assembly: Assembly, state: State) -> Array:
    """(C,) 1 - R_jj of the clusters' own means against what the codes expect; 1 for an unseen class without samples."""
    problem, empty = assembly.problem, _without_samples(assembly, state)
    doubt = np.where(empty, 1.0, 0.0)
    there = problem.allowed & ~problem.seen & ~empty
    if not there.any() or not problem.described:
        return doubt
    found = assembly.sums + state.sums
    fit = assembly.seen_prototypes @ assembly.predicted_left_out.T
    sharpness = likeliest_sharpness(fit, np.diag(fit))
    expected = state.Z[there] @ state.D_v
    cosines = normalized(found[there], expected) @ normalized(expected, expected).T
    doubt[there] = 1 - np.diag(matching(sharpness * cosines))
    return np.clip(doubt, 0.0, 1.0)


def _without_samples(assembly: Assembly, state: State) -> Array:
    """(C,) unseen candidates for which there is hardly a sample."""
    problem = assembly.problem
    return np.asarray(problem.allowed & ~problem.seen & (state.masses + assembly.counts < 0.5))


def _blunted(assembly: Assembly, sharpness: float, by_class: Array, score: Callable[[WhitenedSamples], Array]) -> float:
    """The sharpness at which the pool's mean confidence is what it should be: that of a sample times that of its name.

    One number for all rows, so that the likeliest class stays the label.
    """
    assert assembly.pool is not None
    columns = np.flatnonzero(assembly.problem.allowed)
    some = assembly.pool.some(evenly_spread_rows(assembly.pool.n, CALIBRATION_ROWS))
    scores = np.asarray(score(some), dtype=np.float64)[:, columns]
    trust = 1 - by_class[columns][scores.argmax(axis=1)]

    def confidence(sharp: float) -> Array:
        return np.asarray(softmax(sharp * scores, axis=1).max(axis=1))

    due = float((confidence(sharpness) * trust).mean())
    least = 1e-3 * sharpness
    if len(columns) < 2 or due >= float(confidence(sharpness).mean()):
        return sharpness
    if due <= float(confidence(least).mean()):
        return least
    return float(brentq(lambda sharp: float(confidence(sharp).mean()) - due, least, sharpness, rtol=1e-6))
