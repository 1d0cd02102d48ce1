"""RESEARCH: the jobs of the paper's plan: the methods of its tables, the variants of Table VI, and its figures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from superproto.experiments.paper.measurements import EMBEDDED, MEASURES, figure_job
from superproto.experiments.plans import WHITENED, Plan, settings_of
from superproto.experiments.records import Record, known_records, write_records
from superproto.experiments.runner import Job, Progress, Run, Step, run_jobs
from superproto.experiments.task_cache import TaskCache
from superproto.files import PathLike


@dataclass(frozen=True)
class Line:
    """One run of the plan, for any data set."""

    setting: str
    protocol: str
    method: str
    params: tuple[tuple[str, Any], ...]
    seed: int

    @property
    def is_own(self) -> bool:
        """Whether it is HPL, which does not share whitening because its time is compared."""
        return self.method.startswith("hpl")

    @property
    def whitened(self) -> bool:
        return bool(dict(self.params).get("whiten", True))

    def job(self, tasks: TaskCache) -> Job:
        """Return the job. A worker process uses its own cache of the data set."""
        return Job(self._run(tasks).job().request, partial(self._measured, tasks))

    def _measured(self, tasks: TaskCache, request: Record) -> Record:
        return self._run(tasks).job().measure(request)

    def _run(self, tasks: TaskCache) -> Run:
        shared = self.whitened and not self.is_own
        given = tasks.prepared(self.setting, self.protocol)
        return Run(given, self.method, dict(self.params), self.seed, "defaults", shared)


def run_paper(
    plan: Plan,
    folder: PathLike,
    path: PathLike,
    tables: set[int],
    figures: Collection[str],
    *,
    fresh: bool = False,
    processes: int = 1,
    step: Step = lambda text: None,
) -> list[Record]:
    """Run what the records in `path` lack for these tables and figures. Return all of their records.

    `fresh` first deletes these records. If a fresh run is interrupted, resume it without `fresh`.
    """
    found = [tasks for data in plan.data if (tasks := TaskCache(data, Path(folder))).exists]
    jobs = [job for tasks in _long_ones_first(found) for job in jobs_of(plan, tasks, tables, figures)]
    if fresh:
        _forget(path, {job.key for job in jobs})
    run_jobs(jobs, path, on_record=Progress(len(jobs), step), processes=processes)
    # Records of another version of an available data set are ignored.
    current = {tasks.data.name: tasks.digests() for tasks in found}
    return [record for record in known_records(path) if record.data in current.get(record.task, {record.data})]


def jobs_of(plan: Plan, tasks: TaskCache | None, tables: set[int], figures: Collection[str]) -> Iterator[Job]:
    """Yield the jobs of a data set (None: of the digits), the long ones first, so that processes end together."""
    if tasks is None:
        yield from (figure_job(plan, name, None) for name in EMBEDDED if name in figures)
        return
    for figure in sorted(plan.figures, key=lambda figure: figure.name != "parameters"):
        measured = figure.name in MEASURES and figure.name not in EMBEDDED
        if measured and figure.name in figures and figure.wants(tasks.data):
            yield figure_job(plan, figure.name, tasks)
    # HPL runs first. Methods with the same preparation of the features follow each other.
    lines = sorted(lines_of(plan, tasks, tables), key=lambda x: (not x.is_own, x.setting, x.protocol, x.whitened))
    yield from (line.job(tasks) for line in lines)


def lines_of(plan: Plan, tasks: TaskCache, numbers: set[int]) -> list[Line]:
    """Return the runs of the chosen tables (3 to 6) on one data set, without duplicates."""
    found = [*_table_lines(plan, tasks, numbers)]
    if 6 in numbers and tasks.data.allows("hpl1"):
        found += _ablation_lines(plan, WHITENED if tasks.data.plain_ablations else (True,))
    return list(dict.fromkeys(found))


def _table_lines(plan: Plan, tasks: TaskCache, numbers: set[int]) -> Iterator[Line]:
    for table in plan.tables:
        if table.number in numbers and tasks.has(table.protocol):
            for method in filter(tasks.data.allows, table.methods):
                for params in settings_of(method):
                    for seed in plan.seeds_of(method):
                        yield Line(table.setting, table.protocol, method, tuple(params.items()), seed)


def _ablation_lines(plan: Plan, whitened: Iterable[bool]) -> Iterator[Line]:
    for variant in (variant for ablation in plan.ablations for variant in ablation.variants):
        for whiten in whitened:
            params = {**variant.params, "whiten": whiten}
            for seed in range(variant.trials):
                yield Line("zsl", "ps", variant.method, tuple(params.items()), seed)


def _long_ones_first(found: Iterable[TaskCache]) -> list[TaskCache | None]:
    return [None, *sorted(found, key=TaskCache.size, reverse=True)]


def _forget(path: PathLike, keys: set[str]) -> None:
    """Delete the records with these keys, and older records of other runs."""
    others = {record.key: record for record in known_records(path) if record.key not in keys}
    write_records(path, others.values())
