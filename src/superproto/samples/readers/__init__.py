"""READ: open samples on disk, on a cluster or on a GPU as :class:`~superproto.samples.chunks.ChunkedRows`.

:func:`as_rows` chooses the reader by the type of its argument. Optional packages are imported when they are needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.samples.chunks import ArrayRows, ChunkedRows

__all__ = ["as_rows"]


def as_rows(X: Any) -> ChunkedRows | None:
    """Return samples that are not in memory as rows that can be visited; None for arrays and frames in memory.

    Supported are memory-mapped, Dask, Zarr, HDF5, Arrow, torch and CuPy arrays, names of files, and iterables of
    chunks.
    """
    if hasattr(X, "visit"):
        rows: ChunkedRows = X
        return rows
    if isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "fiub":
        # scikit-learn would convert small integers to an array of eight times their size.
        return ArrayRows(X)
    family = type(X).__module__.split(".")[0]
    if family in _OPENERS:
        return _OPENERS[family](X)
    if isinstance(X, (str, os.PathLike)):
        from superproto.samples.readers.on_disk import open_rows

        return open_rows(X)
    if isinstance(X, Iterator):
        raise UserError(
            "X is an iterator, which can be read only once, and a fit reads X many times. "
            "Give a list of chunks, or an object whose __iter__ starts from the beginning."
        )
    if _is_chunks(X):
        from superproto.samples.readers.on_disk import ChunkRows, Repeated

        return ChunkRows(Repeated(X))
    return None


def _is_chunks(X: Any) -> bool:
    """Tell whether X is a list of matrices, or an iterable that is not an array, a frame or a container of numbers."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(isinstance(part, np.ndarray) and part.ndim == 2 for part in X)
    plain = isinstance(X, (np.ndarray, dict, set, bytes)) or any(hasattr(X, name) for name in ("__array__", "shape"))
    return isinstance(X, Iterable) and not plain


def _of_dask(X: Any) -> ChunkedRows:
    from superproto.samples.readers.dask import dask_rows

    return dask_rows(X)


def _of_slices(X: Any) -> ChunkedRows:
    from superproto.samples.readers.on_disk import ChunkRows, Sliced

    return ChunkRows(Sliced(X))


def _of_zarr(X: Any) -> ChunkedRows:
    from superproto.samples.readers.zarr_folders import check_opened

    check_opened(X)
    return _of_slices(X)


def _of_arrow(X: Any) -> ChunkedRows:
    from superproto.samples.readers.on_disk import ChunkRows, Repeated
    from superproto.samples.readers.parquet import Parquet, feature_columns, matrix_of

    if hasattr(X, "get_fragments"):
        return ChunkRows(Parquet(X))
    return ChunkRows(Repeated([matrix_of(X.select(feature_columns(X.schema)[0]))]))


def _of_device(X: Any) -> ChunkedRows:
    from superproto.samples.readers.device import DeviceRows

    return DeviceRows(X)


_OPENERS = {
    "dask": _of_dask,
    "zarr": _of_zarr,
    "h5py": _of_slices,
    "pyarrow": _of_arrow,
    "torch": _of_device,
    "cupy": _of_device,
}
