"""Algorithm 1: the unseen part, then the seen part, until the super-prototypes rest; then the unseen part once more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from superproto.hpl.objective.state import Given, Objective, State
from superproto.samples.chunks import Array
from superproto.samples.progress import print_line, time_left
from superproto.samples.whitened import WhitenedSamples

INNER_TOLERANCE = 1e-6
DICTIONARY_TOLERANCE = 1e-6
PROBE_ITER = 10


@dataclass(frozen=True)
class Schedule:
    """How long and in which order: the paper's ``maxIter``, epsilon, part order and alternation."""

    max_iter: int
    tol: float
    unseen_first: bool
    alternate: bool
    inner_iter: int
    dictionary_sweeps: int


class Iteration(NamedTuple):
    """What a callback is told after each outer iteration."""

    iteration: int
    objective: float
    labels_changed: int
    state: State


def in_users_order(callback: Callable[[Iteration], None], order: Array) -> Callable[[Iteration], None]:
    """The callback, told of classes as the user numbers them; ``order`` (C,) is that of the fit."""
    back = np.argsort(order)

    def told(done: Iteration) -> None:
        state = done.state
        continuation = state.continuation._replace(self_influence=state.continuation.self_influence[back])
        turned = state._replace(
            P=state.P[back], Z=state.Z[back], masses=state.masses[back], sums=state.sums[back],
            labels=order[state.labels], continuation=continuation,
        )  # fmt: skip
        callback(done._replace(state=turned))

    return told


class SolverProgress(NamedTuple):
    """Where a minimization stands after an outer iteration, and all it needs to go on from there."""

    state: State
    objective: list[float]
    converged: bool
    revived: int
    first_prototypes: Array


class Outcome(NamedTuple):
    """The final state, the objective after each outer iteration, whether it came to rest."""

    state: State
    objective: list[float]
    converged: bool
    revived: int


def minimize(
    objective: Objective,
    state: State,
    schedule: Schedule,
    callback: Callable[[Iteration], None] | None = None,
    keep: Callable[[SolverProgress], None] | None = None,
    resumed: SolverProgress | None = None,
) -> Outcome:
    """Alternate the parts; every block is an exact minimizer, so the recorded objective never rises.

    ``keep`` is given every iteration's progress before the callback is; ``resumed`` is one of them, to go on from.
    """
    members = _members(objective.given)
    start = state if resumed is None else state._replace(P=resumed.first_prototypes)
    if not schedule.alternate:
        return _one_way(objective, state, schedule, members, callback, keep, resumed)
    if resumed is None:
        state = objective.encoding.assign(state) if schedule.unseen_first else state
        resumed = SolverProgress(state, [], False, 0, start.P)
    state, values, converged, revived = resumed.state, list(resumed.objective), resumed.converged, resumed.revived
    while not converged and len(values) < schedule.max_iter:
        before = state
        for part in (unseen_part, seen_part) if schedule.unseen_first else (seen_part, unseen_part):
            state = part(objective, state, schedule, members)
        state, back = revive(objective, state, start, members)
        value = objective.value(state)
        if values and value > values[-1]:
            # Rounding is all that is left to gain.
            state, converged = before, True
            break
        values.append(value)
        revived += back
        changed = _changed(before.labels, state.labels)
        calm = _calmed(objective, state, changed, values)
        converged = calm is state and _at_rest(before, state, values, changed, schedule.tol, members.given.pool)
        state = calm
        _tell(SolverProgress(state, values, converged, revived, start.P), changed, callback, keep)
    state = unseen_part(objective, state, schedule, members)
    return Outcome(objective.encoding.assign(state), values, converged, revived)


def best_start(
    objective: Objective, starts: list[State], schedule: Schedule, contradicted: Callable[[State], int]
) -> State:
    """The one that contradicts fewest labels after some outer iterations, then that of the lowest objective.

    Not asked if there is one start.
    """
    if len(starts) == 1:
        return starts[0]
    short, objective = replace(schedule, max_iter=min(PROBE_ITER, schedule.max_iter)), objective.without_continuation()
    reached = [minimize(objective, first, short) for first in starts]
    ranks = [(contradicted(found.state), found.objective[-1]) for found in reached]
    return starts[min(range(len(starts)), key=ranks.__getitem__)]


def _tell(
    progress: SolverProgress,
    changed: int,
    callback: Callable[[Iteration], None] | None,
    keep: Callable[[SolverProgress], None] | None,
) -> None:
    if keep is not None:
        keep(progress)
    if callback is not None:
        callback(Iteration(len(progress.objective), progress.objective[-1], changed, progress.state))


class _Members(NamedTuple):
    seen: Array
    unseen: Array
    given: Given


def _members(given: Given) -> _Members:
    return _Members(np.flatnonzero(given.seen), np.flatnonzero(~given.seen), given)


