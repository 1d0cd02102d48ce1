"""FIT: what a run was fitted on, so that the same pictures and classes are not fitted twice."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from superproto import __version__
from superproto.files import write_whole
from superproto.pictures.forecast import AccuracyForecast
from superproto.pictures.labeling import PictureTask

_FILE = "fit.json"


def fit_signature(task: PictureTask) -> str:
    """A hash of everything that decides the labels."""
    seal = hashlib.blake2b(f"superproto {__version__}, pool {task.pool}".encode(), digest_size=16)
    for array in (task.embedded.features, task.labels, task.classes.semantics):
        seal.update(f"{array.dtype.str} {array.shape}".encode())
        seal.update(np.ascontiguousarray(array).tobytes())
    seal.update(json.dumps([task.embedded.ids, task.classes.names.tolist()]).encode())
    return seal.hexdigest()


def write_fit_record(folder: Path, signature: str, forecast: AccuracyForecast | None) -> None:
    """Note that the model in the folder is the one of this signature."""
    content = {"signature": signature, "forecast": None if forecast is None else forecast._asdict()}
    with write_whole(folder / _FILE, text=True) as handle:
        json.dump(content, handle)


def read_fit_record(folder: Path, signature: str) -> tuple[bool, AccuracyForecast | None]:
    """Whether the model in the folder has this signature, and its forecast."""
    try:
        content = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        if content["signature"] != signature:
            return False, None
        forecast = content["forecast"]
        return True, None if forecast is None else AccuracyForecast(**forecast)
    except (OSError, ValueError, KeyError, TypeError):
        return False, None
