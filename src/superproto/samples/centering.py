"""CENTER: subtract the offset between features and class descriptions when no sample is labeled.

Without labels there is no within-class covariance to whiten by. Features and descriptions in one space (CLIP's image
and text vectors) differ by a constant vector, the modality gap. The mean of the unlabeled samples equals the gap only
if their classes are balanced. Otherwise the frequent classes shift it: with x = gap + b a_label + noise,
gap = mean(x) - b mean(a_label).
"""

from __future__ import annotations

import warnings

import numpy as np

from superproto.samples.chunks import UNLABELED, Array, ChunkedRows, add_up, in_memory
from superproto.samples.kernels import row_lengths, sums_by_class, unit_rows, unit_sum
from superproto.samples.whitened import evenly_spread_rows
from superproto.samples.whitening import Metric

# Rows from which the gap is estimated, and rounds of that estimate.
GAP_ROWS = 20_000
GAP_ROUNDS = 5
# Threshold of the test for structure, in standard errors.
STRUCTURE = 3.0
# Lower bound of b, the strength of the descriptions in the samples.
LEAST_SIGNAL = 1e-3
# A centered unit row shorter than this is rounding error: all rows are equal.
ROUNDING_OF_CENTERED = 1e-5


def center_descriptions(semantics: Array, *, centered: bool) -> Array:
    """Return descriptions as unit rows. `centered` first subtracts their mean, which all classes share."""
    rows = unit_rows(semantics - semantics.mean(axis=0)) if centered and len(semantics) > 2 else unit_rows(semantics)
    return rows if rows.any(axis=1).all() else unit_rows(semantics)


def center_metric(rows: ChunkedRows, semantics: Array, allowed: Array) -> Metric:
    """Return the metric that subtracts the gap between unit rows and the descriptions (C, d) of the allowed classes."""
    (total,) = add_up(rows.visit(unit_sum))
    mean = total / max(rows.n_rows, 1)
    some = rows.select(evenly_spread_rows(rows.n_rows, GAP_ROWS), np.float64)
    X, A = unit_rows(in_memory(some)), center_descriptions(semantics, centered=True)[allowed]
    if has_structure(X - mean, A):
        return Metric(mean=mean - mean_shift(X, mean, A))
    _warn_of_one_class(rows.n_rows)
    return Metric(mean=mean - _shift_by_classes(X, X @ unit_rows(semantics[allowed]).T, A))


def mean_shift(X: Array, mean: Array, A: Array) -> Array:
    """Return (d,) b (mean(a_label) - mean(a)): how far class frequencies shift the mean away from the gap.

    Labels, b and the gap are estimated in turn, starting with the gap at the mean. Call it only where
    :func:`has_structure` holds: otherwise each round would confirm the errors of the one before.
    """
    found = np.zeros_like(mean)
    for _ in range(GAP_ROUNDS):
        centered = X - mean + found
        found = _shift_by_classes(centered, centered @ A.T, A)
    return found


def has_structure(centered: Array, A: Array) -> bool:
    """Tell whether centered rows are significantly more similar to a description than their negatives are.

    Symmetric noise about a mean is equally similar either way. That is the case for one class, and for two classes of
    equal size, whose centered means are negatives of each other.
    """
    far = row_lengths(centered) > ROUNDING_OF_CENTERED
    similarity = unit_rows(centered[far]) @ A.T
    more = similarity.max(axis=1) + similarity.min(axis=1)
    return bool(len(more) > 1 and more.mean() * np.sqrt(len(more)) > STRUCTURE * more.std())


def match_own_descriptions(X: Array, labels: Array, descriptions: Array) -> bool:
    """Tell whether class means are significantly more similar to their own descriptions than to the others'.

    If so, features and descriptions share one space, as image and text vectors of CLIP do. Attributes can have the
    same number of columns by coincidence. Rows with label -1 are ignored. With fewer than three labeled classes there
    is no evidence against a common space, and the answer is True.
    """
    known = labels != UNLABELED
    classes, rows = np.unique(labels[known], return_inverse=True)
    if len(classes) < 3:
        return True
    means = sums_by_class(unit_rows(X[known].astype(np.float64)), rows, np.ones(len(rows)), len(classes))
    means /= np.bincount(rows)[:, None]
    similarity = unit_rows(means - means.mean(axis=0)) @ center_descriptions(descriptions[classes], centered=True).T
    others = similarity[~np.eye(len(classes), dtype=bool)]
    return bool(np.diag(similarity).mean() - others.mean() > STRUCTURE * others.std() / np.sqrt(len(classes)))


def _shift_by_classes(X: Array, scores: Array, A: Array) -> Array:
    labels = scores.argmax(axis=1)
    signal = max(LEAST_SIGNAL, float(np.einsum("ij,ij->i", X, A[labels]).mean()))
    return signal * (A[labels].mean(axis=0) - A.mean(axis=0))


def _warn_of_one_class(samples: int) -> None:
    warnings.warn(
        f"The {samples} unlabeled samples show no structure that matches the class descriptions: they may belong to "
        "one or two classes only. Each gets the class with the most similar description; doubt_ is not reliable here.",
        UserWarning,
        stacklevel=5,
    )
