"""ASSEMBLE, few classes: does the pool hold all the candidates, or a few of them?

The candidates' shares of the pool are estimated at the start, by EM over probabilities whose sharpness the labeled rows
tell: each seen class predicted without itself, among as many as there are candidates. EM starves classes whose
predictions are poor, though they are there; how much is measured on the same labeled rows, which hold all their
classes. Only where the pool's shares are far more concentrated than that is it taken to hold few classes.

Between all and few, evenness says how far a pool is to be treated as one of all candidates. EM is too bold for that:
plain shares at the start are compared with those of as many labeled rows. Where descriptions predict badly, such shares
look even whatever the pool; its mean does not: few or uneven classes do not cancel out, and drag it from the center.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import softmax

from superproto.estimator.calibration import likeliest_sharpness
from superproto.hpl.objective.assignment import evenness
from superproto.samples.chunks import Array
from superproto.samples.whitened import evenly_spread_rows

if TYPE_CHECKING:
    from superproto.hpl.assembly import Assembly

# Set on validation classes with pools of 1, 2, 5, half and all of them (docs/decisions.md, 18 and 22).
FEW = (0.3, 0.5)
EVEN = (0.85, 0.97)
# In squared distances that one set of seen classes in twenty has (docs/decisions.md, 26).
REMOTE = (1.0, 1.4)
LEAST_SEEN_FOR_MEAN, MOST_SEEN = 4, 1000
# The evenness that is expected where no seen class tells: that of CUB's.
USUAL = 0.9
PSEUDO_COUNT = 20.0
SUBSETS = 4
DRAWS = 10
EM_ROUNDS = 200
ROWS, ENTRIES = 4000, 2**22


class PoolDiagnosis(NamedTuple):
    """0 to 1: how surely the pool holds few classes; (n,) the ``advantage`` of each candidate, 0 if it holds all.

    ``evenness``, 0 to 1: whether candidates look as equally frequent as seen classes do among as many of their rows.
    """

    certainty: float
    advantage: Array
    evenness: float


def diagnose_pool(assembly: Assembly) -> PoolDiagnosis:
    """From the pool at the start and from the labeled rows; nothing is said where seen classes are candidates too."""
    problem, pool, T = assembly.problem, assembly.pool, assembly.temperature
    columns = np.flatnonzero(problem.allowed)
    nobody = np.zeros(len(columns))
    if pool is None or (problem.seen & problem.allowed).any():
        return PoolDiagnosis(0.0, nobody, 1.0)
    asked = pool.some(evenly_spread_rows(pool.n, _rows_for(len(columns)))).scores(assembly.predicted[columns])
    known = _scores_of_seen(assembly, len(columns)) if problem.described and problem.seen.sum() >= 2 else []
    usual = float(np.mean([_usual_evenness(scores / T, len(asked)) for scores, _ in known])) if known else USUAL
    even = _fraction_between(EVEN, evenness(mean_softmax(asked / T)) / usual)
    even = min(even, 1 - _fraction_between(REMOTE, _remoteness_of_pool(assembly)))
    if not known:
        return PoolDiagnosis(0.0, nobody, even)
    sharpness = float(np.median([likeliest_sharpness(scores, own) for scores, own in known]))
    expected = float(np.mean([evenness(mixture_shares(sharpness * scores)) for scores, _ in known]))
    found = mixture_shares(sharpness * asked)
    certainty = 1 - _fraction_between(FEW, evenness(found) / expected)
    return PoolDiagnosis(
        certainty, certainty * np.log(len(columns) * found) / sharpness if certainty > 0 else nobody, even
    )


def mean_softmax(logits: Array) -> Array:
    """(n,) the shares of classes that rows (N, n) are shared out to."""
    return np.asarray(softmax(np.asarray(logits, dtype=np.float64), axis=1).mean(axis=0))


def _usual_evenness(logits: Array, number: int) -> float:
    """Of so many rows drawn from these: few rows cannot be even among many classes."""
    drawn = np.random.default_rng(0).multinomial(number, mean_softmax(logits), size=DRAWS)
    return float(np.mean([evenness(counts / number) for counts in drawn]))


def _remoteness_of_pool(assembly: Assembly) -> float:
    """That of the pool's mean among those of seen classes with two rows or more; 0 where they are too few to tell."""
    pool = assembly.pool
    assert pool is not None
    several = np.flatnonzero(assembly.problem.seen & (assembly.counts > 1))
    several = several[evenly_spread_rows(len(several), MOST_SEEN)]
    if len(several) < LEAST_SEEN_FOR_MEAN or pool.n < 2:
        return 0.0
    _, total = pool.class_sums(np.zeros(pool.n, dtype=np.int64), 1)
    noise = float(pool.scores(total).astype(np.float64).var()) / (pool.n - 1)
    number = int(assembly.problem.allowed.sum())
    return remoteness(total[0], pool.n, noise, assembly.sums[several], assembly.counts[several], number)


def _fraction_between(bounds: tuple[float, float], value: float) -> float:
    """0 at the lower bound and below, 1 at the upper one and above."""
    low, high = bounds
    return float(np.clip((value - low) / (high - low), 0.0, 1.0))


def mixture_shares(logits: Array) -> Array:
    """(n,) EM's shares pi of classes with likelihoods exp(logits) (N, n), each class having had some samples before.

    pi_j <- (sum_i Q_ij + c / n) / (N + c),  Q_ij ~ pi_j exp(logits_ij),  c = 20.
    """
    N, n = logits.shape
    kernel = np.exp(np.asarray(logits, dtype=np.float64) - logits.max(axis=1, keepdims=True))
    found = np.full(n, 1 / n)
    for _ in range(EM_ROUNDS):
        masses = found * ((1 / (kernel @ found)) @ kernel)
        before, found = found, (masses + PSEUDO_COUNT / n) / (N + PSEUDO_COUNT)
        if np.abs(found - before).max() < 1e-5:
            break
    return found


def _scores_of_seen(assembly: Assembly, number: int) -> list[tuple[Array, Array]]:
    """Of labeled rows: scores with so many seen classes at most, each predicted without itself, and with their own."""
    seen = assembly.problem.seen
    rows = np.flatnonzero(seen[assembly.labels])
    rows = rows[evenly_spread_rows(len(rows), _rows_for(number))]
    predicted = assembly.predicted_left_out
    scores = assembly.labeled.some(rows).scores(predicted)
    classes, rng = (np.cumsum(seen) - 1)[assembly.labels[rows]], np.random.default_rng(0)
    found = []
    for _ in range(SUBSETS if number < len(predicted) else 1):
        chosen = np.sort(rng.choice(len(predicted), min(number, len(predicted)), replace=False))
        inside = np.isin(classes, chosen)
        if inside.any():
            found.append((scores[np.ix_(inside, chosen)], scores[inside, classes[inside]]))
    return found


def _rows_for(columns: int) -> int:
    """How many rows a table with so many columns may have."""
    return min(ROWS, max(100, ENTRIES // columns))


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
