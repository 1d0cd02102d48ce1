"""Pool diagnosis: do the unlabeled samples hold all candidate classes, in similar numbers?

The statistic is the evenness exp(entropy) / n of the class shares at the start, where predicted prototypes assign the
samples. Poor predictions make shares uneven in any pool. How uneven, seen classes tell: each is predicted without
itself, and pools are simulated from the labeled samples of random sets of seen classes, with even class sizes and with
sizes drawn uniformly from all possible ones (a Dirichlet distribution with parameters 1). The evenness of the pool is
the posterior probability of even sizes. Before, they are ``odds`` times as probable as uneven ones.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, softmax

from superproto.hpl.fit_data import FitData
from superproto.hpl.objective.assignment import evenness
from superproto.hpl.parameters import Parameters
from superproto.hpl.seen_classes import SeenClasses
from superproto.samples.chunks import Array

SETS, DRAWS = 100, 10
ROWS, ENTRIES = 4000, 2**22
# With fewer sets of two and two nothing can be simulated.
FEWEST_SEEN = 4
SMALLEST_DEVIATION = 1e-3


def measure_evenness(data: FitData, seen: SeenClasses, params: Parameters) -> float:
    """0 to 1: how probable it is that class sizes are even.

    1 where nothing can be said: the assignment is hard, seen classes are candidates too, or too few classes are seen.
    """
    measurable, seed = params.soft and params.constants.diagnose, params.seed or 0
    if seen.evenness is not None and measurable:
        return seen.evenness
    number, m = len(data.candidates), len(seen.prototypes)
    if not measurable or data.pool is None or data.seen_compete or not data.described or m < FEWEST_SEEN or number < 2:
        return 1.0
    pool, T = data.pool, seen.temperature
    rows = pool.spread(_rows_for(number))
    found = evenness(mean_softmax(pool.some(rows).scores(seen.predicted[data.candidates]) / T))
    confusions = _confusions_of_seen(data, seen.left_out, T, min(number, m // 2), seed)
    return probability_of_even_sizes(found, confusions, pool.n, params.constants.even_odds, seed)


def probability_of_even_sizes(found: float, confusions: list[Array], n_samples: int, odds: float, seed: int) -> float:
    """Posterior probability of even sizes, given the evenness of the shares of so many samples.

    Each of ``confusions`` (k, k) has the mean probabilities of samples of k classes in its rows. The logarithms of both
    simulated statistics are taken to be normal.
    """
    rng, simulated = np.random.default_rng(seed), np.empty((2, len(confusions), DRAWS))
    for s, confusion in enumerate(confusions):
        k = len(confusion)
        for d in range(DRAWS):
            for hypothesis, sizes in enumerate((np.full(k, 1 / k), rng.dirichlet(np.ones(k)))):
                drawn = rng.multinomial(n_samples, sizes) / n_samples
                simulated[hypothesis, s, d] = evenness(drawn @ confusion)
    even, uneven = (np.log(sample.ravel()) for sample in simulated)
    # A pool cannot be more even than even.
    value = min(float(np.log(found)), float(even.mean()))
    return float(expit(np.log(odds) + _log_density(value, even) - _log_density(value, uneven)))


def _log_density(value: float, sample: Array) -> float:
    """Of the normal distribution with the mean and deviation of a sample, up to a constant."""
    deviation = max(float(sample.std()), SMALLEST_DEVIATION)
    return -0.5 * ((value - float(sample.mean())) / deviation) ** 2 - float(np.log(deviation))


def mean_softmax(logits: Array) -> Array:
    """(n,) the shares of classes that rows (N, n) are shared out to."""
    return np.asarray(softmax(np.asarray(logits, dtype=np.float64), axis=1).mean(axis=0))


def _confusions_of_seen(data: FitData, left_out: Array, T: float, number: int, seed: int) -> list[Array]:
    """For sets of so many seen classes, (k, k) mean probabilities of each class's labeled samples among them.

    ``left_out`` (m, d) are prototypes of the seen classes, each predicted without itself.
    """
    seen = data.seen
    rows = np.flatnonzero(seen[data.labels])
    rows = rows[data.labeled.some(rows).spread(_rows_for(number))]
    logits = data.labeled.some(rows).scores(left_out).astype(np.float64) / T
    classes, rng = (np.cumsum(seen) - 1)[data.labels[rows]], np.random.default_rng(seed)
    there, found = np.unique(classes), []
    for _ in range(SETS):
        chosen = np.sort(rng.choice(there, min(number, len(there)), replace=False))
        inside = np.isin(classes, chosen)
        probabilities = softmax(logits[np.ix_(inside, chosen)], axis=1)
        member = np.eye(len(chosen))[np.searchsorted(chosen, classes[inside])]
        found.append(np.asarray(member.T @ probabilities / member.sum(axis=0)[:, None]))
    return found


def _rows_for(columns: int) -> int:
    """How many rows a table with so many columns may have."""
    return min(ROWS, max(100, ENTRIES // columns))
