"""WHITEN: learn from the labeled samples the metric in which the within-class covariance is close to the identity.

    (roots ->) unit rows -> minus mean -> times W, W W' = (S + c I)^-1 -> unit rows,  c = tr(S) / (N - m)

S is the pooled within-class covariance of the N labeled rows of m classes. c may be given as ``shrinkage`` times the
mean eigenvalue. W is triangular, from a Cholesky factor. Any other W with the same W W' is a rotation of it, but needs
an eigendecomposition and twice the multiplications. Unlabeled rows (label -1) contribute to the mean only.

Features that are never negative (counts, histograms, outputs of a ReLU) are heavy-tailed: a few large values determine
the direction of a row. Estimators therefore take their square roots first (:func:`is_nonnegative`).
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

# Columns of a triangular matrix that are multiplied at once. The rows of zeros below a block are skipped.
BLOCK_COLUMNS = 256
# Upper bound of the rounding error of float32 in an eigenvalue of the covariance of unit rows.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Metric:
    """An affine map of unit rows: x -> (x - mean) W, with W a ``matrix`` (d, d), or rest I + B diag(gains) B'.

    With ``None`` everywhere it is the identity. With ``root``, x is the unit row of the features' square roots.
    """

    mean: Array | None = None
    matrix: Array | None = None
    basis: Array | None = None
    gains: Array | None = None
    rest: float = 1.0
    root: bool = False

    def forward(self, rows: Array) -> Array:
        """Return rows W. The mean is not subtracted here."""
        if self.matrix is not None:
            return _product(rows, like(self.matrix, rows), self._blocks)
        if self.basis is None or self.gains is None:
            return rows
        basis = like(self.basis, rows)
        return float(self.rest) * rows + ((rows @ basis) * like(self.gains, rows)) @ basis.T

    def backward(self, rows: Array) -> Array:
        """Return rows W': <x W, p> = <x, p W'>, so a product with whitened rows becomes one with raw rows."""
        if self.matrix is not None:
            return rows @ self.matrix.T
        return self.forward(rows)

    def undo(self, rows: Array) -> Array:
        """Return rows W^-1: map whitened vectors back to the space of the features."""
        if self.matrix is not None:
            return np.asarray(np.linalg.solve(self.matrix.T, rows.T).T)
        return self._undo_symmetric(rows)

    def undo_transposed(self, rows: Array) -> Array:
        """Return rows W^-1': <u W^-1, t> = <u, t W^-1'>."""
        if self.matrix is not None:
            return np.asarray(np.linalg.solve(self.matrix, rows.T).T)
        return self._undo_symmetric(rows)

    def _undo_symmetric(self, rows: Array) -> Array:
        """Multiply by the inverse of rest I + B diag(gains) B', by its eigenvalues."""
        if self.basis is None or self.gains is None:
            return rows
        change = 1 / (self.rest + self.gains) - 1 / self.rest
        return np.asarray(rows / self.rest + ((rows @ self.basis) * change) @ self.basis.T)

    @cached_property
    def _blocks(self) -> list[tuple[int, int, int]]:
        """The first column, the last column and the last nonzero row of every block of columns of the matrix."""
        assert self.matrix is not None
        starts = range(0, self.matrix.shape[1], BLOCK_COLUMNS)
        blocks = [(start, min(start + BLOCK_COLUMNS, self.matrix.shape[1])) for start in starts]
        filled = [np.flatnonzero(self.matrix[:, start:stop].any(axis=1)) for start, stop in blocks]
        return [(start, stop, int(rows.max(initial=0)) + 1) for (start, stop), rows in zip(blocks, filled)]

    def through(self, rows: ChunkedRows) -> ChunkedRows:
        """Return the rows, or their square roots if ``root``; roots of few rows are computed once and kept."""
        if not self.root:
            return rows
        if isinstance(rows, ArrayRows) and 0 < rows.n_rows * rows.n_columns * rows.dtype.itemsize <= KEPT_BYTES:
            return ArrayRows(in_memory(RootRows(rows)), chunk_rows=rows.chunk_rows)
        return RootRows(rows)

    def at(self, dtype: DTypeLike) -> Metric:
        """Return the same map at another precision. Convert once for a whole pass."""
        arrays = {name: getattr(self, name) for name in ("mean", "matrix", "basis", "gains")}
        changed: dict[str, Any] = {k: np.asarray(array, dtype) for k, array in arrays.items() if array is not None}
        return replace(self, **changed)


