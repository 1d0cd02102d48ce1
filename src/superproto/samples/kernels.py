"""COMPUTE: the kernels, functions of one chunk of rows, in the array library of the chunk.

Only these functions run on a worker or a GPU. They take and return small arrays and keep no state. They use the array
API that NumPy, torch and CuPy share. ``like`` moves a small array to the device of the chunk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from scipy import sparse

from superproto.samples.chunks import LARGEST, UNLABELED, Array

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def progress_label(words: str) -> Callable[[Kernel], Kernel]:
    """Give a kernel the name under which progress lines report it."""

    def declare(kernel: Kernel) -> Kernel:
        cast(Any, kernel).progress_label = words
        return kernel

    return declare


def namespace(chunk: Any) -> Any:
    """Return the array library of a chunk."""
    if isinstance(chunk, np.ndarray):
        return np
    from array_api_compat import array_namespace

    return array_namespace(chunk)


def like(values: Any, chunk: Any) -> Any:
    """Return a small array on the device of the chunk, at the chunk's precision."""
    if isinstance(chunk, np.ndarray):
        return np.asarray(values, dtype=chunk.dtype)
    xp = namespace(chunk)
    return xp.asarray(values, dtype=chunk.dtype, device=chunk.device)


def unit_rows(rows: Array) -> Array:
    """Scale each row to length 1; an all-zero row stays zero."""
    xp = namespace(rows)
    return rows / xp.clip(row_lengths(rows)[:, None], float(xp.finfo(rows.dtype).smallest_normal), None)


def row_lengths(rows: Array) -> Array:
    """(N,) |x_i|."""
    if isinstance(rows, np.ndarray):
        return np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return namespace(rows).linalg.vector_norm(rows, axis=1)


def sums_by_class(rows: Array, labels: Array, weights: Array, n_classes: int) -> Array:
    """(n, d) sum of w_i x_i over the rows of each class; rows with label -1 belong to none."""
    if isinstance(rows, np.ndarray):
        member = np.flatnonzero(labels != UNLABELED)
        entries = (weights[member].astype(rows.dtype, copy=False), (labels[member], member))
        return np.asarray(sparse.csr_array(entries, shape=(n_classes, len(rows))) @ rows)
    xp = namespace(rows)
    columns = xp.arange(n_classes, device=rows.device)
    return (xp.astype(labels[:, None] == columns, rows.dtype) * like(weights, rows)[:, None]).T @ rows


# Below it the square of a float32 number is zero.
SMALLEST = 1e-15
NEWTON_STEPS = 60
# Stands for a rate of 0, whose logarithm does not exist. Its effect is below the precision of float32.
SLOWEST = 1e-9
# Entries processed at once, so that they stay in the processor's cache.
BLOCK_ENTRIES = 2**18


def inspect(chunk: Array) -> tuple[Any, Any, Any]:
    """Return how many values are not finite, whether any is not zero, and whether any is too large to be squared."""
    xp, size = namespace(chunk), extent(chunk)
    wrong = 0 if size < np.inf else int(xp.sum(~xp.isfinite(chunk), dtype=xp.int64))
    return wrong, int(size > SMALLEST), int(size > LARGEST)


def extent(chunk: Array) -> float:
    """max |x|."""
    xp = namespace(chunk)
    return max(float(xp.max(chunk)), -float(xp.min(chunk)))


def negative(chunk: Array) -> tuple[Any]:
    """Return whether any value is below zero."""
    return (int(bool(namespace(chunk).any(chunk < 0))),)


def on_square_roots(chunk: Array, *aligned: Any, function: Any) -> tuple[Any, ...]:
    """Apply a kernel to the square roots of the rows; negative values count as zero."""
    found: tuple[Any, ...] = function(square_roots(chunk), *aligned)
    return found


def square_roots(chunk: Array) -> Array:
    """Return the square root of each entry; negative values count as zero."""
    if isinstance(chunk, np.ndarray):
        # In place, because every pass does this: one new array instead of two.
        rows = np.maximum(chunk, 0)
        return np.sqrt(rows, out=rows)
    xp = namespace(chunk)
    return xp.sqrt(xp.clip(chunk, 0, None))


