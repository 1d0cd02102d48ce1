"""OPEN a file or folder of features and leave it on the disk: .npy, .zarr, .h5, Parquet."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from superproto.backends.chunks import ChunkRows, Sliced, checked_table
from superproto.backends.parquet import Parquet
from superproto.errors import UserError
from superproto.rows import ArrayRows, Rows

__all__ = ["open_rows"]


def open_rows(path: str | os.PathLike[str]) -> Rows:
    """The rows of a file; of a Zarr group or an HDF5 file, those of its table ``features``, or of its only table."""
    place = Path(path)
    if not os.path.exists(place):
        raise UserError(f"{path} does not exist. Check the path.")
    suffix = ".parquet" if place.is_dir() and place.suffix.lower() not in _OPENERS else place.suffix.lower()
    if suffix not in _OPENERS:
        raise UserError(f"{path} ends in '{suffix}'. Give a .npy, .zarr, .h5 or .parquet of features.")
    try:
        return _OPENERS[suffix](place)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except Exception as error:
        # A damaged file shows itself in many ways, by the library that finds it.
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UserError(f"{path} cannot be opened as {suffix} ({reason}). Is it complete?") from error


def _npy(place: Path) -> Rows:
    return ArrayRows(checked_table(np.load(place, mmap_mode="r", allow_pickle=False)))


def _zarr(place: Path) -> Rows:
    found = _package("zarr").open(str(place), mode="r")
    return ChunkRows(Sliced(found if hasattr(found, "shape") else _table(dict(found.arrays()))))


def _hdf5(place: Path) -> Rows:
    return ChunkRows(Sliced(_table(dict(_package("h5py").File(place, "r").items()))))


def _parquet(place: Path) -> Rows:
    dataset = _package("pyarrow.dataset").dataset(str(place), format="parquet")
    if not dataset.files:
        raise UserError("it has no Parquet file. Check the path.")
    return ChunkRows(Parquet(dataset))


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
