"""How far the mean of a pool lies from that of the seen classes: the farther, the fewer or the less even its classes.

sum_j pi_j m_j is short where many classes with means m_j have equal shares pi_j: they cancel out. Nothing has to be
known of these classes but that they are like the seen ones, sets of which say how long it may be.
"""

from __future__ import annotations

import numpy as np

from superproto.rows import Array

SETS, LARGEST_SET = 200, 100
ONE_IN_TWENTY = 0.95


def remoteness(total: Array, N: int, noise: float, sums: Array, counts: Array, number: int) -> float:
    """|mean of the pool - mean of class means|^2, in units of what one set in twenty of ``number`` even classes has.

    ``total`` (d,) is the sum of N unit rows, ``sums`` (m, d) and ``counts`` (m,) are those of the seen classes.
    ``noise`` is the mean square of <x, x'> in the pool: few rows have a long mean by chance.
    """
    means = sums / counts[:, None]
    G = means @ means.T
    # No row is compared with itself, so that small classes do not look farther out.
    G[np.diag_indices_from(G)] = ((sums**2).sum(axis=1) - counts) / (counts * (counts - 1))
    distance = (total @ total - N) / (N * (N - 1)) - 2 * (means @ total).mean() / N + G.mean()
    usual = usual_distances(G, N, noise, number)
    return float(distance / max(float(np.quantile(usual, ONE_IN_TWENTY)), np.finfo(np.float64).tiny))


def usual_distances(G: Array, N: int, noise: float, number: int) -> Array:
    """The same distances for N rows drawn from k of m classes, against the other m - k; G (m, m) are <mean, mean>.

    k is ``number`` or, where these are too many, less; distances are those of k times
    (1 / number + 1 / m) / (1 / k + 1 / (m - k)).
    """
    m = len(G)
    # In an order that their numbers do not decide, so that the sets are the same whatever these are.
    order = np.argsort(np.diag(G))
    G = G[np.ix_(order, order)]
    k, rng = max(2, min(number, m // 2, LARGEST_SET)), np.random.default_rng(0)
    found, lines, whole = np.empty(SETS), G.sum(axis=1), float(G.sum())
    for i in range(SETS):
        drawn = rng.permutation(m)[:k]
        rows, inside = rng.multinomial(N, np.full(k, 1 / k)), G[np.ix_(drawn, drawn)]
        across = lines[drawn] - inside.sum(axis=1)
        own = (rows @ inside @ rows - rows @ np.diag(inside)) / (N * (N - 1))
        others = (whole - inside.sum() - 2 * across.sum()) / (m - k) ** 2
        found[i] = own - 2 * (rows @ across) / (N * (m - k)) + others
    found *= (1 / number + 1 / m) / (1 / k + 1 / (m - k))
    return found + np.sqrt(2 * noise / (N * (N - 1))) * rng.standard_normal(SETS)
