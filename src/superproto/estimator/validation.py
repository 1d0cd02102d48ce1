"""CHECK: validate and encode the arguments of ``fit``.

Every estimator calls :func:`check_problem`, so all accept the same arrays and frames and raise the same errors. In the
result a class is a row number of ``semantics``, and an unlabeled sample has the label -1.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superproto.errors import UserError
from superproto.samples.chunks import LARGEST, UNLABELED


@dataclass(frozen=True)
class Problem:
    """The encoded input of a fit. It never contains the true labels of unlabeled samples.

    Attributes
    ----------
    labels : (N,)
        Row numbers of ``semantics``, or -1 for unlabeled samples.
    semantics : (C, k)
        One description per class.
    names : (C,)
        The user's names of the classes.
    seen : (C,)
        Mask of the classes that have a labeled sample.
    allowed : (C,)
        Mask of the candidates: the classes that an unlabeled sample may get.
    described : bool
        Whether the user gave descriptions; else ``semantics`` is the identity.
    """

    labels: NDArray[np.int64]
    semantics: NDArray[np.float64]
    names: NDArray[Any]
    seen: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    described: bool

    @property
    def asked(self) -> NDArray[np.bool_]:
        """The (N,) mask of the unlabeled samples."""
        return self.labels == UNLABELED

    @property
    def n_classes(self) -> int:
        """The number of classes, seen and unseen."""
        return len(self.names)

    def seen_columns(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Return (n,) the position of each row's class among the seen classes.

        ``rows`` is a mask or row numbers; all of these rows must be labeled.
        """
        return np.asarray((np.cumsum(self.seen) - 1)[self.labels[rows]])


def check_problem(
    labels: Any,
    semantics: Any = None,
    class_names: Sequence[Any] | None = None,
    candidates: Any = "unseen",
) -> Problem:
    """Encode labels and descriptions; raise :class:`UserError` if they do not match."""
    raw = _as_column(labels)
    if semantics is None:
        codes, names = _encode_without_semantics(raw)
        _check_nothing_is_missing(codes, names, class_names, candidates)
        table = np.eye(len(names))
    else:
        table, names = _read_semantics(semantics, class_names)
        codes = _encode(raw, names, named=class_names is not None or _is_frame(semantics))
    seen = np.zeros(len(names), dtype=bool)
    seen[codes[codes != UNLABELED]] = True
    allowed = _allowed(candidates, seen, names)
    _warn_about_duplicates(table, names)
    return Problem(codes, table, names, seen, allowed, described=semantics is not None)


def read_named_vectors(semantics: Mapping[Any, Any], class_names: Any) -> tuple[NDArray[Any], list[Any]]:
    """Return the vectors (C, k) of a mapping from class name to vector, and the names."""
    if class_names is not None:
        raise UserError("semantics is a mapping, whose keys are the class names. Leave class_names out.")
    if not semantics:
        raise UserError("semantics is an empty mapping. Give one vector per class.")
    vectors = [np.asarray(vector) for vector in semantics.values()]
    first = next(iter(semantics))
    if vectors[0].ndim != 1:
        raise UserError(f"semantics[{first!r}] has shape {vectors[0].shape}. Give one vector of numbers per class.")
    odd = next((name for name, row in zip(semantics, vectors) if row.shape != vectors[0].shape), None)
    if odd is not None:
        shape = np.shape(semantics[odd])
        raise UserError(
            f"semantics[{odd!r}] has shape {shape}, but semantics[{first!r}] has shape {vectors[0].shape}. "
            "Give vectors of one length."
        )
    return np.stack(vectors), list(semantics)


