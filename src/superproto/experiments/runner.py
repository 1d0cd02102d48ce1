"""RECORD: run a plan and keep its records; a run that is recorded already is not run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from superproto.baselines.registry import make_model, parameters_of
from superproto.datasets.task import Task
from superproto.evaluation import bootstrap
from superproto.evaluation.evaluate import evaluate
from superproto.experiments.records import (
    Record,
    append_record,
    check_writable,
    key_of,
    read_records,
    record_of,
    versions,
)
from superproto.experiments.time_limit import TimeUp, limited
from superproto.files import PathLike
from superproto.samples.chunks import Array, rows_of
from superproto.samples.timing import measured
from superproto.samples.whitening import apply_metric


@dataclass(frozen=True)
class Whitened:
    """A task whose samples are whitened already, and the seconds that this took."""

    task: Task
    seconds: float


def whiten(task: Task) -> Whitened:
    """Whiten a task once for all methods, as each does with ``whiten=True``: the metric is that of the simplest."""
    with measured() as seconds:
        metric = make_model("prototypes", {"whiten": True}).fit(task.X, task.y, semantics=task.semantics).metric_

    def prepared(X: Array) -> Array:
        return np.concatenate([part for (part,) in rows_of(X).visit(lambda chunk: (apply_metric(metric, chunk),))])

    later = prepared(task.later) if len(task.later) else None
    return Whitened(replace(task, X=prepared(task.X), X_later=later), seconds["whiten"])


@dataclass(frozen=True)
class Run:
    """One line of a plan: a method with its parameters on a task. `chosen` says how the parameters were chosen.

    `whitened`, for parameters with ``whiten=True``: the task whitened before, so that not every method whitens it anew.
    """

    task: Task
    method: str = "hpl"
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    chosen: str | None = None
    whitened: Whitened | None = None


def run_methods(
    plan: Iterable[Run],
    path: PathLike,
    *,
    on_record: Callable[[Record, bool], None] | None = None,
    again: bool = False,
    limit: float | None = None,
    keep_right: bool = False,
) -> list[Record]:
    """The record of every run of the plan, in its order.

    A run counts as recorded when the file has its data, method, parameters (defaults included) and seed; `again` runs
    it anyhow. Each record is in the file before the next run starts, so that an interrupted plan resumes where it
    stopped. `on_record(record, reused)` hears of each. A run of more than `limit` seconds is recorded as such, without
    scores. `keep_right` also records which answers were right, for paired comparisons.
    """
    check_writable(path)
    known = {record.key: record for record in read_records(path)} if Path(path).exists() and not again else {}
    records: list[Record] = []
    digests: dict[Task, str] = {}
    for entry in plan:
        if entry.task not in digests:
            digests[entry.task] = entry.task.digest()
        params = parameters_of(make_model(entry.method, entry.params, candidates=entry.task.candidates))
        key = key_of(digests[entry.task], entry.method, params, entry.seed)
        reused = key in known
        if not reused:
            known[key] = _recorded(entry, params, digests[entry.task], limit, keep_right)
            append_record(path, known[key])
        records.append(known[key])
        if on_record is not None:
            on_record(known[key], reused)
    return records


def _recorded(entry: Run, params: dict[str, Any], digest: str, limit: float | None, keep_right: bool) -> Record:
    ready = entry.whitened
    task, given = (entry.task, entry.params) if ready is None else (ready.task, {**entry.params, "whiten": False})
    start, cpu = perf_counter(), process_time()
    try:
        with limited(limit):
            found = evaluate(task, entry.method, given, seed=entry.seed, chosen=entry.chosen)
    except TimeUp as over:
        return _unfinished(entry, params, digest, perf_counter() - start, str(over))
    record = record_of(found, digest=digest)
    # On a shared machine two methods' seconds compare badly; what they computed compares well.
    record = replace(record, scores={**record.scores, "cpu_seconds": process_time() - cpu})
    if ready is not None:
        spent = {"whiten": ready.seconds, **record.breakdown}
        record = replace(record, params=params, seconds=record.seconds + ready.seconds, breakdown=spent)
    if keep_right:
        record = replace(record, scores={**record.scores, "right": bootstrap.pack_correctness(task, found.answers)})
    return record


def _unfinished(entry: Run, params: dict[str, Any], digest: str, seconds: float, said: str) -> Record:
    """The record of a run that took too long: no scores, and a note that says so."""
    task = entry.task
    return Record(
        task=task.name,
        data=digest,
        setting=task.setting,
        protocol=task.protocol,
        pool=task.pool,
        method=entry.method,
        params=params,
        chosen=entry.chosen or ("given" if entry.params else "defaults"),
        seed=entry.seed,
        scores={},
        seconds=seconds,
        breakdown={},
        notes=[said],
        versions=versions(),
    )
