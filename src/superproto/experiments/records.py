"""RESEARCH: records, one JSON line for each measurement, with everything needed to identify and repeat it.

Runs of methods, searches for parameters, figures of the paper, conditions of the robustness study and studies of speed
share one format. Lines are appended atomically. An invalid line is skipped with a warning that has its number.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superproto import __version__
from superproto.baselines.registry import METHODS, make_model, parameters_of
from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.evaluation.evaluate import HEADLINES, Evaluation
from superproto.files import PathLike, write_whole

KINDS = ("run", "tuning", "calibration", "figure", "robustness", "speed")
_FAILED = "failed: "
# The result of a speed study, in the form that its views use.
Entry = dict[str, Any]


@dataclass(frozen=True)
class Record:
    """A measurement: its task, method, scores and time.

    `data` is the SHA-256 of everything a score depends on. `kind` is one of `KINDS`. `method` is the method of a run,
    a search or a calibration; for the other kinds it is the name of the figure, the condition or the study.
    `constants` are the constants of HPL that differ from the default. If `scores` is empty, nothing was measured, and
    `notes` has the reason.
    """

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
    kind: str = "run"
    constants: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """A hash of what identifies a measurement: data, kind and method, parameters, constants, seed."""
        method = self.method if self.kind == "run" else f"{self.kind} {self.method}"
        identity = [self.data, method, self.params, self.seed, *([self.constants] if self.constants else [])]
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()

    @property
    def failed(self) -> bool:
        """Whether the measurement ended in an error. It is repeated when its plan is run again."""
        return not self.scores and any(note.startswith(_FAILED) for note in self.notes)


def unmeasured(kind: str, method: str, on: Task | None = None, digest: str = "", **known: Any) -> Record:
    """Return the record of a measurement before it is made: everything except the scores."""
    defaults: dict[str, Any] = {"kind": kind, "method": method, "params": {}, "chosen": "defaults", "seed": 0}
    where = {name: "" if on is None else getattr(on, name) for name in ("setting", "protocol", "pool")}
    where |= {"task": "" if on is None else on.name, "data": digest}
    found: dict[str, Any] = {"scores": {}, "seconds": 0.0, "breakdown": {}, "notes": [], "versions": versions()}
    return Record(**{**defaults, **where, **found, **known})


def failure_note(error: Exception) -> str:
    """Return the note for a record whose measurement ended in an error."""
    return " ".join(f"{_FAILED}{type(error).__name__}: {error}".split())


def record_of(evaluation: Evaluation, *, digest: str | None = None) -> Record:
    """Return the record of an evaluation. `digest` is that of the task, if it is known already."""
    task = evaluation.task
    return unmeasured(
        "run",
        evaluation.method,
        task,
        digest or task.digest(),
        params=evaluation.params,
        chosen=evaluation.chosen,
        seed=evaluation.seed,
        scores=evaluation.scores,
        seconds=evaluation.seconds,
        breakdown=evaluation.breakdown,
        notes=list(evaluation.notes),
    )


def versions() -> dict[str, str]:
    """Return the versions of the packages that computed the numbers."""
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"superproto": __version__, **packages, "python": platform.python_version()}


def append_record(path: PathLike, record: Record) -> None:
    """Append the record's line in one write, so that lines of several processes never mix."""
    line = _line(record).encode()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        try:
            # If a crash left an incomplete line, start a new one.
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


def write_records(path: PathLike, records: Iterable[Record]) -> None:
    """Write a file with these records only; replace an existing file."""
    with write_whole(path, text=True) as handle:
        handle.writelines(map(_line, records))


def read_records(path: PathLike) -> list[Record]:
    """Read every record of the file, in order; skip invalid lines with a warning."""
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
            warnings.warn(f"{path}, line {number} is not a record ({error}); skipped.", UserWarning, stacklevel=2)
    return records


def known_records(path: PathLike | None) -> list[Record]:
    """Read the records of a file; return an empty list if it does not exist."""
    return read_records(path) if path is not None and Path(path).exists() else []


def _line(record: Record) -> str:
    line = json.dumps(asdict(record), ensure_ascii=False, allow_nan=False) + "\n"
    # The half of a character, as in a file's odd name, becomes its JSON escape.
    return line.encode("utf-8", "backslashreplace").decode("utf-8")


