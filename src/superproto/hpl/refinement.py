"""MEND: what the end of a fit shows to be wrong, put right by further fits; the objective is that of the last one kept.

Names: clusters that describe each other's class swap names (:mod:`superproto.hpl.cluster_matching`). Cuts: one
cluster holds two classes while another class is cut in two; a step of one sample's label never leaves that. So the two clusters that
lose least are made one, the one that gains most is cut in two, the names are found again, and the fit goes on from
there. New names are kept if the objective is lower, new cuts if it is by a share of what an average class has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from superproto.hpl.cluster_matching import best_matching, likeness, relations
from superproto.hpl.objective.formulations import State
from superproto.hpl.objective.sphere import Spherical, normalized
from superproto.hpl.several_prototypes import halves, rows_to_inspect
from superproto.hpl.solver import Outcome
from superproto.samples.chunks import Array
from superproto.samples.kernels import sums_by_class

if TYPE_CHECKING:
    from superproto.hpl.assembly import Assembly

Refit = Callable[[State], Outcome]
# Set on validation classes of the four packs (docs/decisions.md, 23).
LEAST_GAIN, LEAST_PROSPECT = 0.05, 0.025
ENOUGH = 0.9
TRIALS = 3
# What descriptions leave unexplained is not to be learned from a handful of classes.
LEAST_SEEN = 15
# What the cluster that its few labels lie in is worth to a class's name, beside descriptions: they hardly count then.
LABEL_COUNTS = 10.0
# Names of more classes take longer than the fit.
MOST_CLASSES = 1000


class _Move(NamedTuple):
    """Clusters ``changed`` = a, b, c with sums (n, d): a and b are joined, c is cut into ``parts`` (2, d).

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


def refine(assembly: Assembly, outcome: Outcome, fit: Refit) -> Outcome:
    """The outcome after the moves that pay; ``fit`` goes on from a state, at most 2 + 2 TRIALS times."""
    movable = _movable(assembly)
    if len(movable) < 2 or not (_misnamed(assembly, outcome, movable) or _moves(assembly, outcome, movable)):
        return outcome
    # A second fit from the same clusters may gain as well: what is new has to do better than that.
    again = fit(_moved_clusters(assembly, outcome, movable, outcome.state.sums[movable]))
    outcome = again if _gain(assembly, outcome, again) > 0 else outcome
    outcome = _named(assembly, outcome, movable, fit)
    moves = _moves(assembly, outcome, movable)
    for _ in range(TRIALS):
        if not moves:
            break
        trial = _tried(assembly, outcome, moves.pop(0), movable, fit)
        if _gain(assembly, outcome, trial) > LEAST_GAIN:
            outcome, moves = trial, _moves(assembly, trial, movable)
    return outcome


def _movable(assembly: Assembly) -> Array:
    """Unseen candidates, where descriptions and enough seen classes tell names and all candidates seem to be there.

    None where seen classes are candidates too: which unseen ones are there is not known then. Nor where the objective
    cannot tell: it leaves the pool out (alpha or rho is 0), or regresses onto pseudo-labels.
    """
    problem, model = assembly.problem, assembly.model
    told = problem.described and problem.seen.sum() >= LEAST_SEEN and not (problem.seen & problem.allowed).any()
    pooled = assembly.pool is not None and assembly.presence.evenness == 1 and assembly.evidence.share >= ENOUGH
    judged = isinstance(model, Spherical) and assembly.is_soft and model.score_weight > 0
    if not (told and pooled and judged) or assembly.choices.discriminative > 0 or problem.n_classes > MOST_CLASSES:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(problem.allowed)


def _misnamed(assembly: Assembly, outcome: Outcome, movable: Array) -> bool:
    return bool((_names(assembly, outcome.state.sums[movable], movable, []) != np.arange(len(movable))).any())


def _named(assembly: Assembly, outcome: Outcome, movable: Array, fit: Refit) -> Outcome:
    """The same clusters under the likeliest names, fitted on; itself if the objective is not lower with them."""
    sums = outcome.state.sums[movable]
    names = _names(assembly, sums, movable, [])
    if np.array_equal(names, np.arange(len(names))):
        return outcome
    renamed = fit(_moved_clusters(assembly, outcome, movable, sums[names]))
    return renamed if _gain(assembly, outcome, renamed) > 0 else outcome


def _tried(assembly: Assembly, outcome: Outcome, move: _Move, movable: Array, fit: Refit) -> Outcome:
    """The outcome of a move under the likeliest names."""
    sums = move.after()
    names = _names(assembly, sums, movable, move.changed)
    moved = fit(_moved_clusters(assembly, outcome, movable, sums[names]))
    return _named(assembly, moved, movable, fit)


