"""WHITEN: the metric learned from the labeled samples, in which classes are round.

    unit rows  ->  minus the mean  ->  V (w + c)^(-1/2)  ->  unit rows,        c = shrinkage * mean(w)

V and w are the eigenpairs of the pooled within-class covariance of the labeled rows. No test label is used: unlabeled
rows (label -1) enter the mean alone. See ``docs/math.md`` for what this does to real features.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from superproto.errors import UserError
from superproto.inputs import UNLABELED, check_problem
from superproto.rows import Array, ArrayRows, Rows, add_up

SHRINKAGE = 0.1


@dataclass(frozen=True)
class Metric:
    """An affine map of unit rows: x -> (x - mean) W, with W = rest I + B diag(gains) B'.

    When the basis is complete, W is stored as ``matrix`` (d, d), turned into the basis. ``None`` everywhere: x -> x.
    """

    mean: Array | None = None
    matrix: Array | None = None
    basis: Array | None = None
    gains: Array | None = None
    rest: float = 1.0

    def forward(self, rows: Array) -> Array:
        """rows W: from unit features to the metric (the mean is not subtracted here)."""
        if self.matrix is not None:
            return rows @ self.matrix.astype(rows.dtype, copy=False)
        if self.basis is None or self.gains is None:
            return rows
        basis = self.basis.astype(rows.dtype, copy=False)
        return rows.dtype.type(self.rest) * rows + ((rows @ basis) * self.gains.astype(rows.dtype)) @ basis.T

    def backward(self, rows: Array) -> Array:
        """rows W': what a vector of the metric is multiplied with when features come as they are."""
        if self.matrix is not None:
            return rows @ self.matrix.T
        return self.forward(rows)


class _Moments(NamedTuple):
    """What one pass over the rows adds up."""

    class_sums: Array
    class_counts: Array
    pool_sum: Array
    second: Array


