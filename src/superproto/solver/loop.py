"""Algorithm 1: the unseen part, then the seen part, until the super-prototypes rest; then the unseen part once more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from superproto.rows import Array
from superproto.solver.formulations import Formulation, State

INNER_TOLERANCE = 1e-6
DICTIONARY_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Schedule:
    """How long and in which order: the paper's ``maxIter``, epsilon, part order and alternation."""

    max_iter: int
    tol: float
    unseen_first: bool
    alternate: bool
    inner_iter: int
    dictionary_sweeps: int


class Sweep(NamedTuple):
    """What a callback is told after each outer iteration."""

    iteration: int
    objective: float
    labels_changed: int
    state: State


class Outcome(NamedTuple):
    """The final state, the objective after each outer iteration, whether it came to rest."""

    state: State
    objective: list[float]
    converged: bool
    revived: int


def minimize(
    model: Formulation, state: State, schedule: Schedule, callback: Callable[[Sweep], None] | None = None
) -> Outcome:
    """Alternate the parts; every block is an exact minimizer, so the recorded objective never rises."""
    members = _members(model)
    start = state
    if not schedule.alternate:
        return _one_way(model, state, schedule, members, callback)
    state = model.assign(state) if schedule.unseen_first else state
    values: list[float] = []
    converged, revived = False, 0
    for iteration in range(1, schedule.max_iter + 1):
        before = state
        for part in (unseen_part, seen_part) if schedule.unseen_first else (seen_part, unseen_part):
            state = part(model, state, schedule, members)
        state, back = revive(model, state, start, members)
        value = model.objective(state)
        if values and value > values[-1]:
            # Rounding is all that is left to gain.
            state, converged = before, True
            break
        values.append(value)
        revived += back
        changed = _changed(before.labels, state.labels)
        if callback is not None:
            callback(Sweep(iteration, value, changed, state))
        if _at_rest(before, state, values, changed, schedule.tol, model):
            converged = True
            break
    state = unseen_part(model, state, schedule, members)
    return Outcome(model.assign(state), values, converged, revived)


class _Members(NamedTuple):
    seen: Array
    unseen: Array


def _members(model: Formulation) -> _Members:
    return _Members(np.flatnonzero(model.given.seen), np.flatnonzero(~model.given.seen))


def unseen_part(model: Formulation, state: State, schedule: Schedule, members: _Members) -> State:
    """min over C_u, P_u, Z_u with D fixed, alternating until no label moves."""
    previous = np.inf
    for _ in range(schedule.inner_iter):
        before = state.labels
        state = model.assign(state)
        state = model.prototypes(state, members.unseen)
        state = model.codes(state, members.unseen)
        value = model.objective(state)
        if _changed(before, state.labels) == 0 and previous - value <= INNER_TOLERANCE * abs(value):
            break
        previous = value
    return state


def seen_part(model: Formulation, state: State, schedule: Schedule, members: _Members) -> State:
    """min over P_s, Z_s, D_v, D_c with the unseen part fixed, alternating until the objective rests."""
    previous = np.inf
    for _ in range(schedule.inner_iter):
        state = model.prototypes(state, members.seen)
        state = model.codes(state, members.seen)
        state = model.super_prototypes(state, DICTIONARY_TOLERANCE, schedule.dictionary_sweeps)
        value = model.objective(state)
        if previous - value <= INNER_TOLERANCE * abs(value):
            break
        previous = value
    return state


def revive(model: Formulation, state: State, start: State, members: _Members) -> tuple[State, int]:
    """Restart empty classes from their description-predicted prototypes, where that lowers the objective."""
    given = model.given
    empty = np.flatnonzero(given.allowed & ~given.seen & (np.bincount(state.labels, minlength=len(state.P)) == 0))
    if given.pool is None or len(empty) == 0:
        return state, 0
    P = state.P.copy()
    P[empty] = start.P[empty]
    trial = model.assign(state._replace(P=P))
    trial = model.codes(model.prototypes(trial, members.unseen), members.unseen)
    if model.objective(trial) < model.objective(state):
        return trial, len(empty)
    return state, 0


def _one_way(
    model: Formulation, state: State, schedule: Schedule, members: _Members, callback: Callable[[Sweep], None] | None
) -> Outcome:
    """Without alternation: super-prototypes from the seen classes alone, then the unseen part with them."""
    alone = model.seen_only()
    for _ in range(schedule.max_iter):
        before, state = state, seen_part(alone, state, schedule, members)
        if _still(before, state, schedule.tol):
            break
    values: list[float] = []
    changed = 1
    for iteration in range(1, schedule.max_iter + 1):
        before, state = state, unseen_part(model, state, schedule, members)
        value = model.objective(state)
        if values and value > values[-1]:
            state = before
            break
        values.append(value)
        changed = _changed(before.labels, state.labels)
        if callback is not None:
            callback(Sweep(iteration, value, changed, state))
        if changed == 0:
            break
    return Outcome(model.assign(state), values, changed == 0, 0)


def _changed(before: Array, after: Array) -> int:
    if len(before) != len(after):
        return len(after)
    return int(np.count_nonzero(before != after))


def _still(before: State, after: State, tol: float) -> bool:
    """Algorithm 1's test: ||dD|| < eps for both sets of super-prototypes, relative to their size."""
    pairs = ((before.D_v, after.D_v), (before.D_c, after.D_c))
    return all(np.linalg.norm(new - old) <= tol * max(1.0, float(np.linalg.norm(old))) for old, new in pairs)


def _at_rest(before: State, after: State, values: list[float], changed: int, tol: float, model: Formulation) -> bool:
    """No label moved, and the super-prototypes rest or the objective gained less than tol per unit of its scale."""
    if changed:
        return False
    if _still(before, after, tol):
        return True
    size = 1.0 if model.given.pool is None else float(model.given.pool.n)
    return len(values) > 1 and values[-2] - values[-1] <= tol * tol * max(abs(values[-1]), size)
