"""The advantage of unseen classes: how much lower a sample scores on a predicted prototype than on a learned one.

Prototypes of seen classes are means of labeled samples, those of unseen classes predictions, so at equal merit the seen
ones win. How much is learned from the labeled rows alone: each of them plays a seen sample once (its class mean without
it) and an unseen one once (its class predicted from the description without the class).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from superproto.rows import Array

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


def likeliest_sharpness(scores: Array, own: Array) -> float:
    """argmax_s of the mean log-probability of the own scores (n,) under softmax(s * scores) (n, m)."""
    spread = float(scores.std()) or 1.0

    def loss(log_sharpness: float) -> float:
        sharp = np.exp(log_sharpness) / spread
        return float(np.mean(logsumexp(scores * sharp, axis=1) - own * sharp))

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 7), method="bounded").x) / spread)