def fingerprint(X: NDArray[Any], problem: Problem) -> str:
    """Return the SHA-256 of the input of a fit: labels, descriptions, candidates, and a thousand rows of X."""
    rows = X[:: max(1, len(X) // 1000)]
    seal = hashlib.sha256(f"{X.shape} {X.dtype.str}".encode())
    for array in (rows, problem.labels, problem.semantics, problem.allowed):
        seal.update(np.ascontiguousarray(array).tobytes())
    return seal.hexdigest()


def name_of(problem_names: NDArray[Any], index: int) -> str:
    """Return the name of a class for an error message: in quotes, or its number."""
    name = problem_names[index]
    return f"'{name}'" if isinstance(name, str) else str(name)


def _is_frame(table: Any) -> bool:
    return type(table).__module__.split(".")[0] in {"pandas", "polars"} and hasattr(table, "columns")


def _as_column(labels: Any) -> NDArray[Any]:
    """Return the labels as an (N,) array of objects or numbers; columns of frames and (N, 1) arrays are flattened."""
    if labels is None:
        raise UserError(
            "y is missing: this estimator requires y to be passed, but the target y is None. "
            "Give one label per sample, and -1 for unlabeled samples."
        )
    if hasattr(labels, "to_numpy"):
        labels = labels.to_numpy()
    column = np.asarray(labels)
    if column.dtype.kind == "U" and isinstance(labels, (list, tuple)) and not all(isinstance(v, str) for v in labels):
        # NumPy would convert None, NaN and -1 among names to text.
        column = np.array(labels, dtype=object)
    if column.ndim == 2 and column.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: y was flattened.",
            DataConversionWarning,
            stacklevel=4,
        )
        column = column[:, 0]
    if column.ndim != 1:
        raise UserError(
            f"y should be a 1d array with one label per sample, got an array of shape {column.shape} instead."
        )
    if np.iscomplexobj(column):
        raise UserError("Complex data not supported: y has complex numbers. Give class numbers or names.")
    return column


def _is_missing(value: Any) -> bool:
    """Tell whether a value (None, NaN, pd.NA or -1) marks an unlabeled sample."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value)) or value == UNLABELED
    return isinstance(value, (int, np.integer)) and value == UNLABELED


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind == "f":
        return np.isnan(column) | (column == UNLABELED)
    if column.dtype.kind in "iu":
        return column == UNLABELED
    if column.dtype.kind == "O":
        return np.fromiter((_is_missing(value) for value in column), dtype=bool, count=len(column))
    return np.zeros(len(column), dtype=bool)


def _encode_without_semantics(column: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Encode labels without descriptions: the classes are the labels that occur in y."""
    from sklearn.utils.multiclass import check_classification_targets

    missing = _missing(column)
    if column.dtype.kind == "f" and not np.isfinite(column).all() and not missing.any():
        raise UserError("Input y contains infinity. Give class numbers or names.")
    known = column[~missing]
    if len(known) == 0:
        raise UserError("y has no labeled sample and semantics is None: there is no class to learn. Give semantics=.")
    if known.dtype.kind == "O" and all(isinstance(value, str) for value in known):
        known = known.astype(str)
    check_classification_targets(known)
    names, inverse = np.unique(known, return_inverse=True)
    codes = np.full(len(column), UNLABELED, dtype=np.int64)
    codes[~missing] = inverse
    return codes, names


def _check_nothing_is_missing(codes: Any, names: Any, class_names: Sequence[Any] | None, candidates: Any) -> None:
    """Raise if unseen classes are requested without descriptions: the user has forgotten semantics."""
    extra = [name for name in class_names if name not in names.tolist()] if class_names is not None else []
    if extra:
        raise UserError(
            f"class_names has {extra[0]!r}, which does not occur in y, and semantics is None. Give semantics=."
        )
    if isinstance(candidates, str) and candidates == "unseen" and (codes == UNLABELED).any():
        raise UserError(
            f"y has {int((codes == UNLABELED).sum())} unlabeled samples, but semantics is None, so there is no "
            'unseen class. Give semantics=, one row per class; or candidates="all" to label them with the classes of y.'
        )


def _read_semantics(semantics: Any, class_names: Sequence[Any] | None) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the descriptions (C, k) as float64, and the class names (C,)."""
    if _is_frame(semantics):
        table, names = _read_frame(semantics)
    else:
        table = semantics.toarray() if hasattr(semantics, "toarray") else np.asarray(semantics)
        names = np.arange(len(table)) if table.ndim else np.arange(0)
    if class_names is not None:
        names = np.asarray(list(class_names))
    table = _as_numbers(table)
    if table.ndim != 2 or table.size == 0:
        raise UserError(
            f"semantics has shape {table.shape}, but one row per class and one column per attribute is needed."
        )
    if len(names) != len(table):
        raise UserError(
            f"class_names has {len(names)} names, but semantics has {len(table)} rows. Give one name per row."
        )
    if len(set(names.tolist())) != len(names):
        values, counts = np.unique(names.astype(str), return_counts=True)
        raise UserError(
            f"The class name '{values[counts > 1][0]}' occurs {counts.max()} times. Give each class one row."
        )
    _check_semantics_values(table, names)
    return table, names


def _read_frame(frame: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the table and the class names of a frame: the index of pandas, or the first column of polars."""
    if type(frame).__module__.startswith("polars"):
        names = frame[:, 0].to_numpy()
        table = frame[:, 1:].to_numpy()
    else:
        names = frame.index.to_numpy()
        table = frame.to_numpy()
    if names.dtype.kind == "O" and all(isinstance(name, str) for name in names):
        names = names.astype(str)
    return table, names


def _as_numbers(table: NDArray[Any]) -> NDArray[np.float64]:
    if np.iscomplexobj(table):
        raise UserError("Complex data not supported: semantics has complex numbers. Give real ones.")
    try:
        return np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise UserError(
            f"semantics holds {table.dtype} values that are not numbers. Encode each attribute as a number first."
        ) from None


def _check_semantics_values(table: NDArray[np.float64], names: NDArray[Any]) -> None:
    finite = np.isfinite(table)
    if not finite.all():
        row = int(np.flatnonzero(~finite.all(axis=1))[0])
        extent = "all" if not finite[row].any() else "partly"
        raise UserError(
            f"semantics[{name_of(names, row)}] is {extent} NaN or infinite. Drop the class, or fill in its attributes."
        )
    if np.abs(table).max() > LARGEST:
        raise UserError(f"semantics has numbers beyond {LARGEST:.0e}, too large to compute with. Scale its columns.")
    empty = np.flatnonzero(~table.any(axis=1))
    if len(empty):
        raise UserError(
            f"semantics[{name_of(names, int(empty[0]))}] is all zeros and describes nothing. "
            "Drop the class, or fill in its attributes."
        )
    if len(table) > 1 and not np.ptp(table, axis=0).any():
        raise UserError(f"All {len(table)} rows of semantics are the same, so they do not distinguish the classes.")


def _encode(column: NDArray[Any], names: NDArray[Any], *, named: bool) -> NDArray[np.int64]:
    """Return the labels as row numbers of ``names``; -1 where the label is missing."""
    missing = _missing(column)
    if named:
        return _encode_names(column, names, missing)
    if column.dtype.kind in "USO" and any(isinstance(value, str) for value in column[~missing]):
        raise UserError(
            "y holds names, but semantics is an array without names. Give class_names=, one name for each row."
        )
    codes = np.full(len(column), UNLABELED, dtype=np.int64)
    known = column[~missing].astype(np.float64)
    if not np.isfinite(known).all():
        raise UserError("Input y contains infinity. Give class numbers, and -1 for unlabeled samples.")
    if not np.array_equal(known, np.round(known)):
        raise UserError(f"y has label {known[known != np.round(known)][0]}, but labels are row numbers of semantics.")
    outside = (known < 0) | (known >= len(names))
    if outside.any():
        if known[outside][0] < 0:
            raise UserError(f"y has class {known[outside][0]:g}. Give class numbers, and -1 where a label is sought.")
        raise UserError(
            f"y has class {known[outside][0]:g}, but semantics has {len(names)} rows "
            f"(classes 0 to {len(names) - 1}). Give one row per class, seen or unseen."
        )
    codes[~missing] = known.astype(np.int64)
    return codes


def _encode_names(column: NDArray[Any], names: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    row_of = {name: row for row, name in enumerate(names.tolist())}
    codes = np.full(len(column), UNLABELED, dtype=np.int64)
    for index in np.flatnonzero(~missing):
        value = column[index]
        row = row_of.get(value.item() if isinstance(value, np.generic) else value)
        if row is None:
            raise UserError(
                f"y has class {str(value)!r} (sample {index}), but semantics has no such class. {_advice(value)}"
            )
        codes[index] = row
    return codes


def _advice(label: Any) -> str:
    if str(label) in {"-1", "None", "nan"}:
        return "NumPy converted a missing label to text: give a list, or an array of dtype object."
    return "Give one row per class, seen or unseen."


def _allowed(candidates: Any, seen: NDArray[np.bool_], names: NDArray[Any]) -> NDArray[np.bool_]:
    """Return the (C,) mask of the classes that an unlabeled sample may get."""
    if isinstance(candidates, str):
        if candidates == "all":
            return np.ones(len(names), dtype=bool)
        if candidates == "unseen":
            return ~seen if not seen.all() else np.ones(len(names), dtype=bool)
        raise UserError(f"candidates is '{candidates}', but must be 'unseen', 'all', or a list of classes.")
    if not isinstance(candidates, Iterable):
        raise UserError(f"candidates is {candidates!r}, but must be 'unseen', 'all', or a list of classes.")
    wanted = list(candidates)
    if any(isinstance(name, (bool, np.bool_)) for name in wanted) and names.dtype.kind != "b":
        raise UserError("candidates has True or False instead of classes. For a mask give numpy.flatnonzero(mask).")
    row_of = {name: row for row, name in enumerate(names.tolist())}
    unknown = [name for name in wanted if (name.item() if isinstance(name, np.generic) else name) not in row_of]
    if unknown or not wanted:
        raise UserError(f"candidates has {unknown[0]!r}, which is not a class." if unknown else "candidates is empty.")
    allowed = np.zeros(len(names), dtype=bool)
    allowed[[row_of[name.item() if isinstance(name, np.generic) else name] for name in wanted]] = True
    return allowed


def _warn_about_duplicates(table: NDArray[np.float64], names: NDArray[Any]) -> None:
    _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    repeated = np.flatnonzero(first[inverse.ravel()] != np.arange(len(table)))
    if len(repeated):
        pairs = [f"{name_of(names, int(first[inverse.ravel()][j]))} and {name_of(names, int(j))}" for j in repeated[:3]]
        warnings.warn(
            f"Some classes have the same description: {', '.join(pairs)}. "
            "Their samples are divided by the features only.",
            UserWarning,
            stacklevel=4,
        )