def unit_rows(rows: Array) -> Array:
    """Each row at length 1; an all-zero row stays as it is."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.maximum(norms, np.finfo(rows.dtype).tiny)


def learn_metric(rows: Rows, labels: Array, n_classes: int, shrinkage: float = SHRINKAGE) -> Metric:
    """The within-class metric of the labeled rows; the mean is over all rows, labeled or not."""
    labeled = int(np.count_nonzero(labels != UNLABELED))
    if labeled < rows.n_columns:
        return _thin_metric(rows, labels, n_classes, shrinkage)
    moments = _Moments(*add_up(rows.visit(lambda chunk, part: _moments_of(chunk, part, n_classes), labels)))
    counts = np.maximum(moments.class_counts, 1)[:, None]
    within = moments.second - (moments.class_sums / counts).T @ moments.class_sums
    mean = (moments.class_sums.sum(axis=0) + moments.pool_sum) / max(rows.n_rows, 1)
    if _is_degenerate(moments.class_counts):
        _warn_fallback()
        center = moments.class_sums.sum(axis=0) / labeled
        within = moments.second - labeled * np.outer(center, center)
    eigenvalues, basis = linalg.eigh(within / labeled, overwrite_a=True, check_finite=False, driver="evd")
    scale = _inverse_roots(eigenvalues, eigenvalues.sum() / len(eigenvalues), shrinkage)
    return Metric(mean=mean, matrix=basis * scale)


def _moments_of(chunk: Array, labels: Array, n_classes: int) -> tuple[Array, ...]:
    rows = unit_rows(chunk)
    known = labels != UNLABELED
    marked = rows[known]
    sums = np.zeros((n_classes, rows.shape[1]))
    sum_by_class(marked, labels[known], sums)
    counts = np.bincount(labels[known], minlength=n_classes)
    return sums, counts, rows[~known].sum(axis=0, dtype=np.float64), marked.T @ marked


def sum_by_class(rows: Array, labels: Array, sums: Array) -> None:
    """sums[j] += the rows with label j, by one sort and one segmented sum."""
    if len(rows) == 0:
        return
    order = np.argsort(labels, kind="stable")
    present, starts = np.unique(labels[order], return_index=True)
    sums[present] += np.add.reduceat(rows[order], starts, axis=0, dtype=np.float64)


def _thin_metric(rows: Rows, labels: Array, n_classes: int, shrinkage: float) -> Metric:
    """The same metric when there are fewer labeled rows than features: no (d, d) matrix is formed."""
    parts = [unit_rows(part) for (part,) in rows.visit(lambda chunk, known: (chunk[known],), labels != UNLABELED)]
    (total,) = add_up(rows.visit(lambda chunk: (unit_rows(chunk).sum(axis=0, dtype=np.float64),)))
    mean = total / max(rows.n_rows, 1)
    marked, known = np.concatenate(parts).astype(np.float64), labels[labels != UNLABELED]
    sums = np.zeros((n_classes, rows.n_columns))
    sum_by_class(marked, known, sums)
    counts = np.bincount(known, minlength=n_classes)
    if _is_degenerate(counts):
        _warn_fallback()
        marked = marked - marked.mean(axis=0)
    else:
        marked = marked - (sums / np.maximum(counts, 1)[:, None])[known]
    _, singular, basis = linalg.svd(marked, full_matrices=False, check_finite=False)
    eigenvalues = singular**2 / len(known)
    if eigenvalues.sum() <= np.finfo(np.float64).tiny:
        return Metric(mean=mean)
    average = eigenvalues.sum() / rows.n_columns
    rest = float(_inverse_roots(np.zeros(1), average, shrinkage)[0])
    return Metric(mean=mean, basis=basis.T, gains=_inverse_roots(eigenvalues, average, shrinkage) - rest, rest=rest)


def _inverse_roots(eigenvalues: Array, average: float, shrinkage: float) -> Array:
    """(w + c)^(-1/2), c = shrinkage * mean(w); eigenvalues that rounding made negative count as 0."""
    floor = max(shrinkage * average, np.finfo(np.float64).eps * max(float(eigenvalues.max(initial=0.0)), average))
    if floor <= 0:
        return np.ones_like(eigenvalues)
    return 1.0 / np.sqrt(np.maximum(eigenvalues, 0) + floor)


def _is_degenerate(class_counts: Array) -> bool:
    """No class has two samples, so there is no scatter within classes."""
    return bool(class_counts.max(initial=0) < 2)


def _warn_fallback() -> None:
    warnings.warn(
        "No class has more than one labeled sample, so there is no within-class covariance to whiten by: "
        "the total covariance of the labeled samples is used instead.",
        UserWarning,
        stacklevel=5,
    )


class WithinClassWhitening(TransformerMixin, BaseEstimator):
    """Make classes round: whiten unit rows by the within-class covariance of the labeled samples.

    Parameters
    ----------
    shrinkage : float, default=0.1
        Added to every eigenvalue, in units of their mean. Larger: closer to plain centering. Smaller: closer to full
        whitening, which amplifies directions that hold only noise.

    Attributes
    ----------
    metric_ : Metric
        The affine map.

    Examples
    --------
    >>> import numpy as np
    >>> from superproto import WithinClassWhitening
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 4)) + 5, rng.integers(3, size=60)
    >>> np.linalg.norm(WithinClassWhitening().fit_transform(X, y), axis=1).round(6).max()
    np.float64(1.0)
    """

    def __init__(self, shrinkage: float = SHRINKAGE) -> None:
        self.shrinkage = shrinkage

    def fit(self, X: Any, y: Any = None) -> WithinClassWhitening:
        """Learn the metric from the rows of X with y != -1 (all rows as one class when y is None)."""
        X = validate_data(self, X, dtype=[np.float64, np.float32, np.float16])
        if not self.shrinkage >= 0:
            raise UserError(f"shrinkage is {self.shrinkage}, but it must be at least 0.")
        problem = check_problem(np.zeros(len(X), dtype=int) if y is None else y)
        self.metric_ = learn_metric(ArrayRows(X), problem.labels, problem.n_classes, self.shrinkage)
        return self

    def transform(self, X: Any) -> Array:
        """Unit rows in the learned metric."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32, np.float16], reset=False)
        rows = ArrayRows(X)
        return np.concatenate([part for (part,) in rows.visit(lambda chunk: (apply_metric(self.metric_, chunk),))])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def apply_metric(metric: Metric, chunk: Array) -> Array:
    """unit -> center -> map -> unit, for a chunk of rows."""
    rows = unit_rows(chunk)
    if metric.mean is not None:
        rows -= metric.mean.astype(rows.dtype)
    return unit_rows(metric.forward(rows))
