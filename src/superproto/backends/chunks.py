"""READ from disk: Zarr, HDF5, Parquet, memory-mapped files, and iterables of chunks that can be read again.

A source says how long its chunks are and hands them out in order; at most one is in memory at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike

from superproto.errors import UserError
from superproto.rows import Array, ArrayRows, Rows, chunk_length, unreadable, working_dtype


class Source(Protocol):
    """Chunks in a fixed order, all of the same width."""

    lengths: list[int]
    n_columns: int
    dtype: np.dtype[Any]

    def read(self, wanted: Sequence[int]) -> Iterator[Any]:
        """The chunks of these (ascending) numbers, one after the other."""
        ...


class ChunkRows:
    """Rows of a source, all or those of an ascending index; a chunk without a chosen row is not read where possible."""

    def __init__(self, source: Source, index: Array | None = None, dtype: DTypeLike | None = None) -> None:
        self.source = source
        self.index = index
        self.edges = np.concatenate([[0], np.cumsum(source.lengths)]).astype(np.int64)
        self.n_rows = int(self.edges[-1] if index is None else len(index))
        self.n_columns = source.n_columns
        self.dtype = source.dtype if dtype is None else np.dtype(dtype)

    def select(self, index: Array | None = None, dtype: DTypeLike | None = None) -> ChunkRows:
        chosen = index if self.index is None or index is None else self.index[index]
        return ChunkRows(self.source, self.index if index is None else chosen, dtype or self.dtype)

    def parts(self) -> list[tuple[int, slice, Array | None]]:
        """Chunk number, its place among the chosen rows, and the rows to take of it (None: all)."""
        if self.index is None:
            return [
                (number, slice(int(a), int(b)), None) for number, (a, b) in enumerate(pairwise(self.edges)) if a < b
            ]
        bounds = np.searchsorted(self.index, self.edges)
        found = []
        for number, (first, last) in enumerate(pairwise(bounds)):
            if first < last:
                local = self.index[first:last] - self.edges[number]
                whole = len(local) == self.source.lengths[number]
                found.append((number, slice(int(first), int(last)), None if whole else local))
        return found

    def visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        parts = self.parts()
        chunks = self.source.read([number for number, _, _ in parts])
        for number, place, local in parts:
            chunk = self._next(chunks, number)
            chunk = chunk if local is None else chunk[local]
            yield function(np.asarray(chunk, dtype=self.dtype), *(values[place] for values in aligned))

    def _next(self, chunks: Iterator[Any], number: int) -> Array:
        start, stop = int(self.edges[number]), int(self.edges[number + 1])
        try:
            chunk = np.asarray(next(chunks))
        except StopIteration:
            raise unreadable(number, start, stop, EOFError("X ended before it")) from None
        except UserError:
            raise
        except Exception as error:
            # A damaged chunk shows itself in many ways, by the library and compressor that find it.
            raise unreadable(number, start, stop, error) from error
        if chunk.shape != (stop - start, self.n_columns):
            wanted = f"({stop - start}, {self.n_columns})"
            raise unreadable(number, start, stop, ValueError(f"its shape is {chunk.shape}, but it was {wanted}"))
        return chunk


class Sliced:
    """An array on disk that gives NumPy arrays for slices of rows: Zarr, HDF5, memory maps."""

    def __init__(self, array: Any) -> None:
        if len(array.shape) != 2 or np.dtype(array.dtype).kind not in "fiub":
            raise UserError(f"X has shape {tuple(array.shape)} and type {array.dtype}. Give a table of numbers.")
        self.array = array
        self.n_columns = int(array.shape[1])
        self.dtype = working_dtype(array.dtype)
        stored = int((getattr(array, "chunks", None) or (1,))[0])
        # Whole stored chunks, as many as fill a pass's chunk: none is read or unpacked twice.
        self.step = stored * max(1, chunk_length(self.n_columns, self.dtype.itemsize) // stored)
        n = int(array.shape[0])
        self.lengths = [min(self.step, n - start) for start in range(0, n, self.step)]

    def read(self, wanted: Sequence[int]) -> Iterator[Any]:
        for number in wanted:
            yield self.array[number * self.step : number * self.step + self.lengths[number]]


class Repeated:
    """An iterable of chunks that starts anew each time it is iterated; it is read once to learn the chunks' lengths."""

    def __init__(self, chunks: Iterable[Any]) -> None:
        self.chunks = chunks
        self.lengths: list[int] = []
        widths, kinds = set(), set()
        for number, part in enumerate(chunks):
            chunk = np.asarray(part)
            if chunk.ndim != 2 or chunk.dtype.kind not in "fiub":
                raise UserError(f"Chunk {number} of X has shape {chunk.shape} and type {chunk.dtype}. Give matrices.")
            self.lengths.append(len(chunk))
            widths.add(chunk.shape[1])
            kinds.add(working_dtype(chunk.dtype))
        if len(widths) != 1:
            found = f"chunks of {sorted(widths)} columns" if widths else "no chunk"
            raise UserError(f"X has {found}. Give at least one chunk, all of the same width.")
        self.n_columns = widths.pop()
        self.dtype = max(kinds, key=lambda kind: kind.itemsize)

    def read(self, wanted: Sequence[int]) -> Iterator[Any]:
        chosen, chunks = set(wanted), iter(self.chunks)
        for number in range(max(chosen, default=-1) + 1):
            try:
                chunk = next(chunks)
            except StopIteration:
                return
            except Exception as error:
                # Also on the way to a chunk that is wanted.
                start = sum(self.lengths[:number])
                raise unreadable(number, start, start + self.lengths[number], error) from error
            if number in chosen:
                yield chunk


