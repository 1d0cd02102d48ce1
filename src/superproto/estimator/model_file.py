"""KEEP: write and read a fitted model as safetensors: a JSON header with a checksum (the seal), and plain arrays.

A file holds the method's key in ``METHODS``, its parameters, and every fitted attribute (names that end in an
underscore), of the kinds in :mod:`superproto.estimator.model_encoding`. Not saved are parameters that matter only
during a fit: ``callback``, ``checkpoint``, a fitted model given as ``init``, and a random generator given as
``random_state``.

Reading a file creates only numbers, texts and an instance of a class in ``METHODS``. No other class is looked up, and
no code from the file is run. The seal detects changed files. Two labels are predicted before the model is returned, so
that an inconsistent file fails here.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from superproto import __version__
from superproto.errors import UserError
from superproto.estimator.model_encoding import Decoder, Encoder
from superproto.files import existing_file, write_whole
from superproto.samples.chunks import Array

# Format 1, of version 0.1.0, named the method by the place of its class.
FORMAT = 2
KEY = "superproto"
FindMethod = Callable[[str | None, str | None], type | None]
LONGEST_HEADER = 64 * 2**20
_FOR_A_FIT_ONLY = ("callback", "checkpoint")
_OF_THE_POOL = ("label_distributions_",)


def save_model(model: Any, path: str | os.PathLike[str], *, pool: bool = False) -> None:
    """Write a fitted model to exactly this path, whole or not at all.

    ``label_distributions_`` is as large as samples times classes, and no prediction needs it: ``pool=True`` keeps it.
    """
    from safetensors.numpy import save

    header, tensors = _file_contents(model, pool)
    text = json.dumps(header, ensure_ascii=True, separators=(",", ":"))
    if len(text) > LONGEST_HEADER:
        raise UserError(f"The model's names and parameters take {len(text)} bytes, more than a header may have.")
    # One entry, because safetensors writes several in an order of chance, and the same model should be the same bytes.
    content = save(tensors, {KEY: f"{seal_of(text, tensors)} {text}"})
    with write_whole(path) as handle:
        handle.write(content)


def _file_contents(model: Any, pool: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    kind = type(model)
    if "method_key" not in vars(kind):
        raise UserError(
            f"{kind.__name__} is not a method of superproto.baselines.METHODS: its file could not be read again."
        )
    fitted = {key: value for key, value in vars(model).items() if key.endswith("_") and not key.startswith("_")}
    if "classes_" not in fitted:
        raise UserError(f"This {type(model).__name__} is not fitted. Call fit before save.")
    encoder = Encoder(fitted["classes_"])
    kept = {key: value for key, value in fitted.items() if pool or key not in _OF_THE_POOL}
    header = {
        "format": FORMAT,
        "version": __version__,
        "method": kind.method_key,
        "params": {key: encoder.encode(f"parameter {key}", value) for key, value in _lasting_params(model).items()},
        "fitted": {key: encoder.encode(key, value) for key, value in kept.items()},
    }
    return header, encoder.tensors


def _lasting_params(model: Any) -> dict[str, Any]:
    """Return the parameters that matter after the fit."""
    params = model.get_params(deep=False)
    lasting = {key: value for key, value in params.items() if key not in _FOR_A_FIT_ONLY}
    if hasattr(lasting.get("init"), "fit"):
        del lasting["init"]
    if not isinstance(lasting.get("random_state"), (int, np.integer, type(None))):
        del lasting["random_state"]
    return lasting


def seal_of(text: str, tensors: Mapping[str, Array]) -> str:
    """Return the SHA-256 of the header's text and of every tensor's name, type, shape and bytes."""
    seal = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        array = tensors[name]
        seal.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        seal.update(array.reshape(-1).view(np.uint8).data if array.size else b"")
    return seal.hexdigest()


def read_model(path: str | os.PathLike[str], find_method: FindMethod) -> Any:
    """Read a model that :func:`save_model` wrote.

    ``find_method(key, class_name)`` returns the class of a method, or None if it is unknown. A file of format 1 has
    the name of the class instead of the key.
    """
    path = existing_file(path)
    text, seal, tensors = _read(path)
    header = _header(text, path)
    if seal != seal_of(text, tensors):
        raise UserError(f"{path} was altered or damaged: its content does not match its seal. Fit and save it again.")
    try:
        model = _rebuilt(header, tensors, find_method)
        _try_out(model, tensors)
    except UserError as error:
        raise UserError(f"{path} is inconsistent: {error}") from None
    except Exception as error:
        # A forged file can raise any error in any library. In each case the file is not a model.
        raise UserError(f"{path} is inconsistent ({_brief(error)}). Fit and save it again.") from None
    return model


def _read(path: Path) -> tuple[str, str, dict[str, Array]]:
    """Return the header's text, the seal and the tensors. The parser checks their sizes before it reads anything."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if KEY not in metadata:
                raise UserError(f"{path} is a safetensors file, but not a model. Give what `superproto fit` wrote.")
            seal, _, text = metadata[KEY].partition(" ")
            return text, seal, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except UserError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, AttributeError, MemoryError) as error:
        if zipfile.is_zipfile(path):
            raise UserError(
                f"{path} is a pack or an archive, not a model. Fit one with: superproto fit {path} -o MODEL"
            ) from None
        raise UserError(
            f"{path} is not a model file, or not a whole one ({_brief(error)}). Give what `superproto fit` wrote."
        ) from None


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