def _moved_clusters(assembly: Assembly, outcome: Outcome, movable: Array, sums: Array) -> State:
    """A first state with prototypes where clusters with these sums have them; predicted ones for those without."""
    P = outcome.state.P.copy()
    P[movable] = normalized(sums, assembly.predicted[movable])
    return assembly.fresh._replace(P=P)


def _names(assembly: Assembly, sums: Array, movable: Array, changed: list[int]) -> Array:
    """(n,) which of the clusters is each movable class; those that changed may begin under each other's names."""
    seen, A = assembly.problem.seen, assembly.A
    found = normalized(sums, assembly.predicted[movable])
    W = likeness(assembly.seen_prototypes, found, relations(A[seen], assembly.ridge))
    starts = []
    for order in permutations(changed):
        starts.append(np.arange(len(movable)))
        starts[-1][changed] = order
    labels = assembly.sums[movable] / np.maximum(assembly.counts[movable, None], 1.0)
    told = -LABEL_COUNTS * (labels @ found.T) / assembly.compactness
    return best_matching(relations(np.concatenate([A[seen], A[movable]]), assembly.ridge), W, told, starts)


def _moves(assembly: Assembly, outcome: Outcome, movable: Array) -> list[_Move]:
    """Each cluster that may be cut, with the two others that lose least, those first that gain most.

    Looked for in a part of a large pool.
    """
    assert assembly.pool is not None
    index = rows_to_inspect(assembly.pool)
    rows, labels = assembly.pool.some(index).materialize().astype(np.float64), outcome.state.labels[index]
    members = [rows[labels == j] for j in movable]
    sums = np.array([own.sum(axis=0) for own in members])
    lengths = np.linalg.norm(sums, axis=1)
    loss = lengths[:, None] + lengths - np.sqrt(np.maximum(lengths[:, None] ** 2 + lengths**2 + 2 * sums @ sums.T, 0.0))
    loss[np.tril_indices(len(loss))] = np.inf
    best = np.unravel_index(loss.argmin(), loss.shape)
    least = LEAST_PROSPECT * assembly.evidence.expected * len(index) / assembly.pool.n
    found = []
    for c, own in enumerate(members):
        if len(own) < 4:
            continue
        inside = halves(own)
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
            found.append(_Move(gain, [int(a), int(b), c], sums, parts))
    return sorted(found, key=lambda move: -move.gain)


def _gain(assembly: Assembly, before: Outcome, after: Outcome) -> float:
    """How much lower the objective is, in units of an average class's evidence; sizes held alike, own votes counted."""
    model = assembly.model
    assert isinstance(model, Spherical)
    hold = before.state.hold
    lower = model.plain_objective(before.state, hold) - model.plain_objective(after.state, hold)
    return lower / (model.score_weight * assembly.evidence.expected)


# In lengths of a seen class's mean; set on validation classes (docs/decisions.md, 25).
DOUBTFUL, APART = 0.1, 0.0
RELEASE_ROUNDS = 3
# A single one is found now and then in a full pool too.
LEAST_DOUBTFUL = 2


def release_absent_classes(assembly: Assembly, outcome: Outcome, fit: Callable[[State], Outcome]) -> Outcome:
    """The outcome of a fit that insists on no candidate that seems to be missing; ``fit`` goes on from a state."""
    model, candidates = assembly.model, _candidates(assembly)
    doubtful, away = np.zeros_like(candidates), np.zeros_like(candidates)
    if not candidates.any() or not isinstance(model, Spherical):
        return outcome
    for _ in range(RELEASE_ROUNDS):
        alike = _coherence_of_pool(assembly, outcome.state)
        sent = away | (doubtful & (alike < APART))
        doubted = doubtful | (candidates & (alike < DOUBTFUL))
        unchanged = np.array_equal(sent, away) and np.array_equal(doubted, doubtful)
        if unchanged or doubted.sum() < LEAST_DOUBTFUL or (candidates & ~doubted).sum() < 2:
            break
        doubtful, away = doubted, sent
        assembly.model = _doubting(model, doubtful, away)
        outcome = fit(_moved_to_descriptions(assembly, outcome.state, doubtful))
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
    index = rows_to_inspect(assembly.pool)
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


def _moved_to_descriptions(assembly: Assembly, state: State, doubtful: Array) -> State:
    """A first state: doubtful classes where their descriptions are, the others where they were found."""
    return assembly.fresh._replace(P=np.where(doubtful[:, None], assembly.predicted, state.P))
