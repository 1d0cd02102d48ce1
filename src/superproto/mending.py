"""MEND: what the end of a fit shows to be wrong, put right by further fits; the objective is that of the last one kept.

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


def mended(assembly: Assembly, outcome: Outcome, fit: Fit) -> Outcome:
    """The outcome after the moves that pay; ``fit`` goes on from a state, at most 2 + 2 TRIALS times."""
    movable = _movable(assembly)
    if len(movable) < 2 or not (_misnamed(assembly, outcome, movable) or _moves(assembly, outcome, movable)):
        return outcome
    # A second fit from the same clusters may gain as well: what is new has to do better than that.
    again = fit(_moved(assembly, outcome, movable, outcome.state.sums[movable]))
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
    return best_names(relations(np.concatenate([A[seen], A[movable]]), assembly.ridge), W, told, starts)


def _moves(assembly: Assembly, outcome: Outcome, movable: Array) -> list[_Move]:
    """Each cluster that may be cut, with the two others that lose least, those first that gain most.

    Looked for in a part of a large pool.
    """
    assert assembly.pool is not None
    index = looked_at(assembly.pool)
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