def _rebuilt(header: Mapping[str, Any], tensors: Mapping[str, Array], find_method: FindMethod) -> Any:
    """Return the estimator with its parameters and fitted attributes; refuse names that could shadow a method."""
    named = header.get("method", header.get("class"))
    kind = find_method(header.get("method"), _class_name(header.get("class")))
    if header.get("format", 0) < 1 or kind is None:
        raise UserError(f"its method is {named!r}. Give a file that this version wrote.")
    decoder = Decoder(tensors)
    fitted, params = header.get("fitted"), header.get("params")
    if not isinstance(fitted, dict) or not isinstance(params, dict) or "classes_" not in fitted:
        raise UserError("its header has no classes, parameters or fitted values.")
    invalid = [key for key in fitted if not key.isidentifier() or not key.endswith("_") or key.startswith("_")]
    if invalid:
        raise UserError(f"{invalid[0]!r} is not a fitted attribute.")
    accepted = inspect.signature(kind).parameters
    unknown = [key for key in params if key not in accepted]
    if unknown and header["format"] >= FORMAT:
        raise UserError(f"its method has no parameter {unknown[0]!r}.")
    model = kind(**{key: decoder.decode(value) for key, value in params.items() if key in accepted})
    decoder.classes = decoder.decode(fitted["classes_"])
    for key, value in fitted.items():
        setattr(model, key, decoder.decode(value))
    return model


def _try_out(model: Any, tensors: Mapping[str, Array]) -> None:
    """Predict two labels, so that shapes that do not match are found now and not in a later call."""
    columns, classes = getattr(model, "n_features_in_", None), model.classes_
    # An array without entries may claim any shape.
    if type(columns) is not int or not any(array.size and columns in array.shape for array in tensors.values()):
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
    _check_pool(model)
    rows = np.random.default_rng(0).standard_normal((2, columns)).astype(np.float32)
    if hasattr(model, "feature_names_in_") and len(model.feature_names_in_) != columns:
        raise UserError(f"it has {len(model.feature_names_in_)} feature names for {columns} features.")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        probabilities = model.predict_proba(rows)
    if probabilities.shape != (2, len(classes)) or not np.isfinite(probabilities).all():
        raise UserError("its probabilities are not finite.")


def _check_pool(model: Any) -> None:
    """Check that the stored arrays about the unlabeled samples (``pool_...``) have the same number of rows."""
    parts = {key: value for key, value in vars(model).items() if key.startswith("pool_") and hasattr(value, "shape")}
    if len({value.shape[0] for value in parts.values() if len(value.shape)}) > 1:
        raise UserError(f"{' and '.join(sorted(parts))} have different lengths.")


def _class_name(home: Any) -> str | None:
    """Return ``Class`` of ``superproto.module:Class``, or None."""
    place, colon, name = home.partition(":") if isinstance(home, str) else ("", "", "")
    return name if colon and place.startswith("superproto.") else None


def _brief(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:100]