def _parsed(line: bytes) -> Record:
    content = json.loads(line.decode("utf-8"))
    if not isinstance(content, dict):
        raise ValueError("not a JSON object")
    for entry in fields(Record):
        kind = {"str": str, "int": int, "float": (int, float)}.get(str(entry.type), dict)
        kind = list if entry.name == "notes" else kind
        needed = entry.default is MISSING and entry.default_factory is MISSING
        if (needed or entry.name in content) and not isinstance(content.get(entry.name), kind):  # type: ignore[arg-type]
            raise ValueError(f"'{entry.name}' is missing or of the wrong kind")
    named = {entry.name: content[entry.name] for entry in fields(Record) if entry.name in content}
    return Record(**named if "kind" in named else _with_kind(named))


def _with_kind(named: dict[str, Any]) -> dict[str, Any]:
    """Add the kind to a line of version 0.1, in which the method of a search or a figure begins with it."""
    kind, _, method = str(named["method"]).partition(" ")
    return {**named, "kind": kind, "method": method} if method and kind in KINDS else named


def _ends_a_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    if not size:
        return True
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) == b"\n"


class Score(NamedTuple):
    """A score over seeds: mean, standard deviation (0 for one seed), and half the 95 % interval of one run."""

    mean: float
    spread: float
    trials: int
    interval: float


class Results:
    """Look up records by data set, method and parameters, the newest of each seed, and figures.

    A record is found only if all of its parameters are equal, including defaults.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._runs: dict[tuple[str, str, str, str, str], dict[int, Record]] = {}
        self._figures: dict[tuple[str, str], dict[str, Any]] = {}
        for record in records:
            if record.scores and record.kind == "figure":
                self._figures[record.method, record.task] = record.scores
            elif record.scores and record.kind == "run" and not record.constants:
                params = f"{'none' if record.pool == 'none' else 'pool'} {_fingerprint(record.params)}"
                key = (record.task, record.setting, record.protocol, record.method, params)
                self._runs.setdefault(key, {})[record.seed] = record

    def tasks(self) -> set[str]:
        """Return the data sets that have records."""
        return {key[0] for key in self._runs} | {task for _, task in self._figures}

    def has(self, task: str, protocol: str) -> bool:
        """Tell whether there are runs with this protocol."""
        return any(key[0] == task and key[2] == protocol for key in self._runs)

    def runs(
        self,
        task: str,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        setting: str = "zsl",
        protocol: str = "ps",
        inductive: bool = False,
    ) -> list[Record]:
        """Return the records of these runs, one for each seed."""
        if method not in METHODS:
            return []
        full = parameters_of(make_model(method, params))
        pool = "none" if inductive else "pool"
        found = self._runs.get((task, setting, protocol, method, f"{pool} {_fingerprint(full)}"), {})
        return [found[seed] for seed in sorted(found)]

    def score(self, task: str, method: str, params: Mapping[str, Any] | None = None, **where: Any) -> Score | None:
        """Return the main score of the setting (per-class accuracy, or the harmonic mean); None without runs."""
        return self.value(HEADLINES[where.get("setting", "zsl")], task, method, params, **where)

    def value(
        self, name: str, task: str, method: str, params: Mapping[str, Any] | None = None, **where: Any
    ) -> Score | None:
        """Return a score by its name, or "seconds"; None without runs."""
        records = self.runs(task, method, params, **where)
        if not records:
            return None
        values = np.array([r.seconds if name == "seconds" else r.scores.get(name, np.nan) for r in records], float)
        widths = [(r.scores["interval"][1] - r.scores["interval"][0]) / 2 for r in records if "interval" in r.scores]
        spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        return Score(float(values.mean()), spread, len(values), float(np.mean(widths)) if widths else 0.0)

    def figure(self, name: str) -> dict[str, dict[str, Any]]:
        """Return the measurements of a figure by data set."""
        return {task: content for (figure, task), content in self._figures.items() if figure == name}


def last_entries(path: PathLike) -> dict[str, Entry]:
    """Return the latest entry of each speed study by its name; empty if there is no file."""
    return {record.method: speed_entry(record) for record in known_records(path) if record.kind == "speed"}


def speed_entry(record: Record) -> Entry:
    """Return the result of a speed study in the form that its views use."""
    return {"study": record.method, **record.scores, "took": record.seconds, "versions": record.versions}


def _fingerprint(params: Mapping[str, Any]) -> str:
    return repr(sorted(params.items()))
