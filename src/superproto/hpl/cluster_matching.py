"""Which cluster is which class: all names at once, from how classes are alike in descriptions and in features.

Means V of all classes, those with labels and the clusters, are taken to be matrix-normal: alike across classes as their
descriptions are, G^-1 = A A' + r I, and spread over the features as S, what descriptions leave unexplained of the known
classes. The likeliest names p minimize

    tr( G V_p S^-1 V_p' ) = sum_jk G_jk W_{p_j p_k},      W = V S^-1 V' :

a quadratic assignment. Known classes keep their names. Two clusters that are close to one description each, but lie to
each other as the descriptions do not, are told apart by this and not by distances to predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy import linalg

from superproto.hpl.fit_data import FitData
from superproto.hpl.objective.sphere import SphereEncoding, normalized
from superproto.hpl.objective.state import Objective, State
from superproto.hpl.seen_classes import SeenClasses, inverse_kernel
from superproto.samples.chunks import Array

# A swap that gains less than this share of the cost is rounding.
SMALLEST_GAIN = 1e-9


@dataclass(frozen=True)
class ClusterMatcher:
    """What matches clusters with the candidates, which are n.

    ``known`` (m, d) are prototypes of seen classes, ``predicted`` (n, d) of the candidates, ``labeled`` (n, d) means of
    the candidates' few labeled samples, 0 where they have none. ``relations_of_known`` (m, m) and ``relations`` are
    inverse kernels of the descriptions; ``label_weight`` is that of the labeled samples.
    """

    known: Array
    predicted: Array
    labeled: Array
    relations_of_known: Array
    relations: Array
    compactness: float
    label_weight: float

    @classmethod
    def of(cls, data: FitData, seen: SeenClasses, label_weight: float) -> ClusterMatcher:
        """For all candidates."""
        classes, A = data.candidates, data.descriptions
        return cls(
            known=seen.prototypes,
            predicted=seen.predicted[classes],
            labeled=data.sums[classes] / np.maximum(data.counts[classes, None], 1.0),
            relations_of_known=inverse_kernel(seen.descriptions, seen.ridge),
            relations=inverse_kernel(np.concatenate([seen.descriptions, A[classes]]), seen.ridge),
            compactness=seen.compactness,
            label_weight=label_weight,
        )

    def match(self, sums: Array, changed: list[int]) -> Array:
        """(n,) which of the clusters with these sums is each candidate; those that changed may begin exchanged."""
        found = normalized(sums, self.predicted)
        W = likeness(self.known, found, self.relations_of_known)
        starts = []
        for order in permutations(changed):
            starts.append(np.arange(len(found)))
            starts[-1][changed] = order
        told = -self.label_weight * (self.labeled @ found.T) / self.compactness
        return best_matching(self.relations, W, told, starts)


def contradicted_labels(data: FitData, objective: Objective, state: State) -> int:
    """How many labeled samples of classes with few labels score higher for another candidate than for their own class.

    Labels are facts: of two fits, the one that contradicts fewer of them is the better one, whatever descriptions say.
    """
    encoding, columns = objective.encoding, data.candidates
    rows = np.flatnonzero(data.allowed[data.labels] & ~data.seen[data.labels])
    if not isinstance(encoding, SphereEncoding) or not len(rows):
        return 0
    bias = encoding.given.bias[columns] + encoding.temperature * state.log_scaling + encoding.size_bias(state)
    scores = data.labeled.some(rows).scores(encoding.scored(state, columns)) + bias
    return int((columns[scores.argmax(axis=1)] != data.labels[rows]).sum())


def likeness(known: Array, found: Array, relations_of_known: Array) -> Array:
    """(m + n, m + n) W, up to a factor: inner products of class means in the metric of what is unexplained.

    E = G_s / diag(G_s) makes the residuals R = E V_s of known classes, each predicted by the others. Then
    S = R'R / m + w I, w the mean of the former's nonzero eigenvalues, and w S^-1 = I - R'(m w I + R R')^-1 R.
    """
    means = np.concatenate([known, found])
    gram, m = means @ means.T, len(known)
    residual = relations_of_known / np.diag(relations_of_known)[:, None]
    seen_from = residual @ gram[:m]
    spread = seen_from[:, :m] @ residual.T
    spread[np.diag_indices(m)] += max(float(np.trace(spread)) / min(known.shape), np.finfo(np.float64).tiny)
    return np.asarray(gram - seen_from.T @ linalg.solve(spread, seen_from, assume_a="pos", check_finite=False))


def best_matching(G: Array, W: Array, told: Array, starts: list[Array]) -> Array:
    """(n,) the cluster of each class: from each start the best swap of two again and again, until none gains.

    ``told`` (n, n) is what else it costs that a class is a cluster.
    """
    m = len(G) - len(told)
    F, D = G[m:, m:], W[m:, m:]
    linear = 2 * G[m:, :m] @ W[:m, m:] + told
    least = SMALLEST_GAIN * float(np.abs(G * W).sum())
    found = [_settled(F, D, linear, names, least) for names in starts]
    return found[int(np.argmin([_cost(F, D, linear, names) for names in found]))]


def _settled(F: Array, D: Array, linear: Array, names: Array, least: float) -> Array:
    names = names.copy()
    for _ in range(len(F)):
        change = swap_costs(F, D[np.ix_(names, names)], linear[:, names])
        one, other = np.unravel_index(change.argmin(), change.shape)
        if change[one, other] >= -least:
            break
        names[[one, other]] = names[[other, one]]
    return names


def _cost(F: Array, D: Array, linear: Array, names: Array) -> float:
    return float((F * D[np.ix_(names, names)]).sum() + linear[np.arange(len(names)), names].sum())


def swap_costs(F: Array, D: Array, linear: Array) -> Array:
    """(n, n) what sum F_jk D_jk + sum linear_jj changes by when i and j swap in D and in the columns of linear.

    2 sum_k (F_ik - F_jk)(D_jk - D_ik) over the other k, and the diagonals.
    """
    both, f, d = F @ D, np.diag(F), np.diag(D)
    own, line = np.diag(both), np.diag(linear)
    change = both + both.T - own[:, None] - own
    change -= (f[:, None] - F) * (D - d[:, None]) + (F - f) * (d - D)
    return np.asarray(2 * change + (f[:, None] - f) * (d - d[:, None]) + linear + linear.T - line[:, None] - line)
