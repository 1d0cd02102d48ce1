"""LOAD: read arrays from untrusted .npy and .npz files.

Nothing is unpickled, and nothing is decompressed before its header and size have been checked. An array of objects, a
zip bomb, or a truncated or foreign file raises an error of one sentence and uses no memory.
"""

from __future__ import annotations

import math
import warnings
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np

from superproto.errors import UserError
from superproto.files import check_expansion, existing_file
from superproto.samples.chunks import Array

_KINDS = "biufUS"
_AT_ONCE = 2**24


class _Header(NamedTuple):
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    bytes: int


def is_npz(path: Path) -> bool:
    """Tell whether the file starts as a zip archive does."""
    with path.open("rb") as handle:
        return handle.read(2) == b"PK"


def read_npz(path: Path, wanted: Collection[str] | None = None) -> dict[str, Array]:
    """Return the wanted arrays that an archive has; every array with ``wanted=None``."""
    path = existing_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = {i.filename.removesuffix(".npy"): i for i in archive.infolist() if i.filename.endswith(".npy")}
            headers = {name: _member_header(archive, info, name) for name, info in members.items()}
            names = [name for name in members if wanted is None or name in wanted]
            check_expansion(sum(headers[name].bytes for name in names), path.stat().st_size)
            return {name: _member(archive, members[name], headers[name]) for name in names}
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except Exception as error:
        # The parsers raise about fifteen types of errors on damaged input.
        raise UserError(f"{path} is not a readable .npz archive ({_brief(error)}). Is it complete?") from None


def read_npy(path: Path) -> Array:
    """Read the array of one .npy file."""
    path = existing_file(path)
    try:
        with path.open("rb") as handle:
            header = _header(handle, path.stem)
            _check_length(header, path.stat().st_size - handle.tell(), path.stem)
            return _content(handle, header)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except Exception as error:
        raise UserError(f"{path} is not a readable .npy file ({_brief(error)}). Is it complete?") from None


def map_npy(path: Path) -> Array:
    """Memory-map the array of one .npy file: rows are read when they are used."""
    path = existing_file(path)
    try:
        with path.open("rb") as handle:
            header = _header(handle, path.stem)
            start = handle.tell()
        _check_length(header, path.stat().st_size - start, path.stem)
        order: Literal["C", "F"] = "F" if header.fortran else "C"
        return np.memmap(path, header.dtype, "r", start, header.shape, order) if header.bytes else read_npy(path)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except Exception as error:
        raise UserError(f"{path} is not a readable .npy file ({_brief(error)}). Is it complete?") from None


def _member_header(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> _Header:
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UserError(f"'{name}' is compressed in a way that numpy never writes.")
    with archive.open(info) as handle:
        header = _header(handle, name)
        _check_length(header, info.file_size - handle.tell(), name)
        return header


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, header: _Header) -> Array:
    with archive.open(info) as handle:
        handle.read(info.file_size - header.bytes)
        return _content(handle, header)


def _header(handle: IO[bytes], name: str) -> _Header:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy remarks on headers that Python 2 wrote
        version = np.lib.format.read_magic(handle)
        if version not in ((1, 0), (2, 0)):
            raise UserError(f"'{name}' has .npy version {version}, which plain arrays never need.")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(handle)
    if dtype.hasobject:
        raise UserError(f"'{name}' holds pickled objects, which can run code. Save it as numbers or strings.")
    if dtype.kind not in _KINDS or not dtype.itemsize or dtype.subdtype:
        raise UserError(f"'{name}' has type {dtype}. Save it as numbers or strings.")
    if len(shape) > 8 or min(shape, default=0) < 0:
        raise UserError(f"'{name}' declares the invalid shape {shape}.")
    return _Header(shape, fortran, dtype, math.prod(shape) * dtype.itemsize)


def _check_length(header: _Header, there: int, name: str) -> None:
    if header.bytes != there:
        raise UserError(f"'{name}' declares shape {header.shape}, {header.bytes} bytes, but {there} follow. Truncated?")


def _content(handle: IO[bytes], header: _Header) -> Array:
    """Read straight into the array, in pieces, so that the peak of memory is the array itself."""
    buffer = np.empty(header.bytes, np.uint8)
    for start in range(0, header.bytes, _AT_ONCE):
        piece = handle.read(min(_AT_ONCE, header.bytes - start))
        buffer[start : start + len(piece)] = np.frombuffer(piece, np.uint8)
        if len(piece) < min(_AT_ONCE, header.bytes - start):
            raise UserError("the data end too early. Is the file truncated?")
    handle.read(1)  # reaches the end of a zip member, where its checksum is compared
    array = buffer.view(header.dtype).reshape(header.shape, order="F" if header.fortran else "C")
    if array.dtype.kind == "S":
        # Names of another encoding stay apart, and are never an error of NumPy's.
        return np.char.decode(array, "utf-8", "backslashreplace") if array.size else array.astype(str)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _brief(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 100 else text[:97] + "..."
