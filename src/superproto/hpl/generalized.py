"""The generalized setting: the bias of classes whose prototypes are predicted, when seen classes compete.

Prototypes of seen classes are means of labeled samples, those of unseen classes predictions, so at equal merit the seen
ones win. How much is learned from the labeled samples alone: each of them plays a seen sample once (its class mean
without it) and an unseen one once (its class predicted from the description without the class). Seen classes keep the
prototypes that their labels gave them. The advantage of unseen ones shrinks as unlabeled samples place their
prototypes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from superproto.hpl.fit_data import FitData
from superproto.hpl.objective.sphere import SphereEncoding, normalized
from superproto.hpl.objective.state import Objective, State
from superproto.hpl.seen_classes import SeenClasses
from superproto.hpl.weights import Weights
from superproto.samples.chunks import Array
from superproto.samples.whitened import WhitenedSamples

CALIBRATION_ROWS = 4000
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


def leave_out(data: FitData, prototypes: Array, number: int = CALIBRATION_ROWS) -> LeftOut:
    """So many labeled samples of seen classes at most, evenly spread; ``prototypes`` (m, d) of these classes."""
    seen, counts, sums = data.seen, data.counts, data.sums
    known = np.flatnonzero(seen[data.labels])
    chosen = known[data.labeled.some(known).spread(number)]
    classes = (np.cumsum(seen) - 1)[data.labels[chosen]]
    lengths = data.labeled.lengths()[chosen]
    rows = data.labeled.some(chosen).materialize().astype(np.float64)
    plain = data.labeled.plain_sums(data.labels, data.n_classes)
    labeled = LabeledRows(
        rows * lengths[:, None], classes, plain[seen] / counts[seen, None], counts[seen],
        whitened=data.labeled.metric.mean is not None,
    )  # fmt: skip
    return LeftOut(labeled, normalized(sums[seen][classes] - rows, rows), prototypes)


def first_offset(data: FitData, seen: SeenClasses, P: Array, soft: bool) -> Array:
    """(C,) what is added to scores at the start: what a predicted prototype lacks against a learned one.

    From the labeled samples alone; 0 where seen classes do not compete. ``P`` (C, d) are the prototypes of the start.
    """
    offset = np.zeros(data.n_classes)
    if soft and data.generalized:
        rows, mask = leave_out(data, seen.prototypes), data.seen
        own_predicted = seen.left_out[rows.labeled.classes]
        offset[~mask] = unseen_advantage(rows.labeled, P[mask], P[~mask], rows.own, own_predicted)
    return offset


def settle_unseen_share(
    objective: Objective, start: State, data: FitData, weights: Weights, compactness: float
) -> tuple[Objective, State]:
    """Find the share of unseen classes at the start; then fix weight and advantage of their prototypes.

    The same objective and start outside the generalized setting.
    """
    encoding, pool = objective.encoding, data.pool
    if not isinstance(encoding, SphereEncoding) or encoding.temperature == 0 or pool is None or not data.generalized:
        return objective, start
    given, state = objective.given, start
    for _ in range(3):
        state = encoding.assign(state)
    unseen = ~data.seen & data.allowed
    effective = float(state.masses[unseen].sum()) / int(unseen.sum()) * compactness
    weight = weights.of_description(effective)
    offset, b0 = given.offset.copy(), float(given.offset[unseen][0])
    own_share = _own_share(encoding, state, pool)
    offset[unseen] = settled_advantage(b0, weight, effective, own_share)
    lengths = np.linalg.norm(state.Z @ state.D_v, axis=1)
    kappa = np.where(unseen, weight / np.maximum(lengths, 1e-3), given.kappa)
    first = start._replace(prior=state.prior, log_scaling=state.log_scaling)
    return objective.with_given(replace(given, offset=offset, kappa=kappa)), first


def _own_share(encoding: SphereEncoding, state: State, pool: WhitenedSamples) -> float:
    """sum Q^2 / sum Q over the unseen columns: how sure a sample taken for unseen is of its class."""
    given = encoding.given
    columns = np.flatnonzero(given.allowed)
    some = pool.some(pool.spread(CALIBRATION_ROWS))
    scores = some.scores(encoding.scored(state, columns)) + given.bias[columns]
    Q = softmax(scores / encoding.temperature + state.log_scaling, axis=1)
    Q = Q[:, ~given.seen[columns]]
    return float((Q**2).sum() / max(float(Q.sum()), 1e-12))


def settled_advantage(b0: float, kappa: float, evidence: float, own_share: float) -> float:
    """b0 kappa / v - own_share / v, v = kappa + evidence: the more the pool has placed a prototype, the less advantage.

    The second term takes back what a sample adds to its own score by having pulled the prototype towards itself.
    """
    v = kappa + evidence
    return (b0 * kappa - own_share) / v
