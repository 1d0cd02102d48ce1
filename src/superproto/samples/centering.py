"""CENTER, where no sample is labeled: what pictures have in common, and texts do not, is taken away.

Without labels there is no covariance to whiten by. Features and descriptions of one space (CLIP's pictures and texts)
each have a mean of their own, the gap between them. A pool's mean is that of its pictures only where its classes are
even; elsewhere it carries the larger ones along: x = gap + b a_label + noise, so that gap = mean(x) - b mean(a_label).
"""

from __future__ import annotations

import warnings

import numpy as np

from superproto.samples.chunks import UNLABELED, Array, ChunkedRows, add_up, in_memory
from superproto.samples.kernels import row_lengths, sums_by_class, unit_rows, unit_sum
from superproto.samples.whitened import evenly_spread_rows
from superproto.samples.whitening import Metric

# A few numbers are learned from them.
GAP_ROWS = 20_000
GAP_ROUNDS = 5
# In standard errors: how much more samples are to be like descriptions than their mirror images are.
STRUCTURE = 3.0
LEAST_SIGNAL = 1e-3
# Of a unit row about the mean, when all rows are the same one.
ROUNDING_OF_CENTERED = 1e-5


def center_descriptions(semantics: Array, *, centered: bool) -> Array:
    """Descriptions as unit rows; about their mean when centered, so that what all classes share does not count."""
    rows = unit_rows(semantics - semantics.mean(axis=0)) if centered and len(semantics) > 2 else unit_rows(semantics)
    return rows if rows.any(axis=1).all() else unit_rows(semantics)


def center_metric(rows: ChunkedRows, semantics: Array, allowed: Array) -> Metric:
    """Unit rows about the gap between them and the descriptions (C, d) of the classes that are allowed."""
    (total,) = add_up(rows.visit(unit_sum))
    mean = total / max(rows.n_rows, 1)
    some = rows.select(evenly_spread_rows(rows.n_rows, GAP_ROWS), np.float64)
    X, A = unit_rows(in_memory(some)), center_descriptions(semantics, centered=True)[allowed]
    if has_structure(X - mean, A):
        return Metric(mean=mean - mean_shift(X, mean, A))
    _warn_of_one_class(rows.n_rows)
    return Metric(mean=mean - _shift_by_classes(X, X @ unit_rows(semantics[allowed]).T, A))


def mean_shift(X: Array, mean: Array, A: Array) -> Array:
    """(d,) b (mean(a_label) - mean(a)): how far the classes that samples seem to be of pull the mean away from the gap.

    Labels, b and the gap in turn, from a gap at the mean. Where nothing shows about the mean this would confirm itself
    round by round; there the texts say as they are, once, which class a sample is.
    """
    found = np.zeros_like(mean)
    for _ in range(GAP_ROUNDS):
        centered = X - mean + found
        found = _shift_by_classes(centered, centered @ A.T, A)
    return found


def has_structure(centered: Array, A: Array) -> bool:
    """Whether rows are more like one of the descriptions than their mirror images are, beyond chance.

    Noise about a mean is as like them either way: one sample, one class. So are two classes of a size, each the other's
    mirror image.
    """
    far = row_lengths(centered) > ROUNDING_OF_CENTERED
    likeness = unit_rows(centered[far]) @ A.T
    more = likeness.max(axis=1) + likeness.min(axis=1)
    return bool(len(more) > 1 and more.mean() * np.sqrt(len(more)) > STRUCTURE * more.std())


def match_own_descriptions(X: Array, labels: Array, descriptions: Array) -> bool:
    """Whether class means of the rows are more like their own descriptions than the others', beyond chance.

    Then descriptions live in the space of the features, as text vectors do beside image vectors; attributes may just
    happen to be as many as features. Rows with label -1 do not count. With fewer than three labeled classes nothing
    speaks against a common space.
    """
    known = labels != UNLABELED
    classes, rows = np.unique(labels[known], return_inverse=True)
    if len(classes) < 3:
        return True
    means = sums_by_class(unit_rows(X[known].astype(np.float64)), rows, np.ones(len(rows)), len(classes))
    means /= np.bincount(rows)[:, None]
    likeness = unit_rows(means - means.mean(axis=0)) @ center_descriptions(descriptions[classes], centered=True).T
    others = likeness[~np.eye(len(classes), dtype=bool)]
    return bool(np.diag(likeness).mean() - others.mean() > STRUCTURE * others.std() / np.sqrt(len(classes)))


def _shift_by_classes(X: Array, scores: Array, A: Array) -> Array:
    labels = scores.argmax(axis=1)
    signal = max(LEAST_SIGNAL, float(np.einsum("ij,ij->i", X, A[labels]).mean()))
    return signal * (A[labels].mean(axis=0) - A.mean(axis=0))


def _warn_of_one_class(samples: int) -> None:
    warnings.warn(
        f"Nothing about the mean of {samples} unlabeled samples is like the descriptions: they may be of one class or "
        "two. Each gets the class whose description is the most similar as it is; doubt_ cannot tell how good that is.",
        UserWarning,
        stacklevel=5,
    )
