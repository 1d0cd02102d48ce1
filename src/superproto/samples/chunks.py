"""READ: visit the rows of a sample array a chunk at a time.

Everything computed from samples is a function of one chunk, whose results are either added up or concatenated. So a
backend (memory, disk, Dask, GPU) offers a single method, :meth:`ChunkedRows.visit`. The function is a
``functools.partial`` of one in :mod:`superproto.samples.kernels`. The small arrays bound in it are sent to each worker
or device once per pass. A *pass* is one visit of all chunks.
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
# Largest absolute value of a feature. Sums of squares of larger values can overflow in float32.
LARGEST = 1e15
CHUNK_BYTES = 32 * 2**20
# Chunks that need a copy or a conversion are kept in memory from the third pass on, up to this total size.
KEPT_BYTES = 256 * 2**20


class ChunkedRows(Protocol):
    """Samples as a solver sees them: the numbers of rows and columns, the precision, and visits by chunks."""

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]

    def visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        """Call ``function(chunk, *aligned_chunk)`` for each chunk, in order; yield what it returns, as NumPy arrays."""
        ...

    def select(self, index: Array | None = None, dtype: DTypeLike | None = None) -> ChunkedRows:
        """Return the same samples, or those of an ascending index, read at a given precision."""
        ...


def working_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return the precision of a pass: float64 for float64, and float32 for every other type."""
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def chunk_length(n_columns: int, itemsize: int, chunk_bytes: int = CHUNK_BYTES) -> int:
    """Return the number of rows that fill about ``chunk_bytes``, at least 64."""
    return max(64, chunk_bytes // max(1, n_columns * itemsize))


class ArrayRows:
    """All or selected rows of an array in memory, a memory map, or any object whose slices are NumPy arrays.

    The whole array is never copied. A chunk is a view if its rows are contiguous and of the right type.
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
    """Return the error for a chunk that cannot be read. A checkpoint that was written before stays usable."""
    reason = " ".join(str(error).split()) or type(error).__name__
    return UserError(
        f"Chunk {number} of X (rows {start} to {stop - 1}) cannot be read: {reason[:300]}. "
        "Repair or replace it; a fit with checkpoint= resumes at its last iteration."
    )


def rows_of(X: Any, index: Array | None = None, dtype: DTypeLike | None = None) -> ChunkedRows:
    """Return an array or :class:`ChunkedRows` as :class:`ChunkedRows`: all rows, or those of an ascending index."""
    if hasattr(X, "visit"):
        chosen: ChunkedRows = X.select(index, dtype)
        return chosen
    return ArrayRows(X, index, dtype=dtype)


def add_up(results: Iterator[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Sum each component over the chunks, in float64."""
    return gather(results, concatenated=0)[1]


def gather(results: Iterator[tuple[Any, ...]], concatenated: int) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
    """Concatenate the first ``concatenated`` components over the chunks, and sum the others in float64.

    If ``results`` has a method ``gather`` (results on a cluster), that method does it on the workers.
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
    """Return the rows unchanged: the kernel of :func:`in_memory`."""
    return (chunk,)


def in_memory(rows: ChunkedRows) -> Array:
    """Return all rows in one array."""
    return gather(rows.visit(unchanged), concatenated=1)[0][0]


def rows_at(X: Any, index: Array) -> Array:
    """Return the rows of an ascending index as an array in memory."""
    return X[index] if isinstance(X, np.ndarray) else in_memory(rows_of(X, index))
