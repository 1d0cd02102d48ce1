"""CHECK: find mistakes in arrays that would otherwise pass unnoticed or raise an unclear error of another library."""

from __future__ import annotations

from typing import Any

import numpy as np

from superproto.errors import UserError

# Kinds of NumPy types that cannot be features. The message on complex numbers starts as scikit-learn's does.
_NO_FEATURES = {
    "U": "X holds text.",
    "S": "X holds text.",
    "M": "X holds dates.",
    "m": "X holds durations.",
    "c": "Complex data not supported.",
}


def check_samples(X: Any) -> None:
    """Raise if X has one dimension, masked values, text, dates, complex numbers, NaN or infinity; name the place."""
    if _has_masked_values(X):
        raise UserError("X is a masked array with masked values. Fill them in, or drop these rows.")
    # By exact type: some sparse arrays of SciPy are dictionaries too.
    if X is None or type(X) in (dict, set, bool, int, float):
        raise UserError(f"X is {type(X).__name__}, but a table of numbers is needed: one row per sample.")
    X = _as_array(X)
    if not isinstance(X, np.ndarray):
        return
    if X.dtype.kind in _NO_FEATURES and not _is_numeric_text(X):
        raise UserError(f"{_NO_FEATURES[X.dtype.kind]} X has type {X.dtype}. Give numbers, one row per sample.")
    if X.dtype.kind not in "fiub":
        return
    if X.ndim == 1:
        raise UserError(
            f"Expected 2D array, got 1D array instead: X has shape {X.shape}, but a row per sample is needed. Reshape "
            "your data: X.reshape(1, -1) if it is one sample, X.reshape(-1, 1) if it is one feature."
        )
    if X.ndim != 2:
        raise UserError(
            f"Found array with dim {X.ndim}: X has shape {X.shape}, but a row per sample is needed. Flatten each "
            "sample: X.reshape(len(X), -1)."
        )
    # A sum of finite values is finite, so one pass without a second array is enough.
    if X.dtype.kind == "f" and X.ndim == 2 and X.size:
        with np.errstate(all="ignore"):
            finite = np.isfinite(np.sum(X, dtype=np.float64))
        if not finite:
            _name_what_is_not_finite(X)


def check_alignment(X: Any, y: Any, semantics: Any) -> None:
    """Raise if X and y are ordered differently, y is boolean, or semantics describes samples instead of classes."""
    if _has_masked_values(y):
        raise UserError("y is a masked array with masked values. Give -1 for unlabeled samples.")
    if _is_misordered(getattr(X, "index", None), getattr(y, "index", None)):
        raise UserError("X and y have the same index in another order. Give y.loc[X.index], or reset both indices.")
    if semantics is None:
        return
    if np.asarray(y).dtype == bool and not hasattr(semantics, "index"):
        raise UserError("y is true or false, but labels are rows of semantics. Give class numbers, -1 where unknown.")
    table = np.asarray(semantics) if isinstance(semantics, (np.ndarray, list)) else None
    n = len(y) if y is not None and hasattr(y, "__len__") else 0
    if table is not None and table.ndim == 2 and len(table) == n > 3 and table.dtype.kind in "fiub":
        distinct = len(np.unique(table, axis=0))
        if distinct <= n // 2:
            raise UserError(
                f"semantics has {n} rows, as many as X, and only {distinct} of them differ: it seems to describe each "
                "sample. Give one row per class, and y as row numbers of it."
            )


def _is_misordered(one: Any, other: Any) -> bool:
    """Tell whether two pandas indices have the same unique entries in a different order."""
    if not hasattr(one, "equals") or not hasattr(other, "equals") or len(one) != len(other) or one.equals(other):
        return False
    unique = one.is_unique and other.is_unique
    return bool(unique and one.isin(other).all())


def _as_array(X: Any) -> Any:
    """Return a list or frame as an array; other objects unchanged."""
    if not isinstance(X, (list, tuple)) and not hasattr(X, "to_numpy"):
        return X
    try:
        return X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    except (TypeError, ValueError):
        return X


def _is_numeric_text(X: np.ndarray[Any, Any]) -> bool:
    """Tell whether all texts are numbers, which scikit-learn converts."""
    if X.dtype.kind not in "US":
        return False
    try:
        X.astype(np.float64)
    except ValueError:
        return False
    return True


def _has_masked_values(values: Any) -> bool:
    return isinstance(values, np.ma.MaskedArray) and bool(np.ma.getmaskarray(values).any())


def _name_what_is_not_finite(X: np.ndarray[Any, Any]) -> None:
    wrong = ~np.isfinite(X)
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        kind = "NaN" if np.isnan(X[row, column]) else "infinity"
        raise UserError(
            f"Input X contains {kind} at row {row}, column {column} ({int(wrong.sum())} values are NaN or infinity, in "
            f"{int(wrong.any(axis=1).sum())} rows). Drop or correct these rows."
        )
