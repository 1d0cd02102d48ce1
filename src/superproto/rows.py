"""READ: visit the rows of a sample array a chunk at a time.

This is the only place that knows how samples are stored. Everything that is ever computed from samples is a function of
one chunk whose results are either added up or strung together, so a backend has a single method to offer:
:meth:`Rows.visit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]
CHUNK_BYTES = 32 * 2**20


class Rows(Protocol):
    """Samples as a solver sees them: a length, a width, a precision, and visits by chunks."""

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]

    def visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        """Call ``function(chunk, *aligned_chunk)`` for each chunk, in order; yield what it returns."""
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

    def visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        for start in range(0, self.n_rows, self.chunk_rows):
            part = slice(start, min(start + self.chunk_rows, self.n_rows))
            yield function(self._read(part), *(values[part] for values in aligned))

    def _read(self, part: slice) -> Array:
        if self.index is not None:
            chosen = self.index[part]
            contiguous = len(chosen) > 0 and chosen[-1] - chosen[0] + 1 == len(chosen)
            rows = self.array[int(chosen[0]) : int(chosen[-1]) + 1] if contiguous else self.array[chosen]
        else:
            rows = self.array[part]
        return np.asarray(rows, dtype=self.dtype)


def add_up(results: Iterator[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Sum each component over the chunks, in float64."""
    total: list[Any] = []
    for result in results:
        if not total:
            total = [np.array(part, dtype=np.float64) for part in result]
        else:
            for accumulated, part in zip(total, result):
                accumulated += part
    return tuple(total)
