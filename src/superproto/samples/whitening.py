"""WHITEN: the metric learned from the labeled samples, in which classes are round.

    (roots ->) unit rows -> minus mean -> times W, W W' = (S + c I)^-1 -> unit rows,  c = tr(S) / (N - m)

S is the pooled within-class covariance of the labeled rows (c may be given: shrinkage * mean eigenvalue). W is
triangular, from a Cholesky factor: any other W with this W W' is a rotation of it, but takes an eigendecomposition and
twice the products. No test label is used: unlabeled rows (label -1) enter the mean alone. See ``docs/math.md`` for
what this does to real features.

Features that are never negative (counts, histograms, what comes out of a ReLU) are heavy-tailed: a few large values
make a row's direction. Their square roots are rounder; estimators take these first (:func:`is_nonnegative`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import linalg

from superproto.samples.chunks import KEPT_BYTES, UNLABELED, Array, ArrayRows, ChunkedRows, add_up, in_memory
from superproto.samples.kernels import (
    labeled_unit_rows,
    like,
    moments,
    namespace,
    negative,
    on_square_roots,
    square_roots,
    sums_by_class,
    unit_rows,
    unit_sum,
)

# Columns of a triangular map that are taken at once; the rows of zeros below them are not.
BLOCK_COLUMNS = 256
# What float32 may take from an eigenvalue of the scatter of unit rows is surely less.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Metric:
    """An affine map of unit rows: x -> (x - mean) W, with W a ``matrix`` (d, d), or rest I + B diag(gains) B'.

    ``None`` everywhere: x -> x. ``root``: x is the unit row of the features' square roots.
    """

    mean: Array | None = None
    matrix: Array | None = None
    basis: Array | None = None
    gains: Array | None = None
    rest: float = 1.0
    root: bool = False

    def forward(self, rows: Array) -> Array:
        """rows W: from unit features to the metric (the mean is not subtracted here)."""
        if self.matrix is not None:
            return _product(rows, like(self.matrix, rows), self._blocks)
        if self.basis is None or self.gains is None:
            return rows
        basis = like(self.basis, rows)
        return float(self.rest) * rows + ((rows @ basis) * like(self.gains, rows)) @ basis.T

    def backward(self, rows: Array) -> Array:
        """rows W': what a vector of the metric is multiplied with when features come as they are."""
        if self.matrix is not None:
            return rows @ self.matrix.T
        return self.forward(rows)

    def undo(self, rows: Array) -> Array:
        """rows W^-1: what vectors of the metric are among the features."""
        if self.matrix is not None:
            return np.asarray(np.linalg.solve(self.matrix.T, rows.T).T)
        return self._undo_symmetric(rows)

    def undo_transposed(self, rows: Array) -> Array:
        """rows W^-1': <u W^-1, t> = <u, t W^-1'>."""
        if self.matrix is not None:
            return np.asarray(np.linalg.solve(self.matrix, rows.T).T)
        return self._undo_symmetric(rows)

    def _undo_symmetric(self, rows: Array) -> Array:
        """Of r I + B diag(g) B' by its eigenvalues."""
        if self.basis is None or self.gains is None:
            return rows
        change = 1 / (self.rest + self.gains) - 1 / self.rest
        return np.asarray(rows / self.rest + ((rows @ self.basis) * change) @ self.basis.T)

    @cached_property
    def _blocks(self) -> list[tuple[int, int, int]]:
        """(first column, last column, last row that is not all zero) of every block of the matrix's columns."""
        assert self.matrix is not None
        starts = range(0, self.matrix.shape[1], BLOCK_COLUMNS)
        blocks = [(start, min(start + BLOCK_COLUMNS, self.matrix.shape[1])) for start in starts]
        filled = [np.flatnonzero(self.matrix[:, start:stop].any(axis=1)) for start, stop in blocks]
        return [(start, stop, int(rows.max(initial=0)) + 1) for (start, stop), rows in zip(blocks, filled)]

    def through(self, rows: ChunkedRows) -> ChunkedRows:
        """The rows that the map is for: as they are, or their roots, which are kept if they are few."""
        if not self.root:
            return rows
        if isinstance(rows, ArrayRows) and 0 < rows.n_rows * rows.n_columns * rows.dtype.itemsize <= KEPT_BYTES:
            return ArrayRows(in_memory(RootRows(rows)), chunk_rows=rows.chunk_rows)
        return RootRows(rows)

    def at(self, dtype: DTypeLike) -> Metric:
        """The same map at a precision, converted once for a whole pass."""
        arrays = {name: getattr(self, name) for name in ("mean", "matrix", "basis", "gains")}
        changed: dict[str, Any] = {k: np.asarray(array, dtype) for k, array in arrays.items() if array is not None}
        return replace(self, **changed)


