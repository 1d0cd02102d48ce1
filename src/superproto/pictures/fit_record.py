"""FIT: a record of what a run was fitted on, so that the same task is neither fitted nor reported twice."""

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

MODEL_FILE, REPORT_FILE = "model.safetensors", "report.html"
_FILE = "fit.json"


class FitRecord(NamedTuple):
    """The hash of a task, the warnings of its fit, and the hash and the verdict of its report once it is written."""

    signature: str
    notes: list[str]
    report: str = ""
    verdict: str = ""


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
    _write(folder, record)


def note_report(folder: Path, record: FitRecord, task: PictureTask, verdict: str) -> None:
    """Store that the report of the model is written."""
    _write(folder, record._replace(report=_report_hash(folder, task), verdict=verdict))


def has_report(folder: Path, record: FitRecord, task: PictureTask) -> bool:
    """Whether the report in the folder is the one of this model and task, unchanged."""
    return bool(record.report) and record.report == _report_hash(folder, task)


def _report_hash(folder: Path, task: PictureTask) -> str:
    """A hash of the report, and of the names that it shows and the labels do not depend on."""
    attributes = task.classes.attributes
    names = [task.photos.resolve().name, None if attributes is None else attributes.tolist()]
    seal = hashlib.blake2b(json.dumps(names).encode(), digest_size=16)
    try:
        seal.update((folder / REPORT_FILE).read_bytes())
    except OSError:
        return ""
    return seal.hexdigest()


def _write(folder: Path, record: FitRecord) -> None:
    with write_whole(folder / _FILE, text=True) as handle:
        json.dump(record._asdict(), handle)


def read_fit_record(folder: Path, signature: str) -> FitRecord | None:
    """The record of the model in the folder. None if there is none, or if it is of another task."""
    try:
        content = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        record = FitRecord(
            content["signature"], [str(note) for note in content["notes"]], content["report"], content["verdict"]
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record if record.signature == signature and (folder / MODEL_FILE).exists() else None
