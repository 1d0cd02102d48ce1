"""Refinement of a converged fit; the objective is that of the last fit that is kept.

Matching: clusters that fit each other's description swap classes (:mod:`superproto.hpl.cluster_matching`). Splitting
and merging: one cluster holds two classes while another class is cut in two; no step of one sample's label leaves that.
So the two clusters that lose least are merged, the one that gains most is split, the clusters are matched again, and
the fit goes on from there. A new matching is kept if the objective is lower, a new division if it is lower by a share
of what an average class contributes.

Absent classes: the prior gives every candidate its share of the samples, also one that is not there: it then holds a
piece of another class, whose samples are hardly more like each other than they are like the samples of another cluster.
Such candidates lose their promised share. Where their samples are even more like those of another cluster after that,
the class goes back to its description: it may still win samples, but they do not move it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from superproto.hpl.cluster_matching import ClusterMatcher, contradicted_labels
from superproto.hpl.constants import Constants
from superproto.hpl.fit_data import FitData
from superproto.hpl.objective.sphere import SphereEncoding, normalized
from superproto.hpl.objective.state import Given, Objective, State
from superproto.hpl.parameters import Parameters
from superproto.hpl.seen_classes import SeenClasses
from superproto.hpl.solver import Outcome
from superproto.hpl.weights import Weights
from superproto.samples.chunks import Array
from superproto.samples.kernels import sums_by_class
from superproto.samples.whitened import WhitenedSamples

Refit = Callable[[Objective, State], Outcome]
TRIALS = 3
# So many bytes of the unlabeled samples, evenly spread, are read to see how clusters lie.
INSPECTED_BYTES = 128 * 2**20
LLOYD_STEPS = 20
# With fewer there is no class to leave out and two others to learn from.
LEAST_SEEN = 3
# Matching more classes takes longer than the fit.
MOST_CLASSES = 1000
RELEASE_ROUNDS = 3
# A single one is found now and then in a full pool too.
LEAST_DOUBTFUL = 2


def refine(
    objective: Objective, outcome: Outcome, data: FitData, seen: SeenClasses, fresh: State,
    evenness: float, weights: Weights, params: Parameters, refit: Refit,
) -> tuple[Objective, Outcome]:  # fmt: skip
    """The objective and outcome after the changes that pay; ``refit`` goes on from a state.

    ``fresh`` is a first state, without an earlier model. Nothing is tried where the objective cannot tell: seen classes
    compete, too few classes are seen, descriptions place classes more than samples do, or the assignment is hard. Nor
    where uneven class sizes are more probable than even ones: then the prior does not tell one division from another.
    """
    encoding = objective.encoding
    if (
        not params.constants.refine
        or data.pool is None
        or not isinstance(encoding, SphereEncoding)
        or encoding.temperature == 0
    ):
        return objective, outcome
    told = data.described and len(seen.prototypes) >= LEAST_SEEN and not data.seen_compete
    if not told or evenness <= 0.5 or weights.sample_share <= 0.5:
        return objective, outcome
    if score_weight(encoding.given) > 0 and params.discriminative == 0 and data.n_classes <= MOST_CLASSES:
        search = ClusterSearch(
            objective, data.pool, data.candidates, seen.predicted[data.candidates], fresh, weights.expected,
            matcher=ClusterMatcher.of(data, seen, params.constants.label_weight), refit=refit,
            constants=params.constants,
            contradicted=partial(contradicted_labels, data, objective),
        )  # fmt: skip
        outcome = search.improve(outcome)
    insists = encoding.estimates_prior and encoding.relaxation > 0
    candidates = data.allowed & (data.counts == 0) & insists
    doubtful = params.constants.doubtful
    return release_absent_classes(objective, outcome, np.asarray(candidates), data.pool, seen, fresh, doubtful, refit)


def rows_to_inspect(pool: WhitenedSamples) -> Array:
    """Rows of the pool, evenly spread, as many as are read to memory to see how clusters lie."""
    return pool.spread(max(1, INSPECTED_BYTES // (8 * pool.dimension)))


def split_in_two(rows: Array) -> Array:
    """(n,) True for one of two parts: 2-means, started at the sign of the longest axis of the rows."""
    away = rows - rows.mean(axis=0)
    step = away[np.abs(away).sum(axis=1).argmax()]
    for _ in range(LLOYD_STEPS):
        step = away.T @ (away @ step)
        step /= max(float(np.linalg.norm(step)), 1e-300)
    inside = away @ step > 0
    for _ in range(LLOYD_STEPS):
        if inside.all() or not inside.any():
            break
        first, second = rows[~inside].mean(axis=0), rows[inside].mean(axis=0)
        moved = 2 * rows @ (second - first) > second @ second - first @ first
        if np.array_equal(moved, inside):
            break
        inside = moved
    return inside


class Move(NamedTuple):
    """Clusters ``changed`` = a, b, c with sums (n, d): a and b are merged, c is split into ``parts`` (2, d).

    ``gain`` is what the lengths of all sums gain together.
    """

    gain: float
    changed: list[int]
    sums: Array
    parts: Array

    def after(self) -> Array:
        """(n, d) the sums after it."""
        sums, (a, b, c) = self.sums.copy(), self.changed
        sums[a], sums[[b, c]] = sums[a] + sums[b], self.parts
        return sums


@dataclass(frozen=True)
class ClusterSearch:
    """Tries other matchings and divisions of the clusters of some ``classes``, and keeps what lowers the objective.

    ``predicted`` (n, d) are prototypes for clusters without samples, ``fresh`` is a first state, ``expected`` the
    effective number of samples of an average class.
    """

    objective: Objective
    pool: WhitenedSamples
    classes: Array
    predicted: Array
    fresh: State
    expected: float
    matcher: ClusterMatcher
    refit: Refit
    constants: Constants
    contradicted: Callable[[State], int] = field(default=lambda state: 0)

    def improve(self, outcome: Outcome) -> Outcome:
        """The outcome after the changes that pay, with at most 2 + 2 TRIALS further fits."""
        if len(self.classes) < 2 or not (self._mismatched(outcome) or self.moves(outcome.state)):
            return outcome
        # A second fit from the same clusters may gain as well: what is new has to do better than that.
        again = self._fit_from(outcome, outcome.state.sums[self.classes])
        outcome = again if self.is_better(again, outcome) else outcome
        outcome = self._rematched(outcome)
        moves = self.moves(outcome.state)
        for _ in range(TRIALS):
            if not moves:
                break
            trial = self._after(outcome, moves.pop(0))
            if self.is_better(trial, outcome, self.constants.least_gain):
                outcome, moves = trial, self.moves(trial.state)
        return outcome

    def is_better(self, after: Outcome, before: Outcome, least: float = 0.0) -> bool:
        """Whether fewer labels are contradicted; or as many, and the objective is lower by more than ``least``."""
        change = self.contradicted(after.state) - self.contradicted(before.state)
        return change < 0 or (change == 0 and self.gain(before, after) > least)

    def gain(self, before: Outcome, after: Outcome) -> float:
        """How much lower the objective is, in units of what an average class contributes.

        The prior is equally strong, and no self-influence is subtracted.
        """
        strength = before.state.continuation.prior_strength
        lower = plain_value(self.objective, before.state, strength) - plain_value(self.objective, after.state, strength)
        return lower / (score_weight(self.objective.given) * self.expected)

    def moves(self, state: State) -> list[Move]:
        """Each cluster that may be split, with the two others that lose least, those first that gain most."""
        index = rows_to_inspect(self.pool)
        rows, labels = self.pool.some(index).materialize().astype(np.float64), state.labels[index]
        return possible_moves(
            rows, labels, self.classes, self.constants.least_prospect * self.expected * len(index) / self.pool.n
        )

    def _mismatched(self, outcome: Outcome) -> bool:
        matched = self.matcher.match(outcome.state.sums[self.classes], [])
        return bool((matched != np.arange(len(self.classes))).any())

    def _rematched(self, outcome: Outcome) -> Outcome:
        """The same clusters under the likeliest matching, fitted on; itself if the objective is not lower with it."""
        sums = outcome.state.sums[self.classes]
        matched = self.matcher.match(sums, [])
        if np.array_equal(matched, np.arange(len(matched))):
            return outcome
        trial = self._fit_from(outcome, sums[matched])
        return trial if self.is_better(trial, outcome) else outcome

    def _after(self, outcome: Outcome, move: Move) -> Outcome:
        """The outcome of a move under the likeliest matching."""
        sums = move.after()
        moved = self._fit_from(outcome, sums[self.matcher.match(sums, move.changed)])
        return self._rematched(moved)

    def _fit_from(self, outcome: Outcome, sums: Array) -> Outcome:
        """A fit from prototypes where clusters with these sums have them; predicted ones for those without."""
        P = outcome.state.P.copy()
        P[self.classes] = normalized(sums, self.predicted)
        return self.refit(self.objective, self.fresh._replace(P=P))


def possible_moves(rows: Array, labels: Array, classes: Array, least: float) -> list[Move]:
    """Moves of the clusters of rows (N, d) with these labels that gain more than ``least``, the best first."""
    members = [rows[labels == j] for j in classes]
    sums = np.array([own.sum(axis=0) for own in members])
    lengths = np.linalg.norm(sums, axis=1)
    loss = lengths[:, None] + lengths - np.sqrt(np.maximum(lengths[:, None] ** 2 + lengths**2 + 2 * sums @ sums.T, 0.0))
    loss[np.tril_indices(len(loss))] = np.inf
    best = np.unravel_index(loss.argmin(), loss.shape)
    found = []
    for c, own in enumerate(members):
        if len(own) < 4:
            continue
        inside = split_in_two(own)
        parts = np.array([own[inside].sum(axis=0), own[~inside].sum(axis=0)])
        a, b = best
        if c in best:
            others = loss.copy()
            others[c], others[:, c] = np.inf, np.inf
            a, b = np.unravel_index(others.argmin(), loss.shape)
            if c in (a, b):
                continue
        gain = float(np.linalg.norm(parts, axis=1).sum() - lengths[c] - loss[a, b])
        if gain > least:
            found.append(Move(gain, [int(a), int(b), c], sums, parts))
    return sorted(found, key=lambda move: -move.gain)


def plain_value(objective: Objective, state: State, prior_strength: float) -> float:
    """The objective at the state's prototypes and codes, with a prior of this strength and all self-influence.

    So states whose prior was relaxed differently on the way compare.
    """
    assert isinstance(objective.encoding, SphereEncoding)
    plain = replace(objective, encoding=replace(objective.encoding.without_continuation(), own=0.0))
    continuation = state.continuation
    bare = state._replace(
        labels=np.zeros(0, dtype=np.int64),
        continuation=continuation._replace(
            prior_strength=prior_strength, self_influence=np.zeros_like(continuation.self_influence)
        ),
    )
    return plain.value(plain.encoding.assign(bare))


def score_weight(given: Given) -> float:
    """The weight of <x, p_j> of an unlabeled sample in the objective."""
    return given.beta * given.gamma / ((1 + given.beta) * (1 + given.lam) * (1 + given.gamma))


def release_absent_classes(
    objective: Objective, outcome: Outcome, candidates: Array, pool: WhitenedSamples, seen: SeenClasses,
    fresh: State, least: float, refit: Refit,
) -> tuple[Objective, Outcome]:  # fmt: skip
    """The objective and outcome of a fit in which candidates (C,) that seem to be absent have no promised share.

    ``least`` is the coherence of a class that is there, in lengths of a seen class's mean.
    """
    first, doubtful, away = objective, np.zeros_like(candidates), np.zeros_like(candidates)
    if not candidates.any():
        return objective, outcome
    index = rows_to_inspect(pool)
    rows = pool.some(index).materialize().astype(np.float64)
    for _ in range(RELEASE_ROUNDS):
        alike = coherence(rows, outcome.state.labels[index], len(candidates)) / seen.compactness
        sent = away | (doubtful & (alike < 0))
        doubted = doubtful | (candidates & (alike < least))
        unchanged = np.array_equal(sent, away) and np.array_equal(doubted, doubtful)
        if unchanged or doubted.sum() < LEAST_DOUBTFUL or (candidates & ~doubted).sum() < 2:
            break
        doubtful, away = doubted, sent
        objective = without_promised_share(first, doubtful, away)
        P = np.where(doubtful[:, None], seen.predicted, outcome.state.P)
        outcome = refit(objective, fresh._replace(P=P))
    return objective, outcome


def without_promised_share(objective: Objective, doubtful: Array, away: Array) -> Objective:
    """The objective in which doubtful classes are a level of the prior, whose share is found, and some are held.

    A held class feels no pull and teaches nothing: it is where its description is. Nor has it self-influence.
    """
    encoding, given = objective.encoding, objective.given
    assert isinstance(encoding, SphereEncoding)
    columns = np.flatnonzero(given.allowed)
    kappa = np.where(away, np.finfo(np.float64).tiny, given.kappa)
    most_own = np.where(away[columns], 0.0, encoding.most_own)
    changed = replace(encoding, levels=doubtful[columns].astype(np.int64), most_own=most_own)
    return replace(objective, encoding=changed).with_given(replace(given, held=given.held | away, kappa=kappa))


def coherence(rows: Array, labels: Array, n_classes: int) -> Array:
    """(n,) how much more a cluster's unit rows are like the others of it than like the next cluster, on average.

    Mean of <x, unit sum of its own, without x> - max over other clusters of <x, unit sum>; -inf below two rows.
    """
    member = np.arange(len(rows))
    counts = np.bincount(labels, minlength=n_classes)
    sums = sums_by_class(rows, labels, np.ones(len(rows)), n_classes)
    lengths = np.linalg.norm(sums, axis=1)
    scores = rows @ sums.T
    own = scores[member, labels] - 1
    rest = np.sqrt(np.maximum(lengths[labels] ** 2 - 2 * own - 1, np.finfo(np.float64).eps))
    scores /= np.maximum(lengths, np.finfo(np.float64).eps)
    scores[:, counts == 0] = -np.inf
    scores[member, labels] = -np.inf
    margin = own / rest - scores.max(axis=1)
    total = np.bincount(labels, np.where(counts[labels] > 1, margin, 0.0), minlength=n_classes)
    return np.where(counts > 1, total / np.maximum(counts, 1), -np.inf)