def _product(rows: Array, matrix: Array, blocks: list[tuple[int, int, int]]) -> Array:
    """rows @ matrix, without the rows of zeros below each block of columns."""
    parts = [rows[:, :height] @ matrix[:height, start:stop] for start, stop, height in blocks]
    if len(parts) == 1:
        return parts[0]
    if isinstance(rows, np.ndarray):
        return np.concatenate(parts, axis=1)
    return namespace(rows).concat(parts, axis=1)


class RootRows:
    """The square roots of rows that are never negative, taken chunk by chunk."""

    def __init__(self, rows: ChunkedRows) -> None:
        self.rows = rows
        self.n_rows, self.n_columns, self.dtype = rows.n_rows, rows.n_columns, rows.dtype
        self.far = getattr(rows, "far", False)

    def visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        return self.rows.visit(partial(on_square_roots, function=function), *aligned)

    def select(self, index: Array | None = None, dtype: DTypeLike | None = None) -> RootRows:
        return RootRows(self.rows.select(index, dtype))


def is_nonnegative(rows: ChunkedRows) -> bool:
    """No value is below zero: then square roots come first."""
    (below,) = add_up(rows.visit(negative))
    return not below


class _Moments(NamedTuple):
    """What one pass over the rows adds up."""

    class_sums: Array
    class_counts: Array
    pool_sum: Array
    second: Array


def learn_metric(
    rows: ChunkedRows, labels: Array, n_classes: int, shrinkage: float | None = None, root: bool = False
) -> Metric:
    """The within-class metric of the labeled rows (or of their roots); the mean is over all rows, labeled or not."""
    if root:
        return replace(learn_metric(RootRows(rows), labels, n_classes, shrinkage), root=True)
    labeled = int(np.count_nonzero(labels != UNLABELED))
    if shrinkage is None:
        shrinkage = natural_shrinkage(labels, rows.n_columns)
    if labeled < rows.n_columns:
        return _thin_metric(rows, labels, n_classes, shrinkage)
    found = _Moments(*add_up(rows.visit(partial(moments, n_classes=n_classes), labels)))
    mean = (found.class_sums.sum(axis=0) + found.pool_sum) / max(rows.n_rows, 1)
    within = found.second
    if _is_degenerate(found.class_counts):
        _warn_fallback()
        center = found.class_sums.sum(axis=0) / labeled
        within -= labeled * np.outer(center, center)
    else:
        within -= (found.class_sums / np.maximum(found.class_counts, 1)[:, None]).T @ found.class_sums
    within /= labeled
    return Metric(mean=mean, matrix=whitening_matrix(within, shrinkage))


def whitening_matrix(within: Array, shrinkage: float) -> Array:
    """W (d, d) with W W' = (within + c I)^-1; triangular, unless rounding could make the sum indefinite."""
    average = float(np.trace(within)) / len(within)
    if shrinkage * average > ROUNDING:
        within[np.diag_indices_from(within)] += shrinkage * average
        factor = linalg.cholesky(within, overwrite_a=True, check_finite=False)
        return np.ascontiguousarray(linalg.lapack.dtrtri(factor, overwrite_c=True)[0])
    eigenvalues, basis = linalg.eigh(within, overwrite_a=True, check_finite=False, driver="evd")
    return np.asarray(basis * _inverse_roots(eigenvalues, average, shrinkage))


def natural_shrinkage(labels: Array, n_columns: int) -> float:
    """d / (N - m): then c = tr(W) / (N - m), the scatter that one degree of freedom of the labeled rows carries.

    Many rows for their number of features are whitened nearly in full, few rows hardly; no data set needs a number.
    """
    known = labels[labels != UNLABELED]
    return n_columns / max(1, len(known) - len(np.unique(known)))


def _thin_metric(rows: ChunkedRows, labels: Array, n_classes: int, shrinkage: float) -> Metric:
    """The same metric when there are fewer labeled rows than features: no (d, d) matrix is formed."""
    parts = [part for (part,) in rows.visit(labeled_unit_rows, labels != UNLABELED)]
    (total,) = add_up(rows.visit(unit_sum))
    mean = total / max(rows.n_rows, 1)
    marked, known = np.concatenate(parts).astype(np.float64), labels[labels != UNLABELED]
    sums = sums_by_class(marked, known, np.ones(len(marked)), n_classes)
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


def apply_metric(metric: Metric, chunk: Array) -> Array:
    """(root ->) unit -> center -> map -> unit, for a chunk of rows."""
    rows = unit_rows(square_roots(chunk) if metric.root else chunk)
    if metric.mean is not None:
        rows -= like(metric.mean, rows)
    return unit_rows(metric.forward(rows))
