"""LOAD: read numbers and names from MATLAB files: version 5 (also called 6 and 7) and version 7.3, which is HDF5.

The files may come from untrusted places, so version 5 has its own small reader. It reads numeric arrays, text and cells
of text, and skips everything else. It checks every declared size against the file before it allocates memory.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superproto.errors import UserError
from superproto.files import check_expansion, existing_file, expansion_limit
from superproto.samples.chunks import Array
from superproto.samples.readers.hdf5 import check_own

_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXT = {2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_MATRIX, _COMPRESSED = 14, 15
_CELL, _CHAR, _NUMERIC, _OPAQUE = 1, 4, range(6, 16), 17
_COMPLEX = 0x800
_HEADER = 128
_PEEK = 4096
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


class _Element(NamedTuple):
    kind: int
    data: memoryview


class _Variable(NamedTuple):
    name: str
    matlab_class: int
    shape: tuple[int, ...]
    parts: Iterator[_Element]


def read_mat(path: Path, wanted: Collection[str]) -> dict[str, Array]:
    """Return the wanted variables that the file has, in MATLAB's shape; text is an array of strings."""
    path = existing_file(path)
    try:
        if _is_hdf5(path):
            return _read_version_73(path, wanted)
        return _read_version_5(path.read_bytes(), wanted)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except Exception as error:
        text = " ".join(str(error).split())[:100]
        raise UserError(
            f"{path} is not a readable MATLAB file ({text or type(error).__name__}). Is it complete?"
        ) from None


def _read_version_5(content: bytes, wanted: Collection[str]) -> dict[str, Array]:
    mark = content[126:128]
    if mark not in (b"IM", b"MI") or len(content) < _HEADER:
        raise UserError("not a MATLAB file of version 5 or 7.3.")
    order = "<" if mark == b"IM" else ">"
    found: dict[str, Array] = {}
    room = expansion_limit(len(content))
    for kind, data in _elements(memoryview(content)[_HEADER:], order):
        name = _name(_start(data, order) if kind == _COMPRESSED else _Element(kind, data), order)
        if name in wanted:
            whole = _unfolded(data, order, room) if kind == _COMPRESSED else _Element(kind, data)
            room -= len(whole.data) if kind == _COMPRESSED else 0
            found[name] = _value(_variable(whole, order), order)
    return found


