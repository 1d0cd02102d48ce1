"""RESEARCH: measure the time and memory of a fit, with one record for each study.

The numbers in ``docs/scale.md`` are from these records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter

from superproto.experiments.records import Entry, Record, speed_entry, unmeasured
from superproto.experiments.runner import Job, Step, iterate_jobs
from superproto.experiments.speed.machine import Rates, machine_context, measure_rates
from superproto.experiments.speed.studies import STUDIES, check_room, large
from superproto.files import PathLike

__all__ = ["STUDIES", "bench", "bench_large"]


def bench(
    folder: Path, only: Sequence[str] | None = None, output: PathLike | None = None, on_start: Step = lambda name: None
) -> Iterator[Entry]:
    """Run the studies and yield their entries.

    ``folder`` has the data packs, if there are any. ``only`` restricts the studies. Entries are appended to
    ``output``, if it is given. ``on_start(name)`` is called before each study.
    """
    jobs = (_job(name, partial(STUDIES[name], folder), on_start) for name in only or STUDIES)
    return (speed_entry(record) for record, _ in iterate_jobs(jobs, output, again=True) if record.scores)


def bench_large(folder: Path, output: PathLike | None = None) -> Iterator[Entry]:
    """Run the study of ImageNet's size and yield its entry. ``folder`` must have space for its features."""
    check_room(folder)
    found = iterate_jobs([_job("large", partial(large, folder))], output, again=True)
    return (speed_entry(record) for record, _ in found if record.scores)


def _job(name: str, study: Callable[[Rates], Entry], on_start: Step = lambda name: None) -> Job:
    def measure(request: Record) -> Record:
        on_start(name)
        start, rates = perf_counter(), measure_rates()
        entry = study(rates)
        return replace(request, scores={**entry, **machine_context(rates)}, seconds=round(perf_counter() - start, 1))

    return Job(unmeasured("speed", name), measure)
