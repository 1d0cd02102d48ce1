"""KEEP: write a fitted model as safetensors: a JSON header with a seal over all of it, and a body of plain numbers.

A file holds where the method's class lives, its parameters, and every fitted attribute (names that end in an
underscore), of the kinds that :mod:`superproto.encoding` knows. ``callback``, ``checkpoint``, a fitted model given as
``init`` and a random generator given as ``random_state`` are of use during a fit only and are not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from superproto import __version__
from superproto.encoding import Encoder
from superproto.errors import UserError
from superproto.files import write_whole
from superproto.rows import Array

__all__ = ["FORMAT", "KEY", "LONGEST_HEADER", "save_model", "seal_of"]

FORMAT = 1
KEY = "superproto"
LONGEST_HEADER = 64 * 2**20
_FOR_A_FIT_ONLY = ("callback", "checkpoint")
_OF_THE_POOL = ("label_distributions_",)


def save_model(model: Any, path: str | os.PathLike[str], *, pool: bool = False) -> None:
    """Write a fitted model to exactly this path, whole or not at all.

    ``label_distributions_`` is as large as samples times classes, and no prediction needs it: ``pool=True`` keeps it.
    """
    from safetensors.numpy import save

    header, tensors = _contents(model, pool)
    text = json.dumps(header, ensure_ascii=True, separators=(",", ":"))
    if len(text) > LONGEST_HEADER:
        raise UserError(f"The model's names and parameters take {len(text)} bytes, more than a header may have.")
    # One entry, because safetensors writes several in an order of chance, and the same model should be the same bytes.
    content = save(tensors, {KEY: f"{seal_of(text, tensors)} {text}"})
    with write_whole(path) as handle:
        handle.write(content)


def _contents(model: Any, pool: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    kind = type(model)
    if kind.__module__.partition(".")[0] != "superproto":
        raise UserError(f"{kind.__name__} is no method of superproto.baselines.METHODS: its file could not be read.")
    fitted = {key: value for key, value in vars(model).items() if key.endswith("_") and not key.startswith("_")}
    if "classes_" not in fitted:
        raise UserError(f"This {type(model).__name__} is not fitted. Call fit before save.")
    encoder = Encoder(fitted["classes_"])
    kept = {key: value for key, value in fitted.items() if pool or key not in _OF_THE_POOL}
    header = {
        "format": FORMAT,
        "version": __version__,
        "class": f"{kind.__module__}:{kind.__qualname__}",
        "params": {key: encoder.encode(f"parameter {key}", value) for key, value in _lasting_params(model).items()},
        "fitted": {key: encoder.encode(key, value) for key, value in kept.items()},
    }
    return header, encoder.tensors


def _lasting_params(model: Any) -> dict[str, Any]:
    """The parameters that still mean something after the fit."""
    params = model.get_params(deep=False)
    lasting = {key: value for key, value in params.items() if key not in _FOR_A_FIT_ONLY}
    if hasattr(lasting.get("init"), "fit"):
        del lasting["init"]
    if not isinstance(lasting.get("random_state"), (int, np.integer, type(None))):
        del lasting["random_state"]
    return lasting


def seal_of(text: str, tensors: Mapping[str, Array]) -> str:
    """sha256 of the header's text and of every tensor's name, type, shape and bytes."""
    seal = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        array = tensors[name]
        seal.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        seal.update(array.reshape(-1).view(np.uint8).data if array.size else b"")
    return seal.hexdigest()
