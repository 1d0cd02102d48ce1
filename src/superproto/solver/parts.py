"""More than one prototype for a class: how many its samples ask for, and where these start.

A class is divided in two, and its parts again, while the Bayesian information criterion gains. For n unit rows in d
dimensions, spherical noise of one width, parts with shares w and mean resultant lengths R,

    gain = n [ d/2 log( (1 - R_1^2) / (1 - sum_k w_k R_k^2) ) + sum_k w_k log w_k ] - (d + 1) log n :

what two centers explain better, less what a sample pays for saying which, less what the second center costs. A round
class never gains, however many samples it has: cutting one along its longest axis explains less than the cut costs. A
center costs twice what the criterion asks for, because real classes are not round: at the single price long classes
were cut in two as well (docs/decisions.md, 15).
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from superproto.rows import Array

MOST_PARTS = 4
LLOYD_STEPS = 20


def halves(rows: Array) -> Array:
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


def gain_of_halves(rows: Array, inside: Array) -> float:
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
        cuts = [halves(part) if len(part) >= 4 else np.zeros(len(part), dtype=bool) for part in parts]
        gains = [gain_of_halves(part, cut) for part, cut in zip(parts, cuts)]
        best = int(np.argmax(gains))
        if gains[best] == -np.inf or (number is None and gains[best] <= 0):
            break
        part, cut = parts.pop(best), cuts[best]
        parts += [part[~cut], part[cut]]
    return np.array([part.mean(axis=0) for part in parts])