@progress_label("whitening")
def moments(chunk: Array, labels: Array, *, n_classes: int) -> tuple[Array, Array, Array, Array]:
    """Return class sums (C, d), class counts (C,), the sum of unlabeled rows (d,) and X'X of the labeled rows (d, d).

    All are of unit rows.
    """
    xp, rows = namespace(chunk), unit_rows(chunk)
    known = labels != UNLABELED
    sums = sums_by_class(rows, labels, xp.ones_like(rows[:, 0]), n_classes)
    pool = xp.sum(rows, axis=0, dtype=xp.float64) - xp.sum(sums, axis=0, dtype=xp.float64)
    marked = rows if bool(xp.all(known)) else rows[known, :]
    return sums, _counts(labels[known], n_classes, xp), pool, marked.T @ marked


def _counts(labels: Array, n_classes: int, xp: Any) -> Array:
    if xp is np:
        return np.bincount(labels, minlength=n_classes)
    columns = xp.arange(n_classes, device=labels.device)
    return xp.sum(xp.astype(labels[:, None] == columns, xp.int64), axis=0)


def labeled_unit_rows(chunk: Array, known: Array) -> tuple[Array]:
    """Return the labeled rows, scaled to length 1."""
    return (unit_rows(chunk[known, :]),)


def unit_sum(chunk: Array) -> tuple[Array]:
    """(d,) the sum of unit rows."""
    xp = namespace(chunk)
    return (xp.sum(unit_rows(chunk), axis=0, dtype=xp.float64),)


@progress_label("lengths of rows")
def lengths(chunk: Array, *, metric: Any) -> tuple[Array, Array]:
    """Return (N,) s = 1 / (|x| n) and b = 1 / n, with n the length of the unit row after the metric."""
    norms = row_lengths(chunk)
    if metric.mean is None:
        return _inverse(norms), norms * 0 + 1
    shift = _inverse(row_lengths(metric.forward(unit_rows(chunk) - like(metric.mean, chunk))))
    return shift * _inverse(norms), shift


def _inverse(lengths: Array) -> Array:
    """Return 1 / length, and 0 for an all-zero row, which then stays zero."""
    xp, tiny = namespace(lengths), float(np.finfo(np.float32).tiny)
    return xp.where(lengths > tiny, 1 / xp.clip(lengths, tiny, None), lengths * 0)


def apply_scaled_metric(chunk: Array, scale: Array, shift: Array, *, metric: Any) -> tuple[Array]:
    """Return the rows after the metric, W' (s x - b mean)."""
    rows = chunk * like(scale, chunk)[:, None]
    if metric.mean is not None:
        rows = rows - like(shift, chunk)[:, None] * like(metric.mean, chunk)
    return (metric.forward(rows),)


@progress_label("Gram matrix")
def second_moment(chunk: Array, scale: Array, shift: Array) -> tuple[Array, Array]:
    """sum s^2 x x' (d, d) and sum s b x (d,)."""
    rows = chunk * like(scale, chunk)[:, None]
    return rows.T @ rows, like(shift, chunk) @ rows


def class_sums(chunk: Array, scale: Array, shift: Array, labels: Array, *, n_classes: int) -> tuple[Array, Array]:
    """sum s x (n, d) and sum b (n,) over the rows of each class."""
    xp = namespace(chunk)
    ones = xp.ones_like(like(shift, chunk)[:, None])
    sums = sums_by_class(chunk, labels, like(scale, chunk), n_classes)
    return sums, sums_by_class(ones, labels, like(shift, chunk), n_classes)[:, 0]


def scores(chunk: Array, scale: Array, shift: Array, *, folded: Array, offset: Array) -> tuple[Array]:
    """<x~_i, p_j> (N, n) = s_i <x_i, W p_j> - b_i <mean, W p_j>."""
    found = chunk @ like(folded, chunk).T
    found *= like(scale, chunk)[:, None]
    found -= like(shift, chunk)[:, None] * like(offset, chunk)
    return (found,)


def hard(
    chunk: Array, scale: Array, shift: Array, *, folded: Array, offset: Array, bias: Array, with_sums: bool
) -> tuple[Any, ...]:
    """Assign each row to its best class. Return labels (concatenated), then masses, value, sums s x, sums b (added)."""
    xp = namespace(chunk)
    (found,) = scores(chunk, scale, shift, folded=folded, offset=offset)
    found += like(bias, chunk)
    labels = xp.argmax(found, axis=1)
    value = xp.sum(xp.max(found, axis=1), dtype=xp.float64)
    masses = _counts(labels, len(bias), xp)
    if not with_sums:
        return labels, masses, value
    return labels, masses, value, *class_sums(chunk, scale, shift, labels, n_classes=len(bias))


