"""MEND: what a fit that rests shows to be wrong, put right by further fits; the objective is that of the last.

Names: clusters that describe each other's class swap names (:mod:`superproto.solver.naming`). Cuts: one cluster holds
two classes while another class is cut in two; a step of one sample's label never leaves that. So the two clusters that
lose least are made one, the one that gains most is cut in two, the names are found again, and the fit goes on from
there. New names are kept if the objective is lower, new cuts if it is by a share of what an average class has.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from superproto.division import looked_at
from superproto.rows import Array
from superproto.solver.formulations import State
from superproto.solver.loop import Outcome
from superproto.solver.naming import best_names, likeness, relations
from superproto.solver.parts import halves
from superproto.solver.soft import Spherical
from superproto.solver.spherical import normalized

if TYPE_CHECKING:
    from superproto.assembly import Assembly

Fit = Callable[[State], Outcome]
# Set on validation classes of the four packs (docs/decisions.md, 23).
LEAST_GAIN, LEAST_PROSPECT = 0.05, 0.025
ENOUGH = 0.9
TRIALS = 8
# What the cluster that its few labels lie in is worth to a class's name, beside descriptions: they hardly count then.
LABEL_COUNTS = 10.0
# Names of more classes are left as they are: their table would not fit.
MOST_CLASSES = 3000


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


def mended(assembly: Assembly, outcome: Outcome, fit: Fit) -> Outcome:
    """The outcome after the moves that pay; ``fit`` goes on from a state."""
    movable = _movable(assembly)
    if len(movable) < 2 or assembly.presence.evenness < 1 or assembly.evidence.share < ENOUGH:
        return outcome
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
    """Candidates that were not seen, where descriptions and seen classes tell names; none otherwise.

    Nor where the objective cannot tell: it leaves the pool out (alpha or rho is 0), or regresses onto pseudo-labels.
    """
    problem, model = assembly.problem, assembly.model
    told = assembly.is_soft and assembly.pool is not None and problem.described and problem.seen.sum() >= 2
    if not told or assembly.choices.discriminative > 0 or problem.n_classes > MOST_CLASSES:
        return np.zeros(0, dtype=np.int64)
    assert isinstance(model, Spherical)
    if model.score_weight == 0:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(problem.allowed & ~problem.seen)


def _named(assembly: Assembly, outcome: Outcome, movable: Array, fit: Fit) -> Outcome:
    """The same clusters under the likeliest names, fitted on; itself if the objective is not lower with them."""
    sums = outcome.state.sums[movable]
    names = _names(assembly, sums, movable, [])
    if np.array_equal(names, np.arange(len(names))):
        return outcome
    renamed = fit(_moved(assembly, outcome, movable, sums[names]))
    return renamed if _gain(assembly, outcome, renamed) > 0 else outcome


def _tried(assembly: Assembly, outcome: Outcome, move: _Move, movable: Array, fit: Fit) -> Outcome:
    """The outcome of a move under the likeliest names."""
    sums = move.after()
    names = _names(assembly, sums, movable, move.changed)
    moved = fit(_moved(assembly, outcome, movable, sums[names]))
    return _named(assembly, moved, movable, fit)


def _moved(assembly: Assembly, outcome: Outcome, movable: Array, sums: Array) -> State:
    """The first state, with prototypes where clusters with these sums have them."""
    P = outcome.state.P.copy()
    P[movable] = normalized(sums, P[movable])
    return assembly.start._replace(P=P)


def _names(assembly: Assembly, sums: Array, movable: Array, changed: list[int]) -> Array:
    """(n,) which of the clusters is each movable class; those that changed may begin under each other's names."""
    seen, A = assembly.problem.seen, assembly.A
    known = normalized(assembly.sums[seen], assembly.sums[seen])
    found = normalized(sums, assembly.predicted[movable])
    W = likeness(known, found, relations(A[seen], assembly.ridge))
    starts = [np.arange(len(movable)) for _ in permutations(changed)]
    for names, order in zip(starts, permutations(changed)):
        names[changed] = order
    labels = assembly.sums[movable] / np.maximum(assembly.counts[movable, None], 1.0)
    told = -LABEL_COUNTS * (labels @ found.T) / assembly.compactness
    return best_names(relations(np.concatenate([A[seen], A[movable]]), assembly.ridge), W, told, starts)


def _moves(assembly: Assembly, outcome: Outcome, movable: Array) -> list[_Move]:
    """The best of each cluster that may be cut, those first that gain most; looked for in a part of a large pool."""
    assert assembly.pool is not None
    index = looked_at(assembly.pool)
    rows, labels = assembly.pool.some(index).materialize().astype(np.float64), outcome.state.labels[index]
    members = [rows[labels == j] for j in movable]
    sums = np.array([own.sum(axis=0) for own in members])
    lengths = np.linalg.norm(sums, axis=1)
    loss = lengths[:, None] + lengths - np.sqrt(np.maximum(lengths[:, None] ** 2 + lengths**2 + 2 * sums @ sums.T, 0.0))
    loss[np.tril_indices(len(loss))] = np.inf
    least = LEAST_PROSPECT * assembly.evidence.expected * len(index) / assembly.pool.n
    found = []
    for c, own in enumerate(members):
        if len(own) < 4:
            continue
        inside = halves(own)
        parts = np.array([own[inside].sum(axis=0), own[~inside].sum(axis=0)])
        others = loss.copy()
        others[c], others[:, c] = np.inf, np.inf
        a, b = np.unravel_index(others.argmin(), loss.shape)
        gain = float(np.linalg.norm(parts, axis=1).sum() - lengths[c] - others[a, b])
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
