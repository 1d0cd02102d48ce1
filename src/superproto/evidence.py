"""ASSEMBLE, weights: how strongly samples pull on a prototype, and how strongly its description does.

c samples of a class whose mean has length R pull with c R. All that is weighed is said in these units, so that one
scale serves every data set, and fixed before the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from superproto.assembly import Assembly

# Set by hand on validation classes of the four packs (docs/decisions.md, 8, 22 and 24); not tuned per data set.
SMALL_POOL_PULL = 100.0
SMALLEST = 1e-6
# How well FLO's descriptions predict a seen class that is left out: those that do better pull more.
LEAST_SKILL = 0.3125


class Evidence(NamedTuple):
    """e, the pull that is ``expected`` on a class of average size.

    Descriptions pull with a ``scale`` of the evidence and a ``floor``, which vanishes with the size of the pool, sooner
    where all classes seem to be there: a handful of samples must not drag a prototype to themselves.
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
        return beta / max(beta * self.expected + self.pull(self.expected), SMALLEST)


def measure_evidence(assembly: Assembly) -> Evidence:
    """From the labeled rows, the size of the pool and its evenness; without a pool e is that of the labels."""
    choices, problem, pool = assembly.choices, assembly.problem, assembly.pool
    rows = assembly.counts[problem.seen].mean() if pool is None else pool.n / int(problem.allowed.sum())
    expected = float(rows) * assembly.compactness
    floor = SMALL_POOL_PULL / (1 + expected) ** (2 + assembly.presence.evenness) if choices.unit else 0.0
    return Evidence(expected, (choices.alignment_scale or 0.0) * _trust(assembly), floor)


def _trust(assembly: Assembly) -> float:
    """How much more than usual descriptions may pull where the candidates do not look even, 1 where they do.

    As much as the median cosine of seen classes with what their descriptions, without them, predict is above the least.
    """
    problem, uneven = assembly.problem, 1 - assembly.presence.evenness
    if uneven == 0 or not problem.described or problem.seen.sum() < 2:
        return 1.0
    skill = float(np.median((assembly.seen_prototypes * assembly.predicted_left_out).sum(axis=1)))
    return 1 + uneven * max(0.0, skill / LEAST_SKILL - 1)


def measure_compactness(assembly: Assembly) -> float:
    """Median length of a seen class's mean; where none is seen, of the classes as the descriptions part the pool."""
    seen = assembly.problem.seen
    if seen.any():
        return max(SMALLEST, float(np.median(np.linalg.norm(assembly.sums[seen], axis=1) / assembly.counts[seen])))
    assert assembly.pool is not None
    columns = np.flatnonzero(assembly.problem.allowed)
    first = assembly.pool.assign(assembly.A[columns], np.zeros(len(columns)), 0.0)
    there = first.masses > 1
    lengths = np.linalg.norm(first.sums[there], axis=1) / first.masses[there]
    return max(SMALLEST, float(np.median(lengths))) if there.any() else 1.0
