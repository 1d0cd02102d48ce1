"""RECORD: run a plan and keep its records; a run that is recorded already is not run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .evaluation import evaluate
from .methods import make_model, parameters_of
from .records import PathLike, Record, append, check_writable, key_of, read, record_of
from .task import Task

__all__ = ["Run", "run"]


@dataclass(frozen=True)
class Run:
    """One line of a plan: a method with its parameters on a task. `chosen` says how the parameters were chosen."""

    task: Task
    method: str = "hpl"
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    chosen: str | None = None


def run(
    plan: Iterable[Run],
    path: PathLike,
    *,
    on_record: Callable[[Record, bool], None] | None = None,
    again: bool = False,
) -> list[Record]:
    """The record of every run of the plan, in its order.

    A run counts as recorded when the file has its data, method, parameters (defaults included) and seed; `again` runs
    it anyhow. Each record is in the file before the next run starts, so that an interrupted plan resumes where it
    stopped. `on_record(record, reused)` hears of each.
    """
    check_writable(path)
    known = {record.key: record for record in read(path)} if Path(path).exists() and not again else {}
    records: list[Record] = []
    last: Task | None = None
    digest = ""
    for entry in plan:
        if entry.task is not last:
            last, digest = entry.task, entry.task.digest()
        params = parameters_of(make_model(entry.method, entry.params, candidates=entry.task.candidates))
        key = key_of(digest, entry.method, params, entry.seed)
        reused = key in known
        if not reused:
            found = evaluate(entry.task, entry.method, entry.params, seed=entry.seed, chosen=entry.chosen)
            known[key] = record_of(found, digest=digest)
            append(path, known[key])
        records.append(known[key])
        if on_record is not None:
            on_record(known[key], reused)
    return records