def _elements(data: memoryview, order: str) -> Iterator[_Element]:
    """Tag, bytes, padding to a multiple of eight; small elements keep up to four bytes in the tag itself."""
    place = 0
    while place + 8 <= len(data):
        kind, size = struct.unpack_from(order + "II", data, place)
        if kind >> 16:
            kind, size = kind & 0xFFFF, kind >> 16
            if size > 4:
                raise UserError("a small element claims more than four bytes. Is the file damaged?")
            yield _Element(kind, data[place + 4 : place + 4 + size])
            place += 8
            continue
        if size > len(data) - place - 8:
            raise UserError(f"an element claims {size} bytes where {len(data) - place - 8} are left. Truncated?")
        yield _Element(kind, data[place + 8 : place + 8 + size])
        # A compressed element is followed at once by the next.
        place += 8 + (size if kind == _COMPRESSED else -(-size // 8) * 8)


def _start(data: memoryview, order: str) -> _Element:
    """Decompress the start of a compressed element, which contains its name."""
    content = zlib.decompressobj().decompress(data, _PEEK)
    if len(content) < 8:
        raise UserError("a compressed element is empty. Is the file damaged?")
    return _Element(struct.unpack_from(order + "I", content)[0], memoryview(content)[8:])


def _unfolded(data: memoryview, order: str, limit: int) -> _Element:
    """Decompress an element and compare its checksum; raise if it is larger than the limit."""
    stream = zlib.decompressobj()
    kind, size = struct.unpack(order + "II", stream.decompress(data, 8))
    if size > limit:
        raise UserError(f"a variable would decompress to {size / 2**30:.1f} GiB, as in a zip bomb. Nothing was read.")
    content = stream.decompress(stream.unconsumed_tail, size) if size else b""
    rest = stream.decompress(stream.unconsumed_tail, 8)
    if len(content) < size or not stream.eof or any(rest):
        raise UserError(f"a variable of {size} bytes cannot be decompressed. Is the file damaged?")
    return _Element(kind, memoryview(content))


def _variable(element: _Element, order: str) -> _Variable:
    if element.kind != _MATRIX:
        raise UserError(f"an array was expected, but found an element of kind {element.kind}.")
    parts = _elements(element.data, order)
    flags, shape, name = (next(parts, _Element(0, memoryview(b""))) for _ in range(3))
    dims = tuple(np.frombuffer(shape.data, order + "i4").tolist())
    if len(flags.data) != 8 or not 2 <= len(dims) <= 8 or min(dims) < 0:
        raise UserError("an array has an invalid header. Is the file damaged?")
    matlab_class = struct.unpack_from(order + "I", flags.data)[0] & (_COMPLEX | 0xFF)
    return _Variable(bytes(name.data).decode("ascii"), matlab_class, dims, parts)


def _name(element: _Element, order: str) -> str:
    """Return the variable's name, or "" for MATLAB's opaque objects, whose header differs, and for other elements."""
    flags = next(_elements(element.data, order), None) if element.kind == _MATRIX else None
    if flags is None or len(flags.data) != 8 or struct.unpack_from(order + "I", flags.data)[0] & 0xFF == _OPAQUE:
        return ""
    return _variable(element, order).name


def _value(variable: _Variable, order: str, *, inside_cell: bool = False) -> Array:
    if variable.matlab_class == _CELL and not inside_cell:
        cells = [_value(_variable(part, order), order, inside_cell=True) for part in variable.parts]
        texts = [str(cell) if cell.dtype.kind == "U" and not cell.ndim else None for cell in cells]
        if len(texts) != math.prod(variable.shape) or None in texts:
            raise UserError(f"'{variable.name}' is a cell of something else than text.")
        return np.array(texts, dtype=str).reshape(variable.shape, order="F")
    part = next(variable.parts, _Element(0, memoryview(b"")))
    if variable.matlab_class == _CHAR and part.kind in _TEXT:
        codec = _TEXT[part.kind] + ({"<": "-le", ">": "-be"}[order] if part.kind in (4, 17, 18) else "")
        return np.array(bytes(part.data).decode(codec))
    if variable.matlab_class in _NUMERIC and part.kind in _STORED:
        numbers = np.frombuffer(part.data, order + _STORED[part.kind])
        if len(numbers) != math.prod(variable.shape):
            raise UserError(f"'{variable.name}' declares shape {variable.shape}, but {len(numbers)} numbers follow.")
        return numbers.reshape(variable.shape, order="F")
    raise UserError(f"'{variable.name}' is neither numbers nor text nor a cell of text.")


def _is_hdf5(path: Path) -> bool:
    """Tell whether a file is HDF5. MATLAB writes 512 bytes before the HDF5 signature; other programs write none."""
    with path.open("rb") as handle:
        start = handle.read(520)
    return start[:8] == _HDF5_SIGNATURE or start[512:520] == _HDF5_SIGNATURE


def _read_version_73(path: Path, wanted: Collection[str]) -> dict[str, Array]:
    """MATLAB 7.3 files are HDF5: arrays are stored transposed, text as numbers, cells as references."""
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
            check_own(found, name)
        total = sum(math.prod(found.shape or ()) * found.dtype.itemsize for found in sets.values())
        check_expansion(total, path.stat().st_size)
        return {name: _hdf5_value(file, found, name, limit) for name, found in sets.items()}


def _hdf5_value(file: Any, found: Any, name: str, limit: int) -> Array:
    if found.attrs.get("MATLAB_empty"):
        return np.empty((0, 0))
    if found.dtype.kind in "biuf":
        return np.asarray(found[()]).T
    if found.dtype.kind != "O":
        raise UserError(f"'{name}' is neither numbers nor a cell of text.")
    texts = [_hdf5_text(file, reference, name, limit) for reference in found[()].T.ravel(order="F")]
    return np.array(texts, dtype=str).reshape(found.shape[::-1], order="F")


def _hdf5_text(file: Any, reference: Any, name: str, limit: int) -> str:
    target = file[reference]
    if target.dtype.kind not in "ui" or math.prod(target.shape or ()) > min(limit, 2**16):
        raise UserError(f"'{name}' is a cell of something else than text.")
    return "".join(map(chr, np.asarray(target[()]).ravel()))
