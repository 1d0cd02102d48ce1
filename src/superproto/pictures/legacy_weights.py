"""LOAD: read the tensors of a weight file of torch, without torch and without a general unpickler.

The SHA-256 of the file is checked before anything is parsed. The unpickler allows four names and refuses all others.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import IO, Any

import numpy as np

from superproto.errors import UserError
from superproto.files import existing_file
from superproto.samples.chunks import Array

_STORAGES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


def checked_bytes(path: Path, sha256: str) -> bytes:
    """The content of a file, after its SHA-256 was checked."""
    content = existing_file(path).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise UserError(
            f"{path} has the SHA-256 {found[:16]}..., but {sha256[:16]}... is expected. Install its package again."
        )
    return content


def read_legacy_weights(content: bytes) -> dict[str, Array]:
    """The arrays by name of a state dictionary in torch's legacy format.

    The file has five pickles: a magic number, a version, the byte order, the tensors, the keys of the storages. Then
    follow the storages, each a length and its numbers.
    """
    handle = io.BytesIO(content)
    storages: dict[str, Array] = {}
    for _ in range(3):
        _TensorUnpickler(handle, storages).load()
    tensors = _TensorUnpickler(handle, storages).load()
    for key in _TensorUnpickler(handle, storages).load():
        length = int.from_bytes(handle.read(8), "little")
        storage = storages[key]
        if length != len(storage):
            raise UserError(
                f"The weight file declares {len(storage)} numbers and has {length}. Install its package again."
            )
        storage[:] = np.frombuffer(handle.read(length * storage.itemsize), storage.dtype)
    return {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}


class _TensorUnpickler(pickle.Unpickler):
    """Allows ordered dictionaries, tensors and two kinds of storages. Every other name is refused."""

    def __init__(self, handle: IO[bytes], storages: dict[str, Array]) -> None:
        super().__init__(handle)
        self._storages = storages

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _strided_tensor
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        raise UserError(f"The weight file asks for {module}.{name}, which is not allowed. Do not use this file.")

    def persistent_load(self, pid: Any) -> Array:
        _, dtype, key, _, length = pid[:5]
        return self._storages.setdefault(key, np.zeros(length, dtype))


def _strided_tensor(storage: Array, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any) -> Array:
    """A view of the storage. Its numbers are filled in later."""
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides))
    if min((offset, *shape, *strides), default=0) < 0 or last >= len(storage):
        raise UserError("The weight file has a tensor outside its storage. Do not use this file.")
    steps = tuple(stride * storage.itemsize for stride in strides)
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, steps)
