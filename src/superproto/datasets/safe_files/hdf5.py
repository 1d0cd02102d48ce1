"""LOAD: MATLAB 7.3 files, which are HDF5: arrays are stored transposed, text as numbers, cells as references."""

from __future__ import annotations

import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.files import expansion_limit
from superproto.samples.chunks import Array

_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def is_hdf5(path: Path) -> bool:
    """MATLAB writes 512 bytes of its own before the HDF5 signature; other writers write none."""
    with path.open("rb") as handle:
        start = handle.read(520)
    return start[:8] == _SIGNATURE or start[512:520] == _SIGNATURE


def read_hdf5(path: Path, wanted: Collection[str]) -> dict[str, Array]:
    """The wanted variables that the file has, in MATLAB's shape."""
    try:
        import h5py
    except ImportError:
        raise UserError('MATLAB 7.3 files need h5py: pip install "superproto[scale]".') from None
    with h5py.File(path, "r") as file:
        limit = expansion_limit(path.stat().st_size)
        # A hard link is to this very file; the others may lead to any file of the machine.
        inside = [name for name in wanted if isinstance(file.get(name, getlink=True), h5py.HardLink)]
        sets = {name: file[name] for name in inside if isinstance(file[name], h5py.Dataset)}
        for name, found in sets.items():
            if found.external or found.is_virtual:
                raise UserError(f"'{name}' is stored in another file. Give one that holds its own data.")
        total = sum(math.prod(found.shape or ()) * found.dtype.itemsize for found in sets.values())
        if total > limit:
            raise UserError(f"its variables claim {total / 2**30:.1f} GiB, as in a zip bomb. Nothing was read.")
        return {name: _value(file, found, name, limit) for name, found in sets.items()}


def _value(file: Any, found: Any, name: str, limit: int) -> Array:
    if found.attrs.get("MATLAB_empty"):
        return np.empty((0, 0))
    if found.dtype.kind in "biuf":
        return np.asarray(found[()]).T
    if found.dtype.kind != "O":
        raise UserError(f"'{name}' is neither numbers nor a cell of text.")
    texts = [_text(file, reference, name, limit) for reference in found[()].T.ravel(order="F")]
    return np.array(texts, dtype=str).reshape(found.shape[::-1], order="F")


def _text(file: Any, reference: Any, name: str, limit: int) -> str:
    target = file[reference]
    if target.dtype.kind not in "ui" or math.prod(target.shape or ()) > min(limit, 2**16):
        raise UserError(f"'{name}' is a cell of something else than text.")
    return "".join(map(chr, np.asarray(target[()]).ravel()))