def soft(
    chunk: Array, scale: Array, shift: Array, *,
    folded: Array, offset: Array, bias: Array, temperature: float, own: Array, with_sums: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """Assign rows softly by softmax at a temperature. Return labels, then masses, value, sums Q s x, sums Q b.

    ``own`` (n,) is the self-influence: temperature times the rates of :func:`shares`.
    """
    (found,) = scores(chunk, scale, shift, folded=folded, offset=offset)
    kernel, top = exponentials(found, bias, temperature)
    known: dict[str, Any] = {"factor": None, "temperature": temperature, "own": own, "with_sums": with_sums}
    return soft_sums(chunk, scale, shift, kernel, top, **known)


def exponentials(found: Array, bias: Array, temperature: float) -> tuple[Array, Array]:
    """exp((s_ij + bias_j - top_i) / T) and top_i = max_j (s_ij + bias_j)."""
    xp = namespace(found)
    total = found + like(bias, found)
    top = xp.max(total, axis=1)
    total -= top[:, None]
    total *= 1 / temperature
    if xp is np:
        np.exp(total, out=total)
        return total, top
    return xp.exp(total), top


def soft_sums(
    chunk: Array, scale: Array, shift: Array, kernel: Array, top: Array, *,
    factor: Array | None, temperature: float, own: Array, with_sums: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the result of :func:`soft` from known exponentials, each multiplied by the factor of its class."""
    xp = namespace(chunk)
    weights = kernel if factor is None else kernel * like(factor, chunk)
    labels = xp.argmax(weights, axis=1)
    weights, maxima = shares(weights, own / temperature)
    value = xp.sum(like(top, chunk) + temperature * maxima, dtype=xp.float64)
    masses = xp.sum(weights, axis=0, dtype=xp.float64)
    if not with_sums:
        return labels, masses, value
    shifts = like(shift, chunk) @ weights
    weights *= like(scale, chunk)[:, None]
    return labels, masses, value, weights.T @ chunk, shifts


def shares(weights: Array, rates: Array) -> tuple[Array, Array]:
    """Return the rows q that maximize <q, log w> - <q, log q> - sum_j rate_j q_j^2 / 2 on the simplex, and the maxima.

    q (N, n) is w / sum(w) where all rates are 0. If all classes have the same rate, q and w have the same largest
    class. The maxima are (N,).
    """
    xp = namespace(weights)
    rates = like(rates, weights)
    if not bool(xp.any(rates > 0)):
        norm = xp.sum(weights, axis=1)
        return weights / norm[:, None], xp.log(norm)
    q, maxima = xp.empty_like(weights), xp.empty_like(weights[:, 0])
    length = max(1, BLOCK_ENTRIES // weights.shape[1])
    rates = xp.clip(rates, SLOWEST, None)
    for start in range(0, weights.shape[0], length):
        rows = slice(start, start + length)
        q[rows, :], maxima[rows] = _shares(weights[rows, :], rates)
    return q, maxima


def _shares(weights: Array, rates: Array) -> tuple[Array, Array]:
    """Solve log q_j + rate_j q_j = log w_j + a by Newton's method for log(q / w) and a, with one a for each row.

    It starts with the value of a for q = w / sum(w). After the first step it converges from above.
    """
    xp = namespace(weights)
    tiny = float(xp.finfo(weights.dtype).smallest_normal)
    norm = xp.sum(weights, axis=1)
    logs = xp.log(xp.clip(weights, tiny, None))
    level = xp.sum(rates * (weights / norm[:, None]) ** 2, axis=1) - xp.log(norm)
    first = logs + level[:, None] + xp.log(rates)
    change = xp.log(xp.clip(xp.logaddexp(first, 0 * first), tiny, None)) - xp.log(rates) - logs
    q = weights * xp.exp(change)
    total = xp.sum(q, axis=1)
    for _ in range(NEWTON_STEPS):
        slope = 1 + rates * q
        excess = change + slope - 1
        free = q / slope
        level = (1 - total + xp.sum(free * excess, axis=1)) / xp.sum(free, axis=1)
        change += (level[:, None] - excess) / slope
        q = weights * xp.exp(change)
        total = xp.sum(q, axis=1)
        # To first order the step makes rows sum to 1, so the excess of the sum measures the remaining error.
        if float(xp.max(total)) - 1 < 0.1 * float(xp.finfo(weights.dtype).eps) ** 0.5:
            break
    q = q / total[:, None]
    return q, xp.log(total) - xp.sum(q * change, axis=1) - xp.sum(rates * q * q, axis=1) / 2
