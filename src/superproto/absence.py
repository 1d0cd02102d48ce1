"""MEND, candidates that are not there: what a fit shows of them, and a fit that does not insist on them.

A prior gives every candidate its share of the pool, also one that is not there: it then holds a piece of another class.
Such a piece tells itself: its samples are hardly more like each other than they are like the samples of another
cluster. In full pools hardly a class is found so. What is doubtful is no longer promised a share of the pool. Where
samples are even more like those of another cluster, after that, the class goes back to its description: it may still
win samples, but they do not move it. The fit goes on from there, and the objective is that of the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from superproto.division import looked_at
from superproto.mending import ENOUGH, LEAST_SEEN
from superproto.passes import sums_by_class
from superproto.rows import Array
from superproto.solver.formulations import State
from superproto.solver.loop import Outcome
from superproto.solver.soft import Spherical

if TYPE_CHECKING:
    from superproto.assembly import Assembly

# In lengths of a seen class's mean; set on validation classes (docs/decisions.md, 25).
DOUBTFUL, APART = 0.1, 0.0
ROUNDS = 3
# A single one is found now and then in a full pool too.
LEAST_DOUBTFUL = 2


def without_absent(assembly: Assembly, outcome: Outcome, fit: Callable[[State], Outcome]) -> Outcome:
    """The outcome of a fit that insists on no candidate that seems to be missing; ``fit`` goes on from a state."""
    model, candidates = assembly.model, _candidates(assembly)
    doubtful, away = np.zeros_like(candidates), np.zeros_like(candidates)
    if not candidates.any() or not isinstance(model, Spherical):
        return outcome
    for _ in range(ROUNDS):
        alike = _coherence_of_pool(assembly, outcome.state)
        sent = away | (doubtful & (alike < APART))
        doubted = doubtful | (candidates & (alike < DOUBTFUL))
        unchanged = np.array_equal(sent, away) and np.array_equal(doubted, doubtful)
        if unchanged or doubted.sum() < LEAST_DOUBTFUL or (candidates & ~doubted).sum() < 2:
            break
        doubtful, away = doubted, sent
        assembly.model = _doubting(model, doubtful, away)
        outcome = fit(_moved(assembly, outcome.state, doubtful))
    return outcome


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


def _candidates(assembly: Assembly) -> Array:
    """(C,) which may be missing: without labels, in a pool that looks even and is large enough to tell.

    With a handful of seen classes nothing was measured, and nothing is done.
    """
    problem, model = assembly.problem, assembly.model
    asked = assembly.is_soft and assembly.pool is not None and problem.described and problem.seen.sum() >= LEAST_SEEN
    if not asked or not isinstance(model, Spherical) or (problem.seen & problem.allowed).any():
        return np.zeros_like(problem.seen)
    insists = model.softness.prior == "two-level" and model.softness.relaxation > 0
    even = assembly.presence.evenness == 1 and assembly.evidence.share >= ENOUGH
    return np.asarray(problem.allowed & (assembly.counts == 0) & (insists and even))


def _coherence_of_pool(assembly: Assembly, state: State) -> Array:
    """(C,) in lengths of a seen class's mean, looked for in a part of a large pool."""
    assert assembly.pool is not None
    index = looked_at(assembly.pool)
    rows = assembly.pool.some(index).materialize().astype(np.float64)
    return coherence(rows, state.labels[index], len(state.P)) / assembly.compactness


def _doubting(model: Spherical, doubtful: Array, away: Array) -> Spherical:
    """The model in which doubtful classes are a level of the prior, whose share is found, and some are held.

    A held class feels no pull and teaches nothing: it is where its description is. Nor has it votes to take back.
    """
    given, soft = model.given, model.softness
    columns = np.flatnonzero(given.allowed)
    kappa = np.where(away, np.finfo(np.float64).tiny, given.kappa)
    return Spherical(
        replace(given, held=given.held | away, kappa=kappa),
        replace(soft, levels=doubtful[columns].astype(np.int64), most_own=np.where(away[columns], 0.0, soft.most_own)),
    )


def _moved(assembly: Assembly, state: State, doubtful: Array) -> State:
    """A first state: doubtful classes where their descriptions are, the others where they were found."""
    return assembly.fresh._replace(P=np.where(doubtful[:, None], assembly.predicted, state.P))
