"""KEEP: convert values to JSON and plain arrays, and back. Only the following kinds are accepted.

    None, bool, int, float, str          themselves
    array of numbers                     {"array": tensor, "fortran": true where columns are contiguous}
    array of texts                       the same, {"text": true}: code points, one row for each text
    array of mixed names                 {"mixed": [...], "shape": [...]}
    array of class names                 {"classes": tensor}: row numbers of classes_
    number of NumPy's                    {"number": tensor}
    sparse matrix                        {"sparse": [data, indices, indptr], "shape": [n, m]}
    metric                               {"metric": {...}}
    forecast                             {"forecast": [accuracy, chance]}
    list, tuple, dict with text keys     {"list": [...]}, {"tuple": [...]}, {"dict": {...}}

The memory order of arrays is kept, because it changes the rounding of matrix products and therefore the predictions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.estimator.forecast import Forecast
from superproto.files import check_expansion
from superproto.samples.chunks import Array
from superproto.samples.whitening import Metric

_PLAIN = (type(None), bool, int, float, str)
_NUMBERS = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}
_LAST_CODE_POINT = 0x10FFFF


class Encoder:
    """Encodes values as JSON. Arrays are collected in ``tensors``, and the JSON refers to them by name."""

    def __init__(self, classes: Array) -> None:
        self.tensors: dict[str, Array] = {}
        self._classes = classes

    def encode(self, name: str, value: Any) -> Any:
        """Return the JSON form of a value; raise an error that names it if its kind is not accepted."""
        if isinstance(value, np.generic) and value.dtype.str[1:] in _NUMBERS:
            return {"number": self._keep(name, np.asarray(value).reshape(1))}
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, np.ndarray):
            return self._array(name, value)
        if isinstance(value, Metric):
            return {"metric": {f.name: self.encode(f"{name}.{f.name}", getattr(value, f.name)) for f in fields(value)}}
        if isinstance(value, Forecast):
            return {"forecast": [float(part) for part in value]}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.encode(f"{name}.{i}", part) for i, part in enumerate(value)]}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"dict": {key: self.encode(f"{name}.{key}", part) for key, part in value.items()}}
        if hasattr(value, "tocsr"):
            return self._sparse(name, value.tocsr())
        raise UserError(f"{name} is a {type(value).__name__}, which a model file cannot hold. Give numbers or texts.")

    def _array(self, name: str, array: Array) -> dict[str, Any]:
        if name == "transduction_" and array.dtype == self._classes.dtype:
            row_of = {label: row for row, label in enumerate(self._classes.tolist())}
            return {"classes": self._keep(name, np.array([row_of[label] for label in array.tolist()], np.int64))}
        if array.dtype.kind == "O":
            return self._mixed(name, array)
        if array.dtype.kind == "U":
            wide = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("="))
            points = wide.view(np.uint32) if wide.dtype.itemsize else np.zeros(0, np.uint32)
            return {"array": self._keep(name, points.reshape(*array.shape, -1) if array.size else points), "text": True}
        if array.dtype.str[1:] not in _NUMBERS:
            raise UserError(f"{name} is an array of {array.dtype}, which a model file cannot hold.")
        native = array.astype(array.dtype.newbyteorder("="), copy=False)
        if native.ndim > 1 and native.flags.f_contiguous and not native.flags.c_contiguous:
            return {"array": self._keep(name, native.T), "fortran": True}
        return {"array": self._keep(name, native)}

    def _mixed(self, name: str, array: Array) -> dict[str, Any]:
        values = [value.item() if isinstance(value, np.generic) else value for value in array.ravel().tolist()]
        if not all(isinstance(value, _PLAIN) for value in values):
            raise UserError(f"{name} holds objects that are neither numbers nor texts. A model file cannot hold them.")
        return {"mixed": values, "shape": list(array.shape)}

    def _sparse(self, name: str, matrix: Any) -> dict[str, Any]:
        parts = (matrix.data, matrix.indices, matrix.indptr)
        return {
            "sparse": [self.encode(f"{name}.{i}", part) for i, part in enumerate(parts)],
            "shape": list(matrix.shape),
        }

    def _keep(self, name: str, array: Array) -> str:
        while name in self.tensors:
            name += "'"
        self.tensors[name] = np.ascontiguousarray(array)
        return name


class Decoder:
    """Builds values from their JSON form and the file's tensors. Set ``classes`` before decoding class names."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        self._tensors = tensors
        self.classes: Array = np.zeros(0)

    def decode(self, spec: Any) -> Any:
        """Return the value; raise if its form is not one of those above."""
        if isinstance(spec, _PLAIN):
            return spec
        if not isinstance(spec, dict) or not spec:
            raise UserError(f"{str(spec)[:40]!r} is not a value.")
        readers = {
            "array": self._array, "number": self._number, "mixed": self._mixed, "classes": self._labels,
            "sparse": self._sparse, "metric": self._metric, "forecast": self._forecast, "list": self._list,
            "tuple": self._tuple, "dict": self._dict,
        }  # fmt: skip
        kind = next((kind for kind in readers if kind in spec), None)
        if kind is None:
            raise UserError(f"{next(iter(spec))!r} is not a kind of value.")
        return readers[kind](spec)

    def _check_room(self, claimed: int) -> None:
        check_expansion(claimed, sum(tensor.nbytes for tensor in self._tensors.values()))

    def _tensor(self, name: Any) -> Array:
        if not isinstance(name, str) or name not in self._tensors:
            raise UserError(f"it has no tensor {str(name)[:40]!r}.")
        return self._tensors[name]

    def _array(self, spec: dict[str, Any]) -> Array:
        array = self._tensor(spec["array"])
        if spec.get("text"):
            return self._texts(array)
        return array.T if spec.get("fortran") else array

    def _texts(self, points: Array) -> Array:
        if points.dtype != np.uint32 or (points.size and points.max() > _LAST_CODE_POINT):
            raise UserError("a text has characters that do not exist.")
        if not points.size:
            return np.zeros(points.shape[:-1] or 0, dtype="U1")
        return np.ascontiguousarray(points).view(f"U{points.shape[-1]}")[..., 0]

    def _number(self, spec: dict[str, Any]) -> Any:
        return self._tensor(spec["number"])[0]

    def _mixed(self, spec: dict[str, Any]) -> Array:
        values = [self.decode(value) for value in self._sequence(spec["mixed"])]
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array.reshape([int(size) for size in self._sequence(spec["shape"])])

    def _labels(self, spec: dict[str, Any]) -> Array:
        rows = self._tensor(spec["classes"])
        if rows.dtype != np.int64 or (rows.size and (rows.min() < 0 or rows.max() >= len(self.classes))):
            raise UserError("it gives a class that it does not have.")
        self._check_room(rows.size * self.classes.dtype.itemsize)
        return self.classes[rows]

    def _sparse(self, spec: dict[str, Any]) -> Any:
        from scipy import sparse

        data, indices, indptr = (self.decode(part) for part in self._sequence(spec["sparse"]))
        shape = tuple(int(size) for size in self._sequence(spec["shape"]))
        if len(shape) != 2 or shape[1] > max(
            (len(self.classes), *(max(t.shape, default=0) for t in self._tensors.values()))
        ):
            raise UserError(f"a sparse table claims the shape {shape}.")
        matrix = sparse.csr_matrix((data, indices, indptr), shape=shape)
        matrix.check_format(full_check=True)
        return matrix

    def _metric(self, spec: dict[str, Any]) -> Metric:
        parts = self._mapping(spec["metric"])
        return Metric(**{f.name: self.decode(parts[f.name]) for f in fields(Metric) if f.name in parts})

    def _list(self, spec: dict[str, Any]) -> list[Any]:
        return [self.decode(part) for part in self._sequence(spec["list"])]

    def _forecast(self, spec: dict[str, Any]) -> Forecast:
        parts = self._sequence(spec["forecast"])
        if len(parts) != len(Forecast._fields) or not all(isinstance(part, float) for part in parts):
            raise UserError("a forecast is not two numbers.")
        return Forecast(*parts)

    def _tuple(self, spec: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self.decode(part) for part in self._sequence(spec["tuple"]))

    def _dict(self, spec: dict[str, Any]) -> dict[str, Any]:
        return {key: self.decode(part) for key, part in self._mapping(spec["dict"]).items()}

    @staticmethod
    def _sequence(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise UserError(f"{str(value)[:40]!r} is not a list.")
        return value

    @staticmethod
    def _mapping(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise UserError(f"{str(value)[:40]!r} is not an object.")
        return value
