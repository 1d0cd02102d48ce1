"""Several prototypes for a class whose samples ask for them: a second fit, whose objective is the one that is kept.

A divided class is several rows of the solver with one description and one share of the prior; the first of them keeps
the class's row, the others follow after all classes. A class with one prototype is what it was.

A class is divided in two, and its parts again, while the Bayesian information criterion gains. For n unit rows in d
dimensions, spherical noise of one width, parts with shares w and mean resultant lengths R,

    gain = n [ d/2 log( (1 - R_1^2) / (1 - sum_k w_k R_k^2) ) + sum_k w_k log w_k ] - (d + 1) log n :

what two centers explain better, less what a sample pays for saying which, less what the second center costs. A center
costs twice what the criterion asks for, because real classes are not round (docs/decisions.md, 15).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import xlogy

from superproto.hpl.fit_data import FitData
from superproto.hpl.objective.sphere import SphereEncoding, normalized
from superproto.hpl.objective.state import Alignment, Objective, State
from superproto.samples.chunks import Array
from superproto.samples.whitened import WhitenedSamples, evenly_spread_rows

# So many bytes of the unlabeled samples, evenly spread, are looked at.
INSPECTED_BYTES = 128 * 2**20
MOST_PARTS = 4
LLOYD_STEPS = 20


def divide_classes(
    objective: Objective, state: State, data: FitData, number: int | None
) -> tuple[Array, Objective, State] | None:
    """(C',) the class of each row, the objective of these rows, and where they start.

    ``number`` of prototypes for each unseen class, None: as many as the criterion asks for. None is returned when every
    class keeps its one prototype.
    """
    pool, encoding = data.pool, objective.encoding
    if pool is None or number == 1 or not isinstance(encoding, SphereEncoding) or encoding.temperature == 0:
        return None
    index = rows_to_inspect(pool)
    rows, labels = pool.some(index).materialize().astype(np.float64), state.labels[index]
    parents, P, extra = list(range(data.n_classes)), state.P.copy(), []
    free = data.allowed & ~data.seen & ~objective.given.held
    for j in np.flatnonzero(free & (np.bincount(labels, minlength=len(P)) >= 4)):
        first, *others = centers_of(rows[labels == j], number)
        if others:
            P[j] = first
            parents += [int(j)] * len(others)
            extra += others
    if not extra:
        return None
    starts = normalized(np.concatenate([P, extra]), state.P[parents])
    rows_of_classes = np.array(parents)
    first_state = _expand_state(state, rows_of_classes, data.allowed, starts)
    return rows_of_classes, divided_objective(encoding, objective.alignment, rows_of_classes), first_state


def rows_to_inspect(pool: WhitenedSamples) -> Array:
    """Rows of the pool, evenly spread, as many as are read to memory to see how classes lie."""
    return evenly_spread_rows(pool.n, max(1, INSPECTED_BYTES // (8 * pool.dimension)))


def divided_objective(encoding: SphereEncoding, alignment: Alignment, parents: Array) -> Objective:
    """The objective of the divided classes: weight and prior share of a class are shared by its prototypes."""
    given = encoding.given
    parts = np.bincount(parents)[parents]
    own = np.arange(len(parents)) < len(given.seen)
    seen, allowed = given.seen[parents], given.allowed[parents]
    rows = replace(
        given, A=given.A[parents], seen=seen, allowed=allowed, kappa=given.kappa[parents] / parts,
        counts=np.where(own, given.counts[parents], 0.0), sums=np.where(own[:, None], given.sums[parents], 0.0),
        offset=given.offset[parents], held=given.held[parents],
    )  # fmt: skip
    chosen = (np.cumsum(given.allowed) - 1)[parents[allowed]]
    most = np.broadcast_to(encoding.most_own, len(encoding.levels))[chosen] * parts[allowed]
    divided = replace(encoding, levels=encoding.levels[chosen], weights=1 / parts[allowed], most_own=most)
    return Objective(divided, alignment).with_given(rows)


def merge_prototypes(state: State, parents: Array) -> State:
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
        continuation=state.continuation._replace(self_influence=state.continuation.self_influence[:n_classes]),
    )


def _expand_state(state: State, parents: Array, allowed: Array, P: Array) -> State:
    parts = np.bincount(parents)[parents]
    columns = np.cumsum(allowed) - 1
    chosen = columns[parents[allowed[parents]]]
    shares = state.prior[chosen] / parts[allowed[parents]]
    return state._replace(
        P=P, Z=state.Z[parents], labels=np.zeros(0, dtype=np.int64), masses=np.zeros(len(P)), sums=np.zeros_like(P),
        log_scaling=state.log_scaling[chosen], prior=shares, confusion=0.0,
        continuation=state.continuation._replace(self_influence=np.zeros(len(P))),
    )  # fmt: skip


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


def gain_of_split(rows: Array, inside: Array) -> float:
    """The criterion above; -inf where a part has fewer than two rows."""
    n, d = rows.shape
    sizes = np.array([n - inside.sum(), inside.sum()])
    if sizes.min() < 2:
        return -np.inf
    whole = float((rows.mean(axis=0) ** 2).sum())
    parts = [float((part.mean(axis=0) ** 2).sum()) for part in (rows[~inside], rows[inside])]
    shares = sizes / n
    rest = max(1 - float(shares @ parts), 1e-12)
    explained = d / 2 * np.log(max(1 - whole, 1e-12) / rest)
    return float(n * (explained + xlogy(shares, shares).sum()) - (d + 1) * np.log(n))


def centers_of(rows: Array, number: int | None) -> Array:
    """(K, d) means of the parts of a class: as many as the criterion asks for, or ``number`` if the rows allow it."""
    parts = [rows]
    while len(parts) < (MOST_PARTS if number is None else number):
        cuts = [split_in_two(part) if len(part) >= 4 else np.zeros(len(part), dtype=bool) for part in parts]
        gains = [gain_of_split(part, cut) for part, cut in zip(parts, cuts)]
        best = int(np.argmax(gains))
        if gains[best] == -np.inf or (number is None and gains[best] <= 0):
            break
        part, cut = parts.pop(best), cuts[best]
        parts += [part[~cut], part[cut]]
    return np.array([part.mean(axis=0) for part in parts])
