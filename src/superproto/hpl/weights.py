"""ASSEMBLE, weights: how strongly samples pull on a prototype, and how strongly its description does.

c samples of a class whose mean has length R pull with c R. All that is weighed is said in these units, so that one
scale serves every data set, and fixed before the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from superproto.hpl.assembly import Assembly

# Set by hand on validation classes of the four packs (docs/decisions.md, 8, 22 and 26); not tuned per data set.
SMALL_POOL_PULL = 100.0
SMALLEST_COUNT = 1e-6
# How many times its worth a description pulls where it is doubtful which classes are there.
UNEVEN_PULL = 5.0
# Of what a description leaves unexplained of a class's mean, squared.
LEAST_UNEXPLAINED = 0.05


class EffectiveCounts(NamedTuple):
    """e, the pull that is ``expected`` on a class of average size.

    Descriptions pull with a ``scale`` of the evidence and a ``floor``. In a pool of all classes it vanishes with the
    pool's size: a handful of samples must not drag a prototype to themselves. Elsewhere descriptions keep their worth.
    """

    expected: float
    scale: float
    floor: float

    def pull(self, evidence: float) -> float:
        """Of the description of a class with so much evidence."""
        return self.scale * evidence + self.floor

    @property
    def share(self) -> float:
        """0 to 1: how much of what pulls on an unseen class is samples, and so can teach the super-prototypes.

        The rest is its description's own prediction, made from these super-prototypes.
        """
        return self.expected / (self.expected + self.floor)

    def own_vote(self, beta: float) -> float:
        """What a sample adds to <x, p_j> by being part of p_j = normalize(beta sums_j + pull), in an average class."""
        return beta / max(beta * self.expected + self.pull(self.expected), SMALLEST_COUNT)


def effective_counts(assembly: Assembly) -> EffectiveCounts:
    """From the labeled rows, the size of the pool and its evenness; without a pool e is that of the labels."""
    choices, problem, pool = assembly.choices, assembly.problem, assembly.pool
    rows = assembly.counts[problem.seen].mean() if pool is None else pool.n / int(problem.allowed.sum())
    expected = float(rows) * assembly.compactness
    scale, uneven = choices.alignment_scale or 0.0, 1 - assembly.presence.evenness
    if not choices.unit:
        return EffectiveCounts(expected, scale, 0.0)
    known = UNEVEN_PULL * scale * uneven * _description_reliability(assembly) if uneven > 0 else 0.0
    return EffectiveCounts(expected, scale, SMALL_POOL_PULL / (1 + expected) ** (3 - uneven) + known)


def _description_reliability(assembly: Assembly) -> float:
    """The pull of a description as Bayes has it: s / ((1 - s^2) R).

    A class's mean, of length R, is predicted with a cosine of s. Per direction, what the prediction s R leaves open has
    the variance (1 - s^2) R^2 where one sample has 1. s is the median over seen classes, each predicted without itself.
    """
    problem = assembly.problem
    if not problem.described or problem.seen.sum() < 2:
        return 0.0
    skill = max(0.0, float(np.median((assembly.seen_prototypes * assembly.predicted_left_out).sum(axis=1))))
    return skill / (max(1 - skill**2, LEAST_UNEXPLAINED) * assembly.compactness)


def measure_compactness(assembly: Assembly) -> float:
    """Median length of a seen class's mean; where none is seen, of the classes as the descriptions part the pool."""
    seen = assembly.problem.seen
    if seen.any():
        return max(
            SMALLEST_COUNT, float(np.median(np.linalg.norm(assembly.sums[seen], axis=1) / assembly.counts[seen]))
        )
    assert assembly.pool is not None
    columns = np.flatnonzero(assembly.problem.allowed)
    first = assembly.pool.assign(assembly.A[columns], np.zeros(len(columns)), 0.0)
    there = first.masses > 1
    lengths = np.linalg.norm(first.sums[there], axis=1) / first.masses[there]
    return max(SMALLEST_COUNT, float(np.median(lengths))) if there.any() else 1.0
