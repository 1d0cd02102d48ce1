"""SPEED: how long a fit takes and what it takes of memory, one record for each study.

``docs/scale.md`` has its numbers from these records.
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
    """The entries of the studies, one after the other; ``folder`` holds the data packs, where there are any.

    They are appended to ``output``, if that is given; ``on_start`` hears of a study before it is measured.
    """
    jobs = (_job(name, partial(STUDIES[name], folder), on_start) for name in only or STUDIES)
    return (speed_entry(record) for record, _ in iterate_jobs(jobs, output, again=True) if record.scores)


def bench_large(folder: Path, output: PathLike | None = None) -> Iterator[Entry]:
    """The entry of the study of ImageNet's size; ``folder`` has room for its features."""
    check_room(folder)
    found = iterate_jobs([_job("large", partial(large, folder))], output, again=True)
    return (speed_entry(record) for record, _ in found if record.scores)


def _job(name: str, study: Callable[[Rates], Entry], on_start: Step = lambda name: None) -> Job:
    def measure(asked: Record) -> Record:
        on_start(name)
        start, rates = perf_counter(), measure_rates()
        entry = study(rates)
        return replace(asked, scores={**entry, **machine_context(rates)}, seconds=round(perf_counter() - start, 1))

    return Job(unmeasured("speed", name), measure)
