"""What the seen classes tell about the others: how compact classes are, and what descriptions predict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from superproto.estimator.kernel_ridge import regularized, solve_ridge
from superproto.hpl.fit_data import FitData
from superproto.hpl.objective.sphere import normalized
from superproto.samples.chunks import Array

# Ridge of the prediction of prototypes, in units of the mean diagonal of the kernel; larger for centered descriptions.
PROTOTYPE_RIDGE = 0.1
CENTERED_RIDGE = 0.3
SMALLEST_COMPACTNESS = 1e-6
# So many seen classes tell what separates their means from their texts.
LEAST_SEEN_FOR_TEXTS = 3


@dataclass(frozen=True)
class SeenClasses:
    """Learned from the labeled samples of seen classes alone.

    ``prototypes`` (m, d) are unit means of the m seen classes. ``predicted`` (C, d) are prototypes of all classes:
    means of the seen ones, predictions from descriptions for the others. ``compactness`` is the median length of a
    class mean of unit samples; ``temperature`` that of the assignment, in the same units as scores; ``ridge`` that of
    predictions.
    ``texts`` (m, d) are the descriptions of the seen classes in the space of the features, or None.
    """

    prototypes: Array
    descriptions: Array
    texts: Array | None
    predicted: Array
    compactness: float
    temperature: float
    ridge: float

    @classmethod
    def of(cls, data: FitData, unit: bool, temperature: float) -> SeenClasses:
        """With unit prototypes or free ones; ``temperature`` in units of the compactness."""
        seen, compactness = data.seen, measure_compactness(data)
        ridge = CENTERED_RIDGE if unit else PROTOTYPE_RIDGE
        return cls(
            prototypes=normalized(data.sums[seen], data.sums[seen]),
            descriptions=data.descriptions[seen],
            texts=data.texts[seen] if data.texts is not None and has_gap(data) else None,
            predicted=predict_all(data, unit, ridge),
            compactness=compactness,
            temperature=temperature * compactness,
            ridge=ridge,
        )

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


def measure_compactness(data: FitData) -> float:
    """Median length of the mean of a seen class; where none is seen, of the classes as descriptions assign samples."""
    seen = data.seen
    if seen.any():
        lengths = np.linalg.norm(data.sums[seen], axis=1) / data.counts[seen]
        return max(SMALLEST_COMPACTNESS, float(np.median(lengths)))
    assert data.pool is not None
    first = data.pool.assign(data.descriptions[data.candidates], np.zeros(len(data.candidates)), 0.0)
    there = first.masses > 1
    lengths = np.linalg.norm(first.sums[there], axis=1) / first.masses[there]
    return max(SMALLEST_COMPACTNESS, float(np.median(lengths))) if there.any() else 1.0


def predict_all(data: FitData, unit: bool, ridge: float) -> Array:
    """(C, d) seen prototypes are class means; unseen ones are predicted from descriptions, or are the descriptions."""
    seen, A = data.seen, data.descriptions
    P = np.zeros_like(data.sums)
    P[seen] = data.sums[seen] / data.counts[seen, None]
    if unit:
        P = normalized(P, P)
    if data.texts is not None and has_gap(data):
        P[~seen] = text_prototypes(data.texts[seen], P[seen], data.texts[~seen])
    elif seen.any():
        P[~seen] = predict_prototypes(A[seen], P[seen], A[~seen], ridge)
    else:
        P = A.copy()
    return normalized(P, P) if unit else P


def has_gap(data: FitData) -> bool:
    """Whether enough classes are seen to measure the gap between their means and their texts."""
    return int(data.seen.sum()) >= LEAST_SEEN_FOR_TEXTS


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
