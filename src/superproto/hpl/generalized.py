"""ASSEMBLE, generalized: the handicap of classes whose prototypes are predicted, among classes that were seen.

Seen classes keep the prototypes that their labels gave them. Unseen ones get an advantage, learned from the labeled
rows alone, which shrinks as the pool places their prototypes (:mod:`superproto.solver.calibration`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import softmax

from superproto.hpl.objective.formulations import Formulation, State
from superproto.hpl.objective.sphere import normalized
from superproto.samples.chunks import Array
from superproto.samples.whitened import evenly_spread_rows

if TYPE_CHECKING:
    from superproto.hpl.assembly import Assembly

CALIBRATION_ROWS = 4000


class LeftOut(NamedTuple):
    """Labeled samples of seen classes, some thousands, with the prototype that their class has without them.

    ``own`` (n, d) is that prototype; ``prototypes`` (m, d) are those of all seen classes.
    """

    labeled: LabeledRows
    own: Array
    prototypes: Array

    def scores(self) -> Array:
        """(n, m) cosines with the seen classes' prototypes, each row taken out of its own class and of the metric."""
        scores, own = left_out_cosines(self.labeled, self.prototypes, self.own)
        scores[np.arange(len(scores)), self.labeled.classes] = own
        return scores


def left_out(assembly: Assembly, number: int = CALIBRATION_ROWS) -> LeftOut:
    """So many labeled rows of seen classes at most, evenly spread."""
    seen, counts, sums = assembly.problem.seen, assembly.counts, assembly.sums
    known = np.flatnonzero(seen[assembly.labels])
    chosen = known[evenly_spread_rows(len(known), number)]
    classes = (np.cumsum(seen) - 1)[assembly.labels[chosen]]
    lengths = assembly.labeled.lengths()[chosen]
    rows = assembly.labeled.some(chosen).materialize().astype(np.float64)
    plain = assembly.labeled.plain_sums(assembly.labels, assembly.problem.n_classes)
    labeled = LabeledRows(
        rows * lengths[:, None], classes, plain[seen] / counts[seen, None], counts[seen],
        whitened=assembly.labeled.metric.mean is not None,
    )  # fmt: skip
    return LeftOut(labeled, normalized(sums[seen][classes] - rows, rows), assembly.seen_prototypes)


def estimate_unseen_advantage(assembly: Assembly) -> float:
    """b0: what a predicted prototype lacks against a learned one, from the labeled rows alone."""
    seen, rows = assembly.problem.seen, left_out(assembly)
    return unseen_advantage(
        rows.labeled, assembly.start.P[seen], assembly.start.P[~seen], rows.own,
        assembly.predicted_left_out[rows.labeled.classes],
    )  # fmt: skip


def settle(assembly: Assembly, model: Formulation) -> tuple[Formulation, State]:
    """Stage 0: find the unseen share at the start; then fix pull and advantage of the unseen classes."""
    given, problem, state = model.given, assembly.problem, assembly.start
    if assembly.pool is None:
        return model, state
    for _ in range(3):
        state = model.assign(state)
    unseen = ~problem.seen & problem.allowed
    evidence = float(state.masses[unseen].sum()) / int(unseen.sum()) * assembly.compactness
    pull = assembly.evidence.pull(evidence)
    b0 = float(given.offset[unseen][0])
    offset = given.offset.copy()
    offset[unseen] = settled_advantage(b0, pull, evidence, _own_share(assembly, state, given.offset))
    lengths = np.linalg.norm(state.Z @ state.D_v, axis=1)
    kappa = np.where(unseen, pull / np.maximum(lengths, 1e-3), given.kappa)
    first = assembly.start._replace(prior=state.prior, log_scaling=state.log_scaling)
    return assembly.formulation(replace(given, offset=offset, kappa=kappa)), first


def _own_share(assembly: Assembly, state: State, offset: Array) -> float:
    """sum Q^2 / sum Q over the unseen columns: how sure a sample taken for unseen is of its class."""
    assert assembly.pool is not None
    columns = np.flatnonzero(assembly.problem.allowed)
    some = assembly.pool.some(evenly_spread_rows(assembly.pool.n, CALIBRATION_ROWS))
    scores = some.scores(state.P[columns]) + offset[columns]
    Q = softmax(scores / assembly.temperature + state.log_scaling, axis=1)
    Q = Q[:, ~assembly.problem.seen[columns]]
    return float((Q**2).sum() / max(float(Q.sum()), 1e-12))


GRID = np.arange(0.0, 0.3, 0.005)


class LabeledRows(NamedTuple):
    """Labeled samples in the metric, before their last normalization: rows (n, d) and their classes (n,).

    ``means`` (m, d) are class means of such rows, ``counts`` (m,) the class sizes; ``whitened`` says whether the metric
    was learned from these rows, so that a row has to be taken out of it.
    """

    rows: Array
    classes: Array
    means: Array
    counts: Array
    whitened: bool


def left_out_cosines(labeled: LabeledRows, P: Array, own: Array) -> tuple[Array, Array]:
    """Cosines of each row with prototypes P (c, d) and with one of its own (n, d), the row taken out of the whitening.

    Sherman-Morrison: <x, p> + k <x - mean, p>, k = c <x, x - mean> / (1 - c |x - mean|^2), c = n_j / ((n_j - 1) N).
    """
    X = labeled.rows
    away = X - labeled.means[labeled.classes]
    size = labeled.counts[labeled.classes]
    c = size / np.maximum(size - 1, 1) / labeled.counts.sum() if labeled.whitened else np.zeros(len(X))
    along = (X * away).sum(axis=1)
    k = c * along / np.maximum(1 - c * (away**2).sum(axis=1), 0.05)
    moved = X + k[:, None] * away
    lengths = np.sqrt(np.maximum((X**2).sum(axis=1) + k * along, np.finfo(np.float64).tiny))
    return (moved @ P.T) / lengths[:, None], (moved * own).sum(axis=1) / lengths


def unseen_advantage(labeled: LabeledRows, P_s: Array, P_u: Array, own_seen: Array, own_predicted: Array) -> float:
    """b >= 0 that maximizes the harmonic mean when every labeled row plays both parts.

    ``own_seen`` (n, d): the row's class mean without the row; ``own_predicted`` (n, d): its class predicted from the
    description without the class. Both of unit length.
    """
    n = len(labeled.rows)
    scores, seen = left_out_cosines(labeled, np.concatenate([P_s, P_u]), own_seen)
    _, predicted = left_out_cosines(labeled, P_s[:1], own_predicted)
    scores[np.arange(n), labeled.classes] = -np.inf
    other, unseen = scores[:, : len(P_s)].max(axis=1), scores[:, len(P_s) :].max(axis=1)
    present = np.bincount(labeled.classes, minlength=len(P_s))
    weight = 1 / present[labeled.classes] / np.count_nonzero(present)
    as_seen = [weight @ ((seen > other) & (seen > unseen + b)) for b in GRID]
    as_unseen = [weight @ ((predicted > unseen) & (predicted + b > other)) for b in GRID]
    product, total = np.multiply(as_seen, as_unseen), np.add(as_seen, as_unseen)
    return float(GRID[np.argmax(product / np.maximum(total, 1e-12))])


def settled_advantage(b0: float, kappa: float, evidence: float, own_share: float) -> float:
    """b0 kappa / v - own_share / v, v = kappa + evidence: the more the pool has placed a prototype, the less advantage.

    The second term takes back what a sample adds to its own score by having pulled the prototype towards itself.
    """
    v = kappa + evidence
    return (b0 * kappa - own_share) / v
