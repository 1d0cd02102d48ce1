"""What the seen classes tell about the others: how compact classes are, and what descriptions predict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from superproto.estimator.calibration import likeliest_sharpness
from superproto.estimator.kernel_ridge import regularized, solve_ridge
from superproto.hpl.constants import Constants
from superproto.hpl.fit_data import FitData
from superproto.hpl.objective.sphere import normalized
from superproto.hpl.texts import VOTE_ROWS, TextFit, Votes, text_votes
from superproto.samples.chunks import Array

# Ridge of the prediction of free prototypes, in units of the mean diagonal of the kernel.
PROTOTYPE_RIDGE = 0.1
SMALLEST_COMPACTNESS = 1e-6
# Of clusters that do not count: votes are then as good as alone in the assignment.
SMALLEST_SHARPNESS = 1e-3
# So many seen classes tell what separates their means from their texts.
LEAST_SEEN_FOR_TEXTS = 3


@dataclass(frozen=True)
class SeenClasses:
    """Learned from the labeled samples of seen classes alone.

    ``prototypes`` (m, d) are unit means of the m seen classes. ``predicted`` (C, d) are prototypes of all classes:
    means of the seen ones, predictions from descriptions for the others. ``compactness`` is the median length of a
    class mean of unit samples; ``temperature`` that of the assignment, in the same units as scores; ``ridge`` that of
    predictions.
    ``texts`` (m, d) are the texts of the seen classes in the metric, or None. ``votes`` are those of the texts in the
    assignment, None for attributes. ``evenness`` is that of the pool where texts alone tell it.
    """

    prototypes: Array
    descriptions: Array
    texts: Array | None
    predicted: Array
    compactness: float
    temperature: float
    ridge: float
    votes: Votes | None = None
    evenness: float | None = None

    @classmethod
    def of(
        cls, data: FitData, unit: bool, temperature: float, constants: Constants, found: TextFit | None = None
    ) -> SeenClasses:
        """With unit prototypes or free ones; ``temperature`` in units of the compactness.

        ``found`` is what texts and unlabeled samples tell; all that is known where no class is seen.
        """
        if found is not None and not data.seen.any():
            return cls._from_texts(data, found, constants)
        seen, compactness = data.seen, measure_compactness(data, data.descriptions)
        ridge = constants.prototype_ridge if unit else PROTOTYPE_RIDGE
        texts = data.labeled.metric.forward(data.texts) if data.texts is not None and has_gap(data) else None
        evenness = found.evenness if found is not None else float(texts is None or data.pool is not None)
        T = temperature * compactness / max(evenness, SMALLEST_SHARPNESS)
        return cls(
            prototypes=normalized(data.sums[seen], data.sums[seen]),
            descriptions=data.descriptions[seen],
            texts=None if texts is None else texts[seen],
            predicted=predict_all(data, texts, unit, ridge),
            compactness=compactness,
            temperature=T,
            ridge=ridge,
            votes=votes_of_texts(data, vote_weight(constants, evenness) * T) if texts is not None and T > 0 else None,
            evenness=None if found is None else found.evenness,
        )

    @classmethod
    def _from_texts(cls, data: FitData, found: TextFit, constants: Constants) -> SeenClasses:
        """Where no class is seen, from what texts and unlabeled samples tell together."""
        assert data.texts is not None
        metric, none = data.labeled.metric, np.zeros((0, data.labeled.dimension))
        away = metric.forward(data.texts - data.texts[data.candidates].mean(axis=0))
        predicted = normalized(away, data.texts)
        predicted[data.candidates] = found.prototypes
        T = 1 / max(found.sharpness, SMALLEST_SHARPNESS)
        weight = vote_weight(constants, found.evenness)
        return cls(
            prototypes=none, descriptions=data.descriptions[:0], texts=None, predicted=predicted,
            compactness=measure_compactness(data, predicted), temperature=T, ridge=constants.prototype_ridge,
            votes=text_votes(data.texts, metric, found.length, weight * T * found.scale),
            evenness=found.evenness,
        )  # fmt: skip

    @cached_property
    def left_out(self) -> Array:
        """(m, d) unit prototypes of the seen classes, each predicted from its description and all the other classes.

        Texts of the feature space are moved by the gap of all classes: the metric is centered on them, so that the gap
        of the others would only subtract the class that is left out.
        """
        P = self.prototypes
        if self.texts is not None:
            return normalized(text_prototypes(self.texts, P, self.texts), P)
        return normalized(predict_left_out(self.descriptions, P, self.ridge), P)

    @cached_property
    def skill(self) -> float:
        """Median cosine of a class mean with its prediction from the other classes."""
        return float(np.median((self.prototypes * self.left_out).sum(axis=1)))


def measure_compactness(data: FitData, prototypes: Array) -> float:
    """Median length of the mean of a seen class; where none is seen, of the classes as prototypes assign samples."""
    seen = data.seen
    if seen.any():
        lengths = np.linalg.norm(data.sums[seen], axis=1) / data.counts[seen]
        return max(SMALLEST_COMPACTNESS, float(np.median(lengths)))
    assert data.pool is not None
    first = data.pool.assign(prototypes[data.candidates], np.zeros(len(data.candidates)), 0.0)
    there = first.masses > 1
    lengths = np.linalg.norm(first.sums[there], axis=1) / first.masses[there]
    return max(SMALLEST_COMPACTNESS, float(np.median(lengths))) if there.any() else 1.0


def predict_all(data: FitData, texts: Array | None, unit: bool, ridge: float) -> Array:
    """(C, d) seen prototypes are class means; unseen ones are predicted from descriptions, or are the descriptions.

    ``texts`` (C, d) are texts in the metric, or None for attributes.
    """
    seen, A = data.seen, data.descriptions
    P = np.zeros_like(data.sums)
    P[seen] = data.sums[seen] / data.counts[seen, None]
    if unit:
        P = normalized(P, P)
    if texts is not None:
        P[~seen] = text_prototypes(texts[seen], P[seen], texts[~seen])
    elif seen.any():
        P[~seen] = predict_prototypes(A[seen], P[seen], A[~seen], ridge)
    else:
        P = A.copy()
    return normalized(P, P) if unit else P


def vote_weight(constants: Constants, evenness: float) -> float:
    """Weight of the votes of texts; votes that are alone count in full."""
    return 1 - (1 - constants.vote_weight) * evenness


def has_gap(data: FitData) -> bool:
    """Whether enough classes are seen to measure the gap between their means and their texts."""
    return int(data.seen.sum()) >= LEAST_SEEN_FOR_TEXTS


def votes_of_texts(data: FitData, weight: float) -> Votes:
    """Votes at the likeliest inverse temperature of seen texts on labeled samples, times a weight."""
    assert data.texts is not None
    metric, rows = data.labeled.metric, np.flatnonzero(data.seen[data.labels])
    rows = rows[data.labeled.some(rows).spread(VOTE_ROWS)]
    plain = text_votes(data.texts[data.seen], metric, float(np.median(data.labeled.lengths())), 1.0)
    scores = data.labeled.some(rows).scores(plain.vectors).astype(np.float64) + plain.biases
    own = (np.cumsum(data.seen) - 1)[data.labels[rows]]
    sharp = likeliest_sharpness(scores, scores[np.arange(len(rows)), own], wrong=1.0)
    asked = data.labeled if data.pool is None else data.pool
    return text_votes(data.texts, metric, float(np.median(asked.lengths())), weight * sharp)


def text_prototypes(T_known: Array, P_known: Array, T_asked: Array) -> Array:
    """gap + b t: texts of the feature space, moved by the gap of the known classes. gap = mean(p - b t).

    b is the least-squares slope of known prototypes on their texts.
    """
    return np.asarray(P_known.mean(axis=0) + text_slope(T_known, P_known) * (T_asked - T_known.mean(axis=0)))


def text_slope(T: Array, P: Array) -> float:
    """b = sum <p - mean p, t - mean t> / sum |t - mean t|^2, at least 0."""
    away = T - T.mean(axis=0)
    spread = float((away**2).sum())
    return max(0.0, float(((P - P.mean(axis=0)) * away).sum()) / spread) if spread > 0 else 0.0


def predict_prototypes(A_known: Array, P_known: Array, A_asked: Array, ridge: float = PROTOTYPE_RIDGE) -> Array:
    """Kernel ridge from descriptions to prototypes: A_u A_s' (A_s A_s' + ridge tr(A_s A_s') / m I)^-1 P_s."""
    return np.asarray((A_asked @ A_known.T) @ solve_ridge(A_known @ A_known.T, P_known, ridge))


def predict_left_out(A_known: Array, P_known: Array, ridge: float = PROTOTYPE_RIDGE) -> Array:
    """For each known class the same prediction from all the others: P - (K + r I)^-1 P / diag (K + r I)^-1."""
    inverse = inverse_kernel(A_known, ridge)
    return np.asarray(P_known - (inverse @ P_known) / np.diag(inverse)[:, None])


def inverse_kernel(A: Array, ridge: float) -> Array:
    """(C, C) the inverse of A A' + r I, r = ridge * mean diagonal: how strongly descriptions relate two classes."""
    return np.asarray(linalg.inv(regularized(A @ A.T, ridge), check_finite=False))