class Parquet:
    """An Arrow data set of Parquet files: every column a number, or one column of fixed-size lists."""

    def __init__(self, dataset: Any) -> None:
        _check_columns(dataset.schema)
        self.fragments = [group for fragment in dataset.get_fragments() for group in fragment.split_by_row_group()]
        head = matrix_of(dataset.head(1))
        self.n_columns, self.dtype = head.shape[1], working_dtype(head.dtype)
        self.step = chunk_length(self.n_columns, self.dtype.itemsize)
        self.groups: list[tuple[int, int]] = []
        self.lengths: list[int] = []
        for group, fragment in enumerate(self.fragments):
            n = sum(part.num_rows for part in fragment.row_groups)
            for start in range(0, n, self.step):
                self.groups.append((group, start))
                self.lengths.append(min(self.step, n - start))

    def read(self, wanted: Sequence[int]) -> Iterator[Any]:
        opened, rows, position = -1, iter(()), 0
        for number in wanted:
            group, start = self.groups[number]
            if group != opened:
                opened, position, rest = group, 0, np.zeros((0, self.n_columns))
                rows = self.fragments[group].to_batches(batch_size=self.step, use_threads=False, batch_readahead=0)
            while position < start + self.lengths[number]:
                rest, position = _advance(rest, position, start, next(rows))
            yield rest[: self.lengths[number]]
            rest = rest[self.lengths[number] :]


def _advance(rest: Array, position: int, start: int, batch: Any) -> tuple[Array, int]:
    """What is left of the rows from ``start`` on after one more batch, and the row that comes next."""
    found = matrix_of(batch)
    rows = np.concatenate([rest, found]) if len(rest) else found
    position += len(found)
    return rows[max(0, len(rows) - (position - start)) :], position


def _check_columns(schema: Any) -> None:
    import pyarrow as pa

    listed = [pa.types.is_fixed_size_list(field.type) for field in schema]
    numeric = [pa.types.is_integer(f.type) or pa.types.is_floating(f.type) for f in schema]
    if not ((len(listed) == 1 and listed[0]) or (listed and all(numeric))):
        strange = [f.name for f, fine in zip(schema, numeric) if not fine] or ["no column"]
        raise UserError(f"X has column '{strange[0]}' that is no number. Select the columns of features.")


def matrix_of(table: Any) -> Array:
    """An Arrow table or batch as a matrix."""
    first = table.column(0)
    first = first.combine_chunks() if hasattr(first, "combine_chunks") else first
    if table.num_columns == 1 and hasattr(first.type, "list_size"):
        return np.asarray(first.flatten()).reshape(len(first), first.type.list_size)
    return np.column_stack([np.asarray(column) for column in table.columns])


def open_rows(path: str | os.PathLike[str]) -> Rows:
    """A file or folder of features that stays on the disk: .npy, .zarr, .h5 (its only 2-d array), Parquet."""
    place = Path(path)
    if not os.path.exists(place):
        raise UserError(f"{path} does not exist. Check the path.")
    suffix = place.suffix.lower()
    if suffix == ".npy":
        return ArrayRows(np.load(place, mmap_mode="r", allow_pickle=False))
    if suffix == ".zarr":
        return ChunkRows(Sliced(_package("zarr").open_array(str(place), mode="r")))
    if suffix in (".h5", ".hdf5"):
        return ChunkRows(Sliced(_only_matrix(_package("h5py").File(place, "r"), place)))
    if suffix == ".parquet" or place.is_dir():
        return ChunkRows(Parquet(_package("pyarrow.dataset").dataset(str(place), format="parquet")))
    raise UserError(f"{path} ends in '{suffix}'. Give a .npy, .zarr, .h5 or .parquet of features.")


def _package(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise UserError(f'This needs {name.split(".")[0]}: pip install "superproto[scale]".') from None


def _only_matrix(file: Any, place: Path) -> Any:
    found = [item for item in file.values() if len(getattr(item, "shape", ())) == 2]
    if len(found) != 1:
        raise UserError(f"{place} has {len(found)} tables of numbers. Give the one that holds the features.")
    return found[0]
