"""READ Zarr safely: check the metadata before the zarr package reads them.

A codec named in the metadata can run code (numcodecs has one that unpickles), and the shape may be false. So codecs and
types must be on a list of plain ones. Every chunk must be a file, and the claimed size must match the stored size.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superproto.errors import UserError
from superproto.files import check_expansion

PLAIN_CODECS = {
    # compress
    "blosc", "zlib", "gzip", "bz2", "lzma", "lz4", "zstd",
    # rearrange
    "bytes", "transpose", "shuffle", "delta", "fixedscaleoffset", "astype", "packbits", "quantize", "bitround",
    "sharding_indexed",
    # check
    "crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3",
}  # fmt: skip
_CODEC_KEYS = ("compressor", "filters", "codecs", "index_codecs", "object_codec", "compressors", "serializer")
_TYPES = re.compile(r"[<>|=]?[fiub][1248]|bool|u?int(8|16|32|64)|float(16|32|64)")
_LONGEST_METADATA = 2**24


class ZarrArray(NamedTuple):
    """The metadata of one array."""

    place: Path
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]
    key: str
    separator: str

    def chunk_keys(self) -> Iterator[str]:
        """Yield the name of each chunk's file, relative to the array."""
        counts = [-(-size // chunk) for size, chunk in zip(self.shape, self.chunks)]
        for index in product(*map(range, counts)):
            yield self.key + self.separator.join(map(str, index))

    def claimed_bytes(self) -> int:
        """Return the decompressed size of all chunks. Chunks at the edge are stored at full size."""
        sizes = (-(-size // chunk) * chunk for size, chunk in zip(self.shape, self.chunks))
        return math.prod(sizes) * self.dtype.itemsize


def zarr_arrays(place: Path) -> dict[str, ZarrArray]:
    """Return the arrays of a folder, after checks: the folder itself under the name "", or the tables of a group."""
    if not place.is_dir():
        raise NotADirectoryError("a Zarr array or group is a folder")
    own = _metadata(place)
    if own is None:
        raise UserError("it has no Zarr metadata (zarr.json, .zarray or .zgroup). Is it complete?")
    if _is_array(own):
        return {"": _array(place, own)}
    found = {}
    for child in sorted(place.iterdir()):
        described = _metadata(child) if child.is_dir() else None
        if described is not None and _is_array(described) and len(described.get("shape", ())) == 2:
            found[child.name] = _array(child, described)
    return found


def check_chunks(array: ZarrArray) -> None:
    """Raise if a chunk is missing, or if the chunks are too small for the size that they claim."""
    stored = 0
    for key in array.chunk_keys():
        try:
            stored += os.stat(array.place / key).st_size
        except OSError:
            raise UserError(
                f"its chunk {key} is missing and would be read as fill values. Copy the folder again; if these rows "
                "are meant to be empty, write it with write_empty_chunks=True."
            ) from None
    check_expansion(array.claimed_bytes(), stored)


def check_codecs(described: Any) -> None:
    """Raise if the metadata name a codec that is not on the list, at any depth."""
    if isinstance(described, list):
        for part in described:
            check_codecs(part)
    elif isinstance(described, dict):
        for key, part in described.items():
            for codec in _named_codecs(part) if key in _CODEC_KEYS else ():
                if codec.lower().removeprefix("numcodecs.") not in PLAIN_CODECS:
                    raise UserError(f"its codec '{codec}' is not supported. Write it with zstd, blosc or gzip.")
            check_codecs(part)


def check_opened(array: Any) -> None:
    """Check the codecs of an array that the zarr package has opened already, before a chunk is read."""
    metadata = getattr(array, "metadata", None)
    if metadata is not None and hasattr(metadata, "to_dict"):
        check_codecs(metadata.to_dict())
        return
    codecs = [getattr(array, "compressor", None), *(getattr(array, "filters", None) or ())]
    check_codecs({"filters": [{"id": codec.codec_id} for codec in codecs if codec is not None]})


def _named_codecs(part: Any) -> Iterator[str]:
    for codec in part if isinstance(part, list | tuple) else [part]:
        if isinstance(codec, dict):
            yield str(codec.get("id", codec.get("name")))
        elif codec is not None:
            yield str(codec)


def _metadata(place: Path) -> dict[str, Any] | None:
    """Return the folder's own metadata, after checking them; raise if there are several versions."""
    found: dict[str, Any] | None = None
    for name in (".zgroup", ".zarray", "zarr.json"):
        path = place / name
        if path.is_file():
            if path.stat().st_size > _LONGEST_METADATA:
                raise UserError(f"{name} has {path.stat().st_size} bytes, too many for metadata.")
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
            except (ValueError, RecursionError) as error:
                raise UserError(f"{name} is not JSON ({str(error)[:100]}).") from None
            if not isinstance(content, dict):
                raise UserError(f"{name} is not a JSON object.")
            check_codecs(content)
            if found is not None:
                raise UserError(f"it has metadata of several kinds ({name} too). Keep one.")
            found = content
    return found


def _is_array(described: dict[str, Any]) -> bool:
    return "shape" in described or described.get("node_type") == "array"


def _array(place: Path, described: dict[str, Any]) -> ZarrArray:
    dtype = described.get("dtype", described.get("data_type"))
    if not isinstance(dtype, str) or not _TYPES.fullmatch(dtype):
        raise UserError(f"its type is {str(dtype)[:60]}. Give a table of numbers.")
    grid, key, separator = _layout(described)
    shape = _sizes(described.get("shape"), "shape")
    chunks = _sizes(grid, "chunks")
    if len(shape) != len(chunks) or not all(chunks):
        raise UserError(f"its chunks {chunks} do not divide its shape {shape}.")
    if described.get("storage_transformers"):
        raise UserError("it has storage transformers, which are not supported.")
    return ZarrArray(place, shape, chunks, np.dtype(dtype), key, separator)


def _layout(described: dict[str, Any]) -> tuple[Any, str, str]:
    """Return the shape of a chunk, and the prefix and the separator of the names of chunk files."""
    if described.get("zarr_format") == 2:
        return described.get("chunks"), "", _separator(described.get("dimension_separator", "."))
    grid, encoding = described.get("chunk_grid"), described.get("chunk_key_encoding")
    if not isinstance(grid, dict) or grid.get("name") != "regular" or not isinstance(encoding, dict):
        raise UserError("its chunks are not a regular grid.")
    named, settings = encoding.get("name"), encoding.get("configuration") or {}
    if named not in ("default", "v2") or not isinstance(settings, dict):
        raise UserError(f"its chunk keys are of kind {str(named)[:40]}, not default or v2.")
    separator = _separator(settings.get("separator", "/" if named == "default" else "."))
    chunk = (grid.get("configuration") or {}).get("chunk_shape")
    return chunk, f"c{separator}" if named == "default" else "", separator


def _separator(given: Any) -> str:
    if given not in (".", "/"):
        raise UserError(f"its chunk names are separated by {given!r}, not by '.' or '/'.")
    return str(given)


def _sizes(given: Any, what: str) -> tuple[int, ...]:
    plain = isinstance(given, list) and all(type(size) is int and 0 <= size < 2**48 for size in given)
    if not plain:
        raise UserError(f"its {what} {str(given)[:60]} is not a list of sizes.")
    return tuple(given)
