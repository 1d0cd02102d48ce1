"""READ on a device: torch tensors and CuPy arrays, processed on their device through the array API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from superproto.errors import UserError
from superproto.samples.chunks import Array, chunk_length, working_dtype


class DeviceRows:
    """Rows of another library's array. Each pass copies small arrays to the device, and results back, only once."""

    def __init__(self, array: Any, index: Array | None = None, dtype: DTypeLike | None = None) -> None:
        try:
            from array_api_compat import array_namespace
        except ImportError:
            raise UserError('Arrays of other libraries need: pip install "superproto[torch]".') from None
        if array.ndim != 2:
            raise UserError(f"X has shape {tuple(array.shape)}. Give a matrix: one row per sample.")
        self.array = array.detach() if hasattr(array, "detach") else array
        self.xp = array_namespace(array)
        self.index = index
        self.n_rows = int(array.shape[0] if index is None else len(index))
        self.n_columns = int(array.shape[1])
        double = array.dtype == self.xp.float64
        self.dtype = working_dtype(np.float64 if double else np.float32) if dtype is None else np.dtype(dtype)
        self.chunk_rows = chunk_length(self.n_columns, self.dtype.itemsize)

    def select(self, index: Array | None = None, dtype: DTypeLike | None = None) -> DeviceRows:
        chosen = index if self.index is None or index is None else self.index[index]
        return DeviceRows(self.array, self.index if index is None else chosen, dtype or self.dtype)

    def visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        function = self._with_small_arrays(function)
        kind = getattr(self.xp, self.dtype.name)
        for start in range(0, self.n_rows, self.chunk_rows):
            part = slice(start, min(start + self.chunk_rows, self.n_rows))
            rows = self.array[part] if self.index is None else self.array[self._there(self.index[part]), :]
            found = function(self.xp.astype(rows, kind), *(self._there(values[part]) for values in aligned))
            yield tuple(back(result) for result in found)

    def _with_small_arrays(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its bound arrays copied to the device, once for a whole pass."""
        if not isinstance(function, partial):
            return function
        bound = {name: self._there(value) for name, value in function.keywords.items()}
        return partial(function.func, *function.args, **bound)

    def _there(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            # torch shares memory and warns about read-only arrays.
            owned = np.ascontiguousarray(value) if value.flags.writeable else value.copy()
            return self.xp.asarray(owned, device=self.array.device)
        if isinstance(value, partial):
            return self._with_small_arrays(value)
        if is_dataclass(value) and not isinstance(value, type):
            moved: dict[str, Any] = {entry.name: self._there(getattr(value, entry.name)) for entry in fields(value)}
            return replace(value, **moved)
        return value


def back(value: Any) -> Any:
    """Return a result as a NumPy array in memory."""
    if hasattr(value, "cpu"):
        return value.cpu().numpy()
    return value.get() if hasattr(value, "get") else value