def unseen_part(objective: Objective, state: State, schedule: Schedule, members: _Members) -> State:
    """min over C_u, P_u, Z_u with D fixed, alternating until no label moves."""
    previous = np.inf
    for _ in range(schedule.inner_iter):
        before = state.labels
        state = objective.encoding.assign(state)
        state = objective.encoding.update_prototypes(state, members.unseen, objective.alignment)
        state = objective.alignment.update_codes(state, members.unseen)
        if schedule.inner_iter == 1:
            break
        value = objective.value(state)
        if _changed(before, state.labels) == 0 and previous - value <= INNER_TOLERANCE * abs(value):
            break
        previous = value
    return state


def seen_part(objective: Objective, state: State, schedule: Schedule, members: _Members) -> State:
    """min over P_s, Z_s, D_v, D_c with the unseen part fixed, alternating until the objective rests."""
    previous = np.inf
    for _ in range(schedule.inner_iter):
        state = objective.encoding.update_prototypes(state, members.seen, objective.alignment)
        state = objective.alignment.update_codes(state, members.seen)
        state = objective.alignment.update_super_prototypes(state, DICTIONARY_TOLERANCE, schedule.dictionary_sweeps)
        if schedule.inner_iter == 1:
            break
        value = objective.value(state)
        if previous - value <= INNER_TOLERANCE * abs(value):
            break
        previous = value
    return state


def revive(objective: Objective, state: State, start: State, members: _Members) -> tuple[State, int]:
    """Restart empty classes from their description-predicted prototypes, where that lowers the objective."""
    given = members.given
    empty = np.flatnonzero(given.allowed & ~given.seen & (np.bincount(state.labels, minlength=len(state.P)) == 0))
    if given.pool is None or len(empty) == 0:
        return state, 0
    P = state.P.copy()
    P[empty] = start.P[empty]
    trial = objective.encoding.assign(state._replace(P=P))
    trial = objective.encoding.update_prototypes(trial, members.unseen, objective.alignment)
    trial = objective.alignment.update_codes(trial, members.unseen)
    if objective.value(trial) < objective.value(state):
        return trial, len(empty)
    return state, 0


def _one_way(
    objective: Objective,
    state: State,
    schedule: Schedule,
    members: _Members,
    callback: Callable[[Iteration], None] | None,
    keep: Callable[[SolverProgress], None] | None,
    resumed: SolverProgress | None,
) -> Outcome:
    """Without alternation: super-prototypes from the seen classes alone, then the unseen part with them."""
    if resumed is None:
        resumed = SolverProgress(_seen_alone(objective, state, schedule, members), [], False, 0, state.P)
    state, values, converged = resumed.state, list(resumed.objective), resumed.converged
    while not converged and len(values) < schedule.max_iter:
        before, state = state, unseen_part(objective, state, schedule, members)
        value = objective.value(state)
        if values and value > values[-1]:
            state = before
            break
        values.append(value)
        changed = _changed(before.labels, state.labels)
        calm = _calmed(objective, state, changed, values)
        converged = calm is state and changed == 0
        state = calm
        _tell(SolverProgress(state, values, converged, 0, resumed.first_prototypes), changed, callback, keep)
    return Outcome(objective.encoding.assign(state), values, converged, 0)


def _seen_alone(objective: Objective, state: State, schedule: Schedule, members: _Members) -> State:
    alone = objective.seen_only()
    for _ in range(schedule.max_iter):
        before, state = state, seen_part(alone, state, schedule, members)
        if _still(before, state, schedule.tol):
            break
    return state


def _calmed(objective: Objective, state: State, changed: int, values: list[float]) -> State:
    """Where the objective lets go, if it may; after the first iteration, which only repeats the start's assignment."""
    return objective.encoding.relax(state, changed) if len(values) > 1 else state


def _changed(before: Array, after: Array) -> int:
    if len(before) != len(after):
        return len(after)
    return int(np.count_nonzero(before != after))


def _still(before: State, after: State, tol: float) -> bool:
    """Algorithm 1's test: ||dD|| < eps for both sets of super-prototypes, relative to their size."""
    pairs = ((before.D_v, after.D_v), (before.D_c, after.D_c))
    return all(np.linalg.norm(new - old) <= tol * max(1.0, float(np.linalg.norm(old))) for old, new in pairs)


def _at_rest(
    before: State, after: State, values: list[float], changed: int, tol: float, pool: WhitenedSamples | None
) -> bool:
    """At most a share tol of the labels moved, and the super-prototypes rest or the objective hardly fell."""
    size = 1.0 if pool is None else float(pool.n)
    if changed > tol * size:
        return False
    if _still(before, after, tol):
        return True
    return len(values) > 1 and values[-2] - values[-1] <= tol * tol * max(abs(values[-1]), size)


def progress_callback(max_iter: int, callback: Callable[[Iteration], None] | None) -> Callable[[Iteration], None]:
    """A line for each outer iteration, with the time it may still take at most; then the user's own callback."""
    start, first = perf_counter(), 0

    def report(done: Iteration) -> None:
        nonlocal first
        first = first or done.iteration
        seconds = perf_counter() - start
        left = time_left(seconds, done.iteration - first + 1, max_iter - done.iteration)
        print_line(
            f"iteration {done.iteration}: objective {done.objective:.6g}, {done.labels_changed} labels changed, "
            f"{seconds:.1f} s, {left} at most"
        )
        if callback is not None:
            callback(done)

    return report
