"""READ HDF5 safely: data sets that lie in the file itself, whole, and no larger than the file can hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.files import check_expansion


def own_datasets(file: Any) -> dict[str, Any]:
    """The data sets at the top of an open file, by name; those that another file holds are refused, not followed."""
    import h5py

    found = {}
    for name in file:
        # A hard link is to this very file; the others may lead to any file of the machine.
        if isinstance(file.get(name, getlink=True), h5py.HardLink):
            item = file[name]
            if isinstance(item, h5py.Dataset):
                check_own(item, name)
                found[name] = item
        elif name == "features":
            raise UserError(f"'{name}' is a link to another place. Give a file that holds its own data.")
    return found


def check_own(dataset: Any, name: str) -> None:
    """Refuse a data set whose numbers are in another file."""
    if dataset.external or dataset.is_virtual:
        raise UserError(f"'{name}' is stored in another file. Give one that holds its own data.")


def check_stored(dataset: Any, file_size: int) -> None:
    """Every chunk was written (others are read as fill values), and the claimed size suits that of the file."""
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
