"""Pool diagnosis: are all candidates among the unlabeled samples, and are they equally frequent?

The candidates' shares are estimated at the start, by EM over probabilities whose inverse temperature the labeled
samples tell: each seen class predicted without itself, among as many as there are candidates. EM starves classes whose
predictions are poor, though they are there; how much is measured on the same labeled samples, which hold all their
classes. Only where the shares are far more concentrated than that is the pool taken to hold few classes.

Between all and few, evenness says how far a pool is to be treated as one of all candidates. EM is too bold for that:
plain shares at the start are compared with those of as many labeled samples. Where descriptions predict badly, such
shares look even whatever the pool; its mean does not: few or uneven classes do not cancel out, and shift it. The mean
sum_j pi_j m_j is short where many classes with means m_j have equal shares pi_j. Nothing has to be known of these
classes but that they are like the seen ones, sets of which say how long it may be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from superproto.estimator.calibration import likeliest_sharpness
from superproto.hpl.fit_data import FitData
from superproto.hpl.objective.assignment import evenness
from superproto.hpl.seen_classes import SeenClasses
from superproto.samples.chunks import Array
from superproto.samples.whitened import WhitenedSamples, evenly_spread_rows

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
SETS, LARGEST_SET = 200, 100
ONE_IN_TWENTY = 0.95


class PoolDiagnosis(NamedTuple):
    """0 to 1: how certainly the pool holds few classes; (n,) the ``advantage`` of each candidate, 0 if it holds all.

    ``evenness``, 0 to 1: whether candidates look as equally frequent as seen classes do among as many of their samples.
    """

    certainty: float
    advantage: Array
    evenness: float


def diagnose_pool(data: FitData, seen: SeenClasses, soft: bool, estimates_prior: bool, seed: int) -> PoolDiagnosis:
    """Which candidates the pool has; with a prior that was given, all of them, and only the evenness is measured.

    Nothing is said where the assignment is hard, or where seen classes are candidates too.
    """
    nothing = PoolDiagnosis(0.0, np.zeros(len(data.candidates)), 1.0)
    if not soft or data.pool is None or data.seen_compete:
        return nothing
    found = _measure(data, data.pool, seen, seed)
    return found if estimates_prior else nothing._replace(evenness=found.evenness)


def _measure(data: FitData, pool: WhitenedSamples, seen: SeenClasses, seed: int) -> PoolDiagnosis:
    """From the pool at the start and from the labeled samples."""
    number, T = len(data.candidates), seen.temperature
    asked = pool.some(evenly_spread_rows(pool.n, _rows_for(number))).scores(seen.predicted[data.candidates])
    known = _scores_of_seen(data, seen.left_out, seed) if data.described and len(seen.prototypes) >= 2 else []
    usual = float(np.mean([_usual_evenness(scores / T, len(asked), seed) for scores, _ in known])) if known else USUAL
    even = _fraction_between(EVEN, evenness(mean_softmax(asked / T)) / usual)
    even = min(even, 1 - _fraction_between(REMOTE, _remoteness_of_pool(data, pool, seed)))
    if not known:
        return PoolDiagnosis(0.0, np.zeros(number), even)
    sharpness = float(np.median([likeliest_sharpness(scores, own) for scores, own in known]))
    expected = float(np.mean([evenness(mixture_shares(sharpness * scores)) for scores, _ in known]))
    found = mixture_shares(sharpness * asked)
    certainty = 1 - _fraction_between(FEW, evenness(found) / expected)
    advantage = certainty * np.log(number * found) / sharpness if certainty > 0 else np.zeros(number)
    return PoolDiagnosis(certainty, advantage, even)


def mean_softmax(logits: Array) -> Array:
    """(n,) the shares of classes that rows (N, n) are shared out to."""
    return np.asarray(softmax(np.asarray(logits, dtype=np.float64), axis=1).mean(axis=0))


def _usual_evenness(logits: Array, number: int, seed: int) -> float:
    """Of so many rows drawn from these: few rows cannot be even among many classes."""
    drawn = np.random.default_rng(seed).multinomial(number, mean_softmax(logits), size=DRAWS)
    return float(np.mean([evenness(counts / number) for counts in drawn]))


def _remoteness_of_pool(data: FitData, pool: WhitenedSamples, seed: int) -> float:
    """That of the pool's mean among those of seen classes with two samples or more; 0 where they are too few."""
    several = np.flatnonzero(data.seen & (data.counts > 1))
    several = several[evenly_spread_rows(len(several), MOST_SEEN)]
    if len(several) < LEAST_SEEN_FOR_MEAN or pool.n < 2:
        return 0.0
    _, total = pool.class_sums(np.zeros(pool.n, dtype=np.int64), 1)
    noise = float(pool.scores(total).astype(np.float64).var()) / (pool.n - 1)
    return remoteness(total[0], pool.n, noise, data.sums[several], data.counts[several], len(data.candidates), seed)


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


def _scores_of_seen(data: FitData, left_out: Array, seed: int) -> list[tuple[Array, Array]]:
    """Of labeled rows: scores with as many seen classes as there are candidates, each predicted without itself.

    The second array are the scores with their own class.
    """
    seen, number = data.seen, len(data.candidates)
    rows = np.flatnonzero(seen[data.labels])
    rows = rows[evenly_spread_rows(len(rows), _rows_for(number))]
    scores = data.labeled.some(rows).scores(left_out)
    classes, rng = (np.cumsum(seen) - 1)[data.labels[rows]], np.random.default_rng(seed)
    found = []
    for _ in range(SUBSETS if number < len(left_out) else 1):
        chosen = np.sort(rng.choice(len(left_out), min(number, len(left_out)), replace=False))
        inside = np.isin(classes, chosen)
        if inside.any():
            found.append((scores[np.ix_(inside, chosen)], scores[inside, classes[inside]]))
    return found


def _rows_for(columns: int) -> int:
    """How many rows a table with so many columns may have."""
    return min(ROWS, max(100, ENTRIES // columns))


def remoteness(total: Array, N: int, noise: float, sums: Array, counts: Array, number: int, seed: int) -> float:
    """|mean of the pool - mean of class means|^2, in units of what one set in twenty of ``number`` even classes has.

    ``total`` (d,) is the sum of N unit rows, ``sums`` (m, d) and ``counts`` (m,) are those of the seen classes.
    ``noise`` is the mean square of <x, x'> in the pool: few rows have a long mean by chance.
    """
    means = sums / counts[:, None]
    G = means @ means.T
    # No row is compared with itself, so that small classes do not look farther out.
    G[np.diag_indices_from(G)] = ((sums**2).sum(axis=1) - counts) / (counts * (counts - 1))
    distance = (total @ total - N) / (N * (N - 1)) - 2 * (means @ total).mean() / N + G.mean()
    usual = usual_distances(G, N, noise, number, seed)
    return float(distance / max(float(np.quantile(usual, ONE_IN_TWENTY)), np.finfo(np.float64).tiny))


def usual_distances(G: Array, N: int, noise: float, number: int, seed: int) -> Array:
    """The same distances for N rows drawn from k of m classes, against the other m - k; G (m, m) are <mean, mean>.

    k is ``number`` or, where these are too many, less; distances are those of k times
    (1 / number + 1 / m) / (1 / k + 1 / (m - k)).
    """
    m = len(G)
    # In an order that their numbers do not decide, so that the sets are the same whatever these are.
    order = np.argsort(np.diag(G))
    G = G[np.ix_(order, order)]
    k, rng = max(2, min(number, m // 2, LARGEST_SET)), np.random.default_rng(seed)
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
