"""RECORD: one JSON line for each run, with all that is needed to repeat it and to know what it was.

A line is appended whole or not at all; a line that cannot be read is reported with its number and skipped.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from superproto import __version__
from superproto.errors import UserError
from superproto.evaluation.evaluate import Evaluation
from superproto.files import PathLike


@dataclass(frozen=True)
class Record:
    """A run: its task (by name and by sha256 of what decides a score), its method, its scores, its cost."""

    task: str
    data: str
    setting: str
    protocol: str
    pool: str
    method: str
    params: dict[str, Any]
    chosen: str
    seed: int
    scores: dict[str, Any]
    seconds: float
    breakdown: dict[str, float]
    notes: list[str]
    versions: dict[str, str]

    @property
    def key(self) -> str:
        """What makes two runs the same: data, method, parameters, seed."""
        return key_of(self.data, self.method, self.params, self.seed)


def key_of(data: str, method: str, params: Mapping[str, Any], seed: int) -> str:
    """sha256 of what decides a run's outcome."""
    text = json.dumps([data, method, params, seed], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def record_of(evaluation: Evaluation, *, digest: str | None = None) -> Record:
    """The record of an evaluation; `digest` spares computing the task's again."""
    task = evaluation.task
    return Record(
        task=task.name,
        data=digest or task.digest(),
        setting=task.setting,
        protocol=task.protocol,
        pool=task.pool,
        method=evaluation.method,
        params=evaluation.params,
        chosen=evaluation.chosen,
        seed=evaluation.seed,
        scores=evaluation.scores,
        seconds=evaluation.seconds,
        breakdown=evaluation.breakdown,
        notes=list(evaluation.notes),
        versions=versions(),
    )


def versions() -> dict[str, str]:
    """What computed the numbers."""
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"superproto": __version__, **packages, "python": platform.python_version()}


def check_writable(path: PathLike) -> None:
    """Say now, not after an hour's work, that records cannot be written there."""
    path = Path(path)
    if path.is_dir():
        raise UserError(f"{path} is a folder. Give the name of a file to write.")
    if not path.parent.is_dir():
        raise UserError(f"{path} cannot be written: the folder {path.parent} does not exist.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UserError(f"{path} cannot be written: permission denied. Choose another place.")


def append_record(path: PathLike, record: Record) -> None:
    """Add the record's line in one write, so that lines of several processes never mix."""
    line = json.dumps(asdict(record), ensure_ascii=False, allow_nan=False).encode() + b"\n"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        try:
            # A line that was cut off by a crash must not swallow this one.
            start = b"" if _ends_a_line(descriptor) else b"\n"
            written = os.write(descriptor, start + line)
            if written < len(start + line):
                os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
                raise UserError(f"{path} cannot be written: the disk is full.")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}. Choose another place.") from None


def read_records(path: PathLike) -> list[Record]:
    """Every record of the file in order; a line that is none is skipped with a warning that names its number."""
    path = Path(path)
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None
    records = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            records.append(_parsed(line))
        except (ValueError, RecursionError) as error:
            warnings.warn(f"{path}, line {number} is no record ({error}); skipped.", UserWarning, stacklevel=2)
    return records


def _parsed(line: bytes) -> Record:
    content = json.loads(line.decode("utf-8"))
    if not isinstance(content, dict):
        raise ValueError("not a JSON object")
    for entry in fields(Record):
        kind = {"str": str, "int": int, "float": (int, float)}.get(str(entry.type), dict)
        kind = list if entry.name == "notes" else kind
        if not isinstance(content.get(entry.name), kind):  # type: ignore[arg-type]
            raise ValueError(f"'{entry.name}' is missing or of the wrong kind")
    return Record(**{entry.name: content[entry.name] for entry in fields(Record)})


def _ends_a_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    if not size:
        return True
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) == b"\n"
