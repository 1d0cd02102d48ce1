"""The plan cut into jobs that need nothing of each other: a table's methods on one data set, a variant, a figure."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from superproto.experiments import runner
from superproto.experiments.paper.measures import EMBEDDED, MEASURES, figure_key, measure_figure
from superproto.experiments.paper.plan import Data, Line, Plan, Shelf, lines_of
from superproto.experiments.records import Record


@dataclass(frozen=True)
class Job:
    """Runs of one task with the same features, or a figure; `says` tells the user what is being done."""

    data: Data | None
    says: str
    lines: tuple[Line, ...] = ()
    figure: str = ""

    def keys(self, shelf: Shelf | None) -> set[str]:
        """What its records will be known by."""
        if self.figure:
            return {figure_key(self.figure, shelf)}
        assert shelf is not None
        return {line.key(shelf) for line in self.lines}

    def without(self, known: Collection[str], shelf: Shelf | None) -> Job | None:
        """What is left of it where some is recorded."""
        if self.figure:
            return None if self.keys(shelf) <= set(known) else self
        assert shelf is not None
        left = tuple(line for line in self.lines if line.key(shelf) not in known)
        return Job(self.data, self.says, left) if left else None


def jobs_of(plan: Plan, shelf: Shelf | None, tables: set[int], figures: Collection[str]) -> Iterator[Job]:
    """The jobs of a data set, or (None) of what is embedded; the long ones first, so that no process ends alone."""
    if shelf is None:
        yield from (Job(None, f"figure {name}", figure=name) for name in EMBEDDED if name in figures)
        return
    for figure in sorted(plan.figures, key=lambda figure: figure.name != "parameters"):
        measured = figure.name in MEASURES and figure.name not in EMBEDDED
        if measured and figure.name in figures and figure.wants(shelf.data):
            yield Job(shelf.data, f"{shelf.data.title}: figure {figure.name}", figure=figure.name)
    for says, lines in _groups(shelf, lines_of(plan, shelf, tables)):
        yield Job(shelf.data, says, lines)


def do(plan: Plan, folder: Path, job: Job, records: Path) -> list[Record]:
    """Do a job, keeping its records; what is recorded already is done again."""
    shelf = None if job.data is None else _shelf(folder, job.data)
    if job.figure:
        return [measure_figure(plan, job.figure, shelf, records)]
    assert shelf is not None
    return runner.run_methods([line.run(shelf) for line in job.lines], records, again=True)


def process_jobs(
    plan: Plan, folder: Path, jobs: Iterable[Job], records: Path, processes: int
) -> Iterator[tuple[Job, list[Record]]]:
    """Each job with its records, as they are done: by this process, or by several with a share of the threads each."""
    from joblib import Parallel, cpu_count, delayed, parallel_config

    jobs = list(jobs)
    if processes == 1 or len(jobs) < 2:
        yield from ((job, do(plan, folder, job, records)) for job in jobs)
        return
    threads = max(1, cpu_count() // processes)
    with parallel_config("loky", inner_max_num_threads=threads):
        pool = Parallel(n_jobs=processes, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        yield from pool(delayed(_numbered)(plan, folder, job, records) for job in jobs)


def _numbered(plan: Plan, folder: Path, job: Job, records: Path) -> tuple[Job, list[Record]]:
    with warnings.catch_warnings():
        # What a fit warns of is in its record's notes.
        warnings.simplefilter("ignore")
        return job, do(plan, folder, job, records)


@lru_cache(maxsize=1)
def _shelf(folder: Path, data: Data) -> Shelf:
    """A process keeps the data set that it works on: jobs come data set by data set."""
    return Shelf(data, folder)


def _groups(shelf: Shelf, lines: Iterable[Line]) -> Iterator[tuple[str, tuple[Line, ...]]]:
    """Lines that share a preparation of the features go together, but each of HPL's goes alone: it takes long."""

    def group(line: Line) -> tuple[bool, str, str, str]:
        return (not line.is_own, line.setting, line.protocol, repr(line) if line.is_own else line.features)

    for _, found in groupby(sorted(lines, key=group), key=group):
        members = tuple(found)
        first = members[0]
        names = ", ".join(dict.fromkeys(line.says for line in members))
        yield f"{shelf.data.title}: {first.setting} {first.protocol}, {first.features}: {names}", members
