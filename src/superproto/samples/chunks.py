"""READ: visit the rows of a sample array a chunk at a time.

This is the only place that knows how samples are stored. Everything that is ever computed from samples is a function of
one chunk whose results are either added up or concatenated, so a backend has a single method to offer:
:meth:`ChunkedRows.visit`. Such a function is a ``functools.partial`` of a function in
:mod:`superproto.samples.kernels`; the small arrays bound in it travel once per pass, to every worker or to the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from superproto.errors import UserError
from superproto.samples.timing import span

Array = NDArray[Any]
UNLABELED = -1
# Beyond it the square of a float32 number is infinite.
LARGEST = 1e15
CHUNK_BYTES = 32 * 2**20
# Rows that every pass would have to gather or convert anew are kept from the third pass on, up to this size.
KEPT_BYTES = 256 * 2**20


class ChunkedRows(Protocol):
    """Samples as a solver sees them: a length, a width, a precision, and visits by chunks."""

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]

    def visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        """Call ``function(chunk, *aligned_chunk)`` for each chunk, in order; yield what it returns, as NumPy arrays."""
        ...

    def select(self, index: Array | None = None, dtype: DTypeLike | None = None) -> ChunkedRows:
        """The same samples, or those of an ascending index, read at a given precision."""
        ...


def working_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Precision of a pass: float64 stays, all else (float16, float32, integers) is read as float32."""
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def chunk_length(n_columns: int, itemsize: int, chunk_bytes: int = CHUNK_BYTES) -> int:
    """Rows of a chunk that fills about ``chunk_bytes``."""
    return max(64, chunk_bytes // max(1, n_columns * itemsize))


class ArrayRows:
    """Rows of an array in memory or memory-mapped (or whatever slices into NumPy arrays), all or a selection of them.

    No copy of the whole is ever made: a chunk is a view where rows are contiguous and of the right type.
    """

    def __init__(
        self, array: Any, index: Array | None = None, chunk_rows: int | None = None, dtype: DTypeLike | None = None
    ) -> None:
        self.array = array
        self.index = index
        self.n_rows = int(array.shape[0] if index is None else len(index))
        self.n_columns = int(array.shape[1])
        self.dtype = working_dtype(array.dtype) if dtype is None else np.dtype(dtype)
        self.chunk_rows = chunk_rows or chunk_length(self.n_columns, self.dtype.itemsize)
        self._visits = 0
        self._kept: dict[int, Array] = {}

    def visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        self._visits += 1
        small = self.n_rows * self.n_columns * self.dtype.itemsize <= KEPT_BYTES
        for start in range(0, self.n_rows, self.chunk_rows):
            part = slice(start, min(start + self.chunk_rows, self.n_rows))
            with span("read"):
                chunk = self._kept[start] if start in self._kept else self._read(part)
            if self._visits > 2 and small and chunk.base is None:
                self._kept[start] = chunk
            yield function(chunk, *(values[part] for values in aligned))

    def select(self, index: Array | None = None, dtype: DTypeLike | None = None) -> ArrayRows:
        chosen = index if self.index is None or index is None else self.index[index]
        return ArrayRows(self.array, self.index if index is None else chosen, dtype=dtype or self.dtype)

    def _read(self, part: slice) -> Array:
        try:
            if self.index is not None:
                chosen = self.index[part]
                contiguous = len(chosen) > 0 and chosen[-1] - chosen[0] + 1 == len(chosen)
                rows = self.array[int(chosen[0]) : int(chosen[-1]) + 1] if contiguous else self.array[chosen]
            else:
                rows = self.array[part]
            return np.asarray(rows, dtype=self.dtype)
        except OSError as error:
            raise unreadable(part.start // self.chunk_rows, part.start, part.stop, error) from error


def unreadable(number: int, start: int, stop: int, error: BaseException) -> UserError:
    """What to say when a chunk cannot be read; a checkpoint that was written before stays as it is."""
    reason = " ".join(str(error).split()) or type(error).__name__
    return UserError(
        f"Chunk {number} of X (rows {start} to {stop - 1}) cannot be read: {reason[:300]}. "
        "Repair or replace it; a fit with checkpoint= goes on from its last iteration."
    )


def rows_of(X: Any, index: Array | None = None, dtype: DTypeLike | None = None) -> ChunkedRows:
    """Rows of an array, or of what is already :class:`ChunkedRows`: all, or those of an ascending index."""
    if hasattr(X, "visit"):
        chosen: ChunkedRows = X.select(index, dtype)
        return chosen
    return ArrayRows(X, index, dtype=dtype)


def add_up(results: Iterator[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Sum each component over the chunks, in float64."""
    return gather(results, concatenated=0)[1]


def gather(results: Iterator[tuple[Any, ...]], concatenated: int) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
    """Concatenate the first components over the chunks, so many of them; sum the others in float64.

    A backend whose chunks are far away returns results that do this themselves, near the chunks.
    """
    with span("passes"):
        return _gathered(results, concatenated)


def _gathered(results: Iterator[tuple[Any, ...]], concatenated: int) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
    if hasattr(results, "gather"):
        remote: tuple[tuple[Array, ...], tuple[Any, ...]] = results.gather(concatenated)
        return remote
    lists: list[list[Array]] = [[] for _ in range(concatenated)]
    total: list[Any] = []
    for result in results:
        for found, part in zip(lists, result):
            found.append(part)
        if not total:
            total = [np.array(part, dtype=np.float64) for part in result[concatenated:]]
        else:
            for accumulated, part in zip(total, result[concatenated:]):
                accumulated += part
    return tuple(np.concatenate(found) if found else np.zeros(0) for found in lists), tuple(total)


def unchanged(chunk: Array) -> tuple[Array]:
    """The rows themselves."""
    return (chunk,)


def in_memory(rows: ChunkedRows) -> Array:
    """All rows in one array."""
    return gather(rows.visit(unchanged), concatenated=1)[0][0]


def rows_at(X: Any, index: Array) -> Array:
    """The rows of an ascending index, in memory; those of an array as they are."""
    return X[index] if isinstance(X, np.ndarray) else in_memory(rows_of(X, index))