def _product(rows: Array, matrix: Array, blocks: list[tuple[int, int, int]]) -> Array:
    """Return rows @ matrix; skip the rows of zeros below each block of columns."""
    parts = [rows[:, :height] @ matrix[:height, start:stop] for start, stop, height in blocks]
    if len(parts) == 1:
        return parts[0]
    if isinstance(rows, np.ndarray):
        return np.concatenate(parts, axis=1)
    return namespace(rows).concat(parts, axis=1)


class RootRows:
    """The square roots of nonnegative rows, computed chunk by chunk."""

    def __init__(self, rows: ChunkedRows) -> None:
        self.rows = rows
        self.n_rows, self.n_columns, self.dtype = rows.n_rows, rows.n_columns, rows.dtype
        self.far = getattr(rows, "far", False)

    def visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        return self.rows.visit(partial(on_square_roots, function=function), *aligned)

    def select(self, index: Array | None = None, dtype: DTypeLike | None = None) -> RootRows:
        return RootRows(self.rows.select(index, dtype))


def is_nonnegative(rows: ChunkedRows) -> bool:
    """Tell whether no value is below zero; estimators then take square roots first."""
    (below,) = add_up(rows.visit(negative))
    return not below


class _Moments(NamedTuple):
    """The sums that one pass over the rows computes; see :func:`superproto.samples.kernels.moments`."""

    class_sums: Array
    class_counts: Array
    pool_sum: Array
    second: Array


def learn_metric(
    rows: ChunkedRows, labels: Array, n_classes: int, shrinkage: float | None = None, root: bool = False
) -> Metric:
    """Learn the whitening metric from the labeled rows.

    Parameters
    ----------
    rows, labels
        Samples and their class numbers; -1 is unlabeled. The mean is over all rows, labeled or not.
    n_classes : int
        The number of classes.
    shrinkage : float, optional
        Larger: closer to no whitening. The default is :func:`natural_shrinkage`.
    root : bool, default=False
        Take square roots of the features first.
    """
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
    """Return W (d, d) with W W' = (within + c I)^-1; triangular, unless rounding could make the sum indefinite."""
    average = float(np.trace(within)) / len(within)
    if shrinkage * average > ROUNDING:
        within[np.diag_indices_from(within)] += shrinkage * average
        factor = linalg.cholesky(within, overwrite_a=True, check_finite=False)
        return np.ascontiguousarray(linalg.lapack.dtrtri(factor, overwrite_c=True)[0])
    eigenvalues, basis = linalg.eigh(within, overwrite_a=True, check_finite=False, driver="evd")
    return np.asarray(basis * _inverse_roots(eigenvalues, average, shrinkage))


def natural_shrinkage(labels: Array, n_columns: int) -> float:
    """Return the default shrinkage d / (N - m), so that c = tr(S) / (N - m), the scatter per degree of freedom.

    With many rows per feature the whitening is nearly complete; with few rows it is weak.
    """
    known = labels[labels != UNLABELED]
    return n_columns / max(1, len(known) - len(np.unique(known)))


def _thin_metric(rows: ChunkedRows, labels: Array, n_classes: int, shrinkage: float) -> Metric:
    """Learn the same metric from fewer labeled rows than features, without a (d, d) matrix."""
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
    """Return (w + c)^(-1/2) with c = shrinkage * mean(w); eigenvalues that rounding made negative count as 0."""
    floor = max(shrinkage * average, np.finfo(np.float64).eps * max(float(eigenvalues.max(initial=0.0)), average))
    if floor <= 0:
        return np.ones_like(eigenvalues)
    return 1.0 / np.sqrt(np.maximum(eigenvalues, 0) + floor)


def _is_degenerate(class_counts: Array) -> bool:
    """Tell whether no class has two samples, so that there is no within-class covariance."""
    return bool(class_counts.max(initial=0) < 2)


def _warn_fallback() -> None:
    warnings.warn(
        "No class has more than one labeled sample, so there is no within-class covariance for whitening. "
        "The total covariance of the labeled samples is used instead.",
        UserWarning,
        stacklevel=5,
    )


def apply_metric(metric: Metric, chunk: Array) -> Array:
    """Apply the metric to a chunk of rows: square roots if ``root``, unit rows, minus mean, times W, unit rows."""
    rows = unit_rows(square_roots(chunk) if metric.root else chunk)
    if metric.mean is not None:
        rows -= like(metric.mean, rows)
    return unit_rows(metric.forward(rows))
