"""ASSEMBLE again, with classes that have several prototypes: between two fits, and the objective is the second's.

A divided class is several rows of the solver with one description and one share of the prior; the first of them keeps
the class's row, the others follow after all classes. A class with one prototype is what it was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from superproto.rows import Array
from superproto.samples import Samples, evenly
from superproto.solver.formulations import State
from superproto.solver.parts import centers_of
from superproto.solver.soft import Spherical
from superproto.solver.spherical import normalized

if TYPE_CHECKING:
    from superproto.assembly import Assembly

# So much of the pool, evenly spread, is looked at.
LOOKED_AT_BYTES = 128 * 2**20


def divide(assembly: Assembly, state: State, number: int | None) -> tuple[Array, State] | None:
    """(C',) the class of each row, and where the rows start; None when every class keeps its one prototype."""
    pool, problem = assembly.pool, assembly.problem
    if pool is None or number == 1:
        return None
    index = looked_at(pool)
    rows, labels = pool.some(index).materialize().astype(np.float64), state.labels[index]
    parents, P, extra = list(range(problem.n_classes)), state.P.copy(), []
    free = problem.allowed & ~problem.seen & ~assembly.model.given.held
    for j in np.flatnonzero(free & (np.bincount(labels, minlength=len(P)) >= 4)):
        first, *others = centers_of(rows[labels == j], number)
        if others:
            P[j] = first
            parents += [int(j)] * len(others)
            extra += others
    if not extra:
        return None
    starts = normalized(np.concatenate([P, extra]), state.P[parents])
    return np.array(parents), _expanded(state, np.array(parents), problem.allowed, starts)


def looked_at(pool: Samples) -> Array:
    """Rows of the pool, evenly spread, as many as are read to memory to see how classes lie."""
    return evenly(pool.n, max(1, LOOKED_AT_BYTES // (8 * pool.dimension)))


def divided(assembly: Assembly, parents: Array) -> Spherical:
    """The model of the divided classes: pull and prior share of a class are shared by its prototypes."""
    model, given = assembly.model, assembly.model.given
    assert isinstance(model, Spherical)
    parts = np.bincount(parents)[parents]
    own = np.arange(len(parents)) < assembly.problem.n_classes
    seen, allowed = given.seen[parents], given.allowed[parents]
    rows = replace(
        given, A=given.A[parents], seen=seen, allowed=allowed, kappa=given.kappa[parents] / parts,
        counts=np.where(own, given.counts[parents], 0.0), sums=np.where(own[:, None], given.sums[parents], 0.0),
        offset=given.offset[parents], held=given.held[parents],
    )  # fmt: skip
    soft, chosen = model.softness, (np.cumsum(given.allowed) - 1)[parents[allowed]]
    most = np.broadcast_to(soft.most_own, len(soft.levels))[chosen] * parts[allowed]
    return Spherical(rows, replace(soft, levels=soft.levels[chosen], weights=1 / parts[allowed], most_own=most))


def merged(state: State, parents: Array) -> State:
    """The state as one row per class: what its prototypes have together, and their mean direction."""
    n_classes = int(parents.max()) + 1
    if n_classes == len(parents):
        return state
    masses = np.bincount(parents, state.masses, minlength=n_classes)
    sums, P = np.zeros((n_classes, state.P.shape[1])), np.zeros((n_classes, state.P.shape[1]))
    np.add.at(sums, parents, state.sums)
    np.add.at(P, parents, state.P * np.maximum(state.masses, 1e-12)[:, None])
    single = np.bincount(parents) == 1
    P[single] = state.P[:n_classes][single]
    return state._replace(
        P=normalized(P, state.P[:n_classes]),
        Z=state.Z[:n_classes],
        labels=parents[state.labels],
        masses=masses,
        sums=sums,
        own=state.own[:n_classes],
    )


def _expanded(state: State, parents: Array, allowed: Array, P: Array) -> State:
    parts = np.bincount(parents)[parents]
    columns = np.cumsum(allowed) - 1
    chosen = columns[parents[allowed[parents]]]
    shares = state.prior[chosen] / parts[allowed[parents]]
    return state._replace(
        P=P, Z=state.Z[parents], labels=np.zeros(0, dtype=np.int64), masses=np.zeros(len(P)), sums=np.zeros_like(P),
        log_scaling=state.log_scaling[chosen], prior=shares, confusion=0.0, own=np.zeros(len(P)),
    )  # fmt: skip
