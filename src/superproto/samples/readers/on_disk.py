"""READ: samples on disk, a chunk at a time: .npy, Zarr, HDF5 and Parquet files, and objects with array slicing."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike

from superproto.errors import UserError
from superproto.samples.chunks import Array, ArrayRows, ChunkedRows, chunk_length, in_memory, unreadable, working_dtype
from superproto.samples.readers.hdf5 import check_stored, own_datasets
from superproto.samples.readers.parquet import Parquet, open_dataset
from superproto.samples.readers.zarr_folders import check_chunks, zarr_arrays


class Source(Protocol):
    """Chunks in a fixed order, all of the same width."""

    lengths: list[int]
    n_columns: int
    dtype: np.dtype[Any]

    def read(self, wanted: Sequence[int]) -> Iterator[Any]:
        """Yield the chunks with these (ascending) numbers."""
        ...


class ChunkRows:
    """All rows of a source, or those of an ascending index; chunks without selected rows are skipped if possible."""

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
        """Return for each chunk its number, its slice of the selected rows, and the rows to take of it (None: all)."""
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
            # Libraries and compressors raise many types of errors for a damaged chunk.
            raise unreadable(number, start, stop, error) from error
        if chunk.shape != (stop - start, self.n_columns):
            wanted = f"({stop - start}, {self.n_columns})"
            raise unreadable(number, start, stop, ValueError(f"its shape is {chunk.shape}, but it was {wanted}"))
        return chunk


def checked_table(array: Any) -> Any:
    """Return the array if it is a table of numbers; raise otherwise."""
    if len(array.shape) != 2 or np.dtype(array.dtype).kind not in "fiub":
        raise UserError(f"X has shape {tuple(array.shape)} and type {array.dtype}. Give a table of numbers.")
    return array


class Sliced:
    """An array on disk that gives NumPy arrays for slices of rows: Zarr, HDF5, memory maps."""

    def __init__(self, array: Any) -> None:
        self.array = checked_table(array)
        self.n_columns = int(array.shape[1])
        self.dtype = working_dtype(array.dtype)
        stored = int((getattr(array, "chunks", None) or (1,))[0])
        # A chunk of a pass consists of whole stored chunks, so that none is read or decompressed twice.
        self.step = stored * max(1, chunk_length(self.n_columns, self.dtype.itemsize) // stored)
        n = int(array.shape[0])
        self.lengths = [min(self.step, n - start) for start in range(0, n, self.step)]

    def read(self, wanted: Sequence[int]) -> Iterator[Any]:
        for number in wanted:
            yield self.array[number * self.step : number * self.step + self.lengths[number]]


class Repeated:
    """An iterable of chunks that can be iterated many times. It is read once to find the lengths of the chunks."""

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
                # The error may be in a chunk before the wanted one.
                start = sum(self.lengths[:number])
                raise unreadable(number, start, start + self.lengths[number], error) from error
            if number in chosen:
                yield chunk


class Window:
    """Consecutive rows that are read when they are sliced."""

    def __init__(self, rows: ChunkedRows, start: int = 0, stop: int | None = None) -> None:
        self.rows = rows
        self.start = start
        self.shape = ((rows.n_rows if stop is None else stop) - start, rows.n_columns)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> Array:
        first, last, _ = part.indices(len(self))
        index = np.arange(self.start + first, self.start + last)
        return in_memory(self.rows.select(index))


def ids_of(rows: ChunkedRows, start: int, stop: int) -> Array | None:
    """Return the ids of these rows in the source; None if it has no ids."""
    named = getattr(getattr(rows, "source", None), "ids", None)
    found: Array | None = None if named is None else named(start, stop)
    return found


def open_rows(path: str | os.PathLike[str]) -> ChunkedRows:
    """Open the rows of a file. In a Zarr group or an HDF5 file they are the table ``features``, or the only table."""
    place = Path(path)
    if not os.path.exists(place):
        raise UserError(f"{path} does not exist. Check the path.")
    suffix = ".parquet" if place.is_dir() and place.suffix.lower() not in _OPENERS else place.suffix.lower()
    if suffix == ".npz":
        raise UserError(
            f"{path} is read whole, and chunks are needed here. Make a pack of it (superproto pack --features {path} "
            "--labels LABELS.csv --classes CLASSES.csv -o PACK.npz), or save its features as .npy."
        )
    if suffix not in _OPENERS:
        raise UserError(f"{path} ends in '{suffix}'. Give a .npy, .zarr, .h5 or .parquet of features.")
    try:
        return _OPENERS[suffix](place)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except Exception as error:
        # Libraries raise many types of errors for a damaged file.
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UserError(f"{path} cannot be opened as {suffix} ({reason}). Is it complete?") from error


def _npy(place: Path) -> ChunkedRows:
    return ArrayRows(checked_table(np.load(place, mmap_mode="r", allow_pickle=False)))


def _zarr(place: Path) -> ChunkedRows:
    package = _package("zarr")
    arrays = zarr_arrays(place)
    chosen = arrays[""] if "" in arrays else _table(arrays)
    check_chunks(checked_table(chosen))
    return ChunkRows(Sliced(package.open_array(str(chosen.place), mode="r")))


def _hdf5(place: Path) -> ChunkedRows:
    file = _package("h5py").File(place, "r")
    found = _table(own_datasets(file))
    check_stored(found, place.stat().st_size)
    return ChunkRows(Sliced(found))


def _parquet(place: Path) -> ChunkedRows:
    _package("pyarrow.dataset")
    return ChunkRows(Parquet(open_dataset(place)))


_OPENERS = {".npy": _npy, ".zarr": _zarr, ".h5": _hdf5, ".hdf5": _hdf5, ".parquet": _parquet}


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UserError(f'this needs {name.split(".")[0]}: pip install "superproto[scale]".') from None


def _table(items: dict[str, Any]) -> Any:
    tables = {name: item for name, item in items.items() if len(getattr(item, "shape", ())) == 2}
    if "features" in tables:
        return tables["features"]
    if len(tables) != 1:
        raise UserError(f"it has {len(tables)} tables of numbers. Call the one that holds the features 'features'.")
    return next(iter(tables.values()))
