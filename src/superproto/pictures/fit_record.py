"""FIT: a record of what a run was fitted on, so that the same task is not fitted twice."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from superproto import __version__
from superproto.files import write_whole
from superproto.hpl.estimator import HPL
from superproto.pictures.labeling import PictureTask

MODEL_FILE = "model.safetensors"
_FILE = "fit.json"


class FitRecord(NamedTuple):
    """The hash of a task, and the warnings of its fit."""

    signature: str
    notes: list[str]


def fit_signature(task: PictureTask) -> str:
    """A hash of everything that the labels depend on."""
    seal = hashlib.blake2b(f"superproto {__version__}, pool {task.pool}".encode(), digest_size=16)
    for array in (task.embedded.features, task.labels, task.classes.semantics):
        seal.update(f"{array.dtype.str} {array.shape}".encode())
        seal.update(np.ascontiguousarray(array).tobytes())
    seal.update(json.dumps([task.embedded.ids, task.classes.names.tolist()]).encode())
    return seal.hexdigest()


def write_fit_record(folder: Path, record: FitRecord, model: HPL) -> None:
    """Save the model, then the record. After a kill in between, the model has no record and is fitted again."""
    (folder / _FILE).unlink(missing_ok=True)
    model.save(folder / MODEL_FILE)
    with write_whole(folder / _FILE, text=True) as handle:
        json.dump(record._asdict(), handle)


def read_fit_record(folder: Path, signature: str) -> FitRecord | None:
    """The record of the model in the folder. None if there is none, or if it is of another task."""
    try:
        content = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        record = FitRecord(content["signature"], [str(note) for note in content["notes"]])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record if record.signature == signature and (folder / MODEL_FILE).exists() else None
