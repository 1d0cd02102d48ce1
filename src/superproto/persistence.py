"""KEEP: read a model file. Opening one builds numbers, texts and a method of the zoo, and nothing else.

No class outside the zoo is ever looked up, and no code is ever run. The seal tells an altered file from a whole one,
and two labels are asked for before the model is handed out, so that a forged one fails here.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from superproto import __version__
from superproto.baselines import class_at
from superproto.encoding import Decoder
from superproto.errors import UserError
from superproto.estimator import ZeroShotEstimator
from superproto.files import existing_file
from superproto.modelfile import FORMAT, KEY, LONGEST_HEADER, seal_of
from superproto.rows import Array

__all__ = ["load_model"]


def load_model(path: str | os.PathLike[str]) -> ZeroShotEstimator:
    """The model that :meth:`save` wrote; a clear error for a file that is truncated, altered, foreign or too new.

    >>> from superproto import load_model
    >>> load_model("birds.model").predict(X_new)  # doctest: +SKIP
    """
    path = existing_file(path)
    text, seal, tensors = _read(path)
    header = _header(text, path)
    if seal != seal_of(text, tensors):
        raise UserError(f"{path} was altered or damaged: its content does not match its seal. Fit and save it again.")
    try:
        model = _rebuilt(header, tensors)
        _try_out(model, tensors)
    except UserError as error:
        raise UserError(f"{path} does not hold together: {error}") from None
    except Exception as error:
        # What a forged file can break lies in other people's code; whichever it is, this is no model.
        raise UserError(f"{path} does not hold together ({_brief(error)}). Fit and save it again.") from None
    return model


def _read(path: Path) -> tuple[str, str, dict[str, Array]]:
    """Header text, seal and tensors; the parser checks that header and body fit each other before anything is read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if KEY not in metadata:
                raise UserError(f"{path} is a safetensors file, but not a model of superproto.")
            seal, _, text = metadata[KEY].partition(" ")
            return text, seal, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except UserError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, AttributeError, MemoryError) as error:
        raise UserError(f"{path} is not a model file, or not a whole one ({_brief(error)}).") from None


def _header(text: str, path: Path) -> dict[str, Any]:
    try:
        header = json.loads(text) if len(text) <= LONGEST_HEADER else None
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise UserError(f"{path} has a header that is not superproto's. Fit and save the model again.")
    if header["format"] > FORMAT:
        raise UserError(
            f"{path} has format {header['format']} (superproto {header.get('version')}), but this superproto "
            f"{__version__} reads up to {FORMAT}. Update superproto."
        )
    return header


def _rebuilt(header: Mapping[str, Any], tensors: Mapping[str, Array]) -> ZeroShotEstimator:
    """The estimator with its parameters and fitted attributes; names that could shadow a method are refused."""
    kind = class_at(header.get("class"))
    if header.get("format", 0) < 1 or kind is None:
        raise UserError(f"its method is {header.get('class')!r}. Give a file that this version wrote.")
    decoder = Decoder(tensors)
    fitted, params = header.get("fitted"), header.get("params")
    if not isinstance(fitted, dict) or not isinstance(params, dict) or "classes_" not in fitted:
        raise UserError("its header has no classes, parameters or fitted values.")
    strange = [key for key in fitted if not key.isidentifier() or not key.endswith("_") or key.startswith("_")]
    if strange:
        raise UserError(f"{strange[0]!r} is no fitted attribute.")
    model = kind(**{key: decoder.decode(value) for key, value in params.items()})
    decoder.classes = decoder.decode(fitted["classes_"])
    for key, value in fitted.items():
        setattr(model, key, decoder.decode(value))
    return model


def _try_out(model: ZeroShotEstimator, tensors: Mapping[str, Array]) -> None:
    """Ask for two labels: shapes that do not fit each other are found here and not in the middle of somebody's work."""
    columns, classes = getattr(model, "n_features_in_", None), model.classes_
    if not isinstance(columns, int) or not any(columns in array.shape for array in tensors.values()):
        raise UserError(f"its number of features is {columns!r}.")
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not classes.size:
        raise UserError("it has no classes.")
    if len(set(classes.tolist())) < len(classes):
        raise UserError("a class occurs twice.")
    for mask in (model.allowed_, model.seen_classes_):
        if not isinstance(mask, np.ndarray) or mask.shape != classes.shape or mask.dtype != bool:
            raise UserError(f"a mask over its {len(classes)} classes has another shape.")
    if not model.allowed_.any():
        raise UserError("no class may be given to a sample.")
    rows = np.random.default_rng(0).standard_normal((2, columns)).astype(np.float32)
    if hasattr(model, "feature_names_in_") and len(model.feature_names_in_) != columns:
        raise UserError(f"it has {len(model.feature_names_in_)} feature names for {columns} features.")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        probabilities = model.predict_proba(rows)
    if probabilities.shape != (2, len(classes)) or not np.isfinite(probabilities).all():
        raise UserError("it gives no probabilities.")


def _brief(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:100]
