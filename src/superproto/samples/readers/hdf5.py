"""READ HDF5 safely: only complete data sets stored in the file itself, no larger than the file can hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.files import check_expansion


def own_datasets(file: Any) -> dict[str, Any]:
    """Return the top-level data sets of an open file by name. Links to other files are refused."""
    import h5py

    found = {}
    for name in file:
        # A hard link refers to this file; other links may refer to any file of the machine.
        if isinstance(file.get(name, getlink=True), h5py.HardLink):
            item = file[name]
            if isinstance(item, h5py.Dataset):
                check_own(item, name)
                found[name] = item
        elif name == "features":
            raise UserError(f"'{name}' is a link to another place. Give a file that holds its own data.")
    return found


def check_own(dataset: Any, name: str) -> None:
    """Raise if the values of a data set are in another file."""
    if dataset.external or dataset.is_virtual:
        raise UserError(f"'{name}' is stored in another file. Give one that holds its own data.")


def check_stored(dataset: Any, file_size: int) -> None:
    """Raise if a chunk was never written (it would be read as fill values), or the claimed size is too large."""
    if not dataset.size:
        return
    chunks = dataset.chunks or dataset.shape
    counts = [-(-size // chunk) for size, chunk in zip(dataset.shape, chunks)]
    claimed = math.prod(count * chunk for count, chunk in zip(counts, chunks)) * np.dtype(dataset.dtype).itemsize
    check_expansion(claimed, file_size)
    written = dataset.id.get_num_chunks() if dataset.chunks else math.prod(counts) * bool(dataset.id.get_storage_size())
    if written < math.prod(counts):
        raise UserError(
            f"{math.prod(counts) - written} of {math.prod(counts)} chunks were never written and would be read as "
            "fill values. Write the file again."
        )
