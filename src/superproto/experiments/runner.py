"""RESEARCH: run the jobs of a plan, and append each record before the next job starts.

Recorded jobs are not run again, so an interrupted plan resumes. An error ends its own job only; it is recorded and
reported as a warning.
"""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter, process_time
from types import FrameType
from typing import Any

from superproto.baselines.registry import make_model, parameters_of
from superproto.datasets.task import Task
from superproto.evaluation import bootstrap
from superproto.evaluation.evaluate import HEADLINES, Evaluation, evaluate
from superproto.experiments.records import (
    Record,
    append_record,
    failure_note,
    known_records,
    unmeasured,
)
from superproto.experiments.task_cache import PreparedTask, Whitened
from superproto.files import PathLike, check_writable
from superproto.metrics import generalized_scores, predict_with_bias
from superproto.samples.progress import time_left

# Key of the scores of calibrated stacking among the scores of a GZSL run.
CALIBRATED = "calibrated"

OnRecord = Callable[[Record, bool], None]
Step = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """One measurement: its record without scores (`request`), and the function that completes it.

    A recorded measurement without the scores in `needs` is repeated.
    """

    request: Record
    measure: Callable[[Record], Record]
    needs: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.request.key

    def answered_by(self, record: Record | None) -> bool:
        """Tell whether a known record makes the measurement unnecessary.

        A record without any scores has the reason in its notes and is not repeated.
        """
        return record is not None and (not record.scores or all(name in record.scores for name in self.needs))


def run_jobs(
    jobs: Iterable[Job],
    path: PathLike | None,
    *,
    on_record: OnRecord | None = None,
    again: bool = False,
    processes: int = 1,
) -> list[Record]:
    """Run jobs and return their records, in the order of the jobs if there is one process.

    `path` is the file of known records, to which new ones are appended; with None nothing is stored. `again` repeats
    recorded jobs. `on_record(record, reused)` is called for each record.
    """
    found = []
    for record, reused in iterate_jobs(jobs, path, again=again, processes=processes):
        found.append(record)
        if on_record is not None:
            on_record(record, reused)
    return found


def iterate_jobs(
    jobs: Iterable[Job], path: PathLike | None, *, again: bool = False, processes: int = 1
) -> Iterator[tuple[Record, bool]]:
    """Yield each record as soon as it is available, and whether it was known. `jobs` may be a generator."""
    if path is not None:
        check_writable(path)
    known = {record.key: record for record in ([] if again else known_records(path)) if not record.failed}
    left: list[Job] = []
    for job in jobs:
        if job.answered_by(known.get(job.key)):
            yield known[job.key], True
        elif processes > 1:
            left.append(job)
        else:
            known[job.key] = _reported(_done(job, path))
            yield known[job.key], False
    yield from ((_reported(record), False) for record in _side_by_side(left, path, processes))


def _side_by_side(jobs: list[Job], path: PathLike | None, processes: int) -> Iterator[Record]:
    """Run jobs in several processes, each with a share of the threads; yield records in the order of completion."""
    if not jobs:
        return
    from joblib import Parallel, cpu_count, delayed, parallel_config

    threads = max(1, cpu_count() // processes)
    with parallel_config("loky", inner_max_num_threads=threads):
        pool = Parallel(n_jobs=processes, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        yield from pool(delayed(_done)(job, path) for job in jobs)


def _done(job: Job, path: PathLike | None) -> Record:
    """Measure and append the record. A job that takes too long or raises an error is recorded without scores."""
    start = perf_counter()
    try:
        with warnings.catch_warnings():
            # Warnings of a fit are in the notes of its record.
            warnings.simplefilter("ignore")
            record = job.measure(job.request)
    except TimeUp as over:
        record = replace(job.request, seconds=perf_counter() - start, notes=[str(over)])
    except Exception as error:
        record = replace(job.request, seconds=perf_counter() - start, notes=[failure_note(error)])
    if path is not None:
        append_record(path, record)
    return record


def _reported(record: Record) -> Record:
    if record.failed:
        message = f"{title_of_record(record)} {record.notes[0]}. The rest of the plan continues."
        warnings.warn(message, UserWarning, stacklevel=2)
    return record


# -- runs of methods ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A method with its parameters on a task.

    Attributes
    ----------
    chosen : str or None
        How the parameters were chosen.
    share_whitening : bool
        With ``whiten=True`` in the parameters, use samples that are whitened once for all methods.
    constants : mapping
        Constants of HPL that differ from the default.
    seen_bias : float or None
        In GZSL, also score calibrated stacking with this bias. A record of seed 0 without these scores is repeated.
    """

    task: Task | PreparedTask
    method: str = "hpl"
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    chosen: str | None = None
    share_whitening: bool = False
    constants: Mapping[str, Any] = field(default_factory=dict)
    seen_bias: float | None = None

    def job(self, limit: float | None = None, keep_right: bool = False) -> Job:
        """Return the job of this run.

        `limit` is the maximum of its seconds. `keep_right` records which labels are correct, for paired comparisons.
        """
        given = self.task if isinstance(self.task, PreparedTask) else PreparedTask.of(self.task)
        request = unmeasured(
            "run",
            self.method,
            given.task,
            given.digest,
            params=parameters_of(make_model(self.method, self.params, candidates=given.task.candidates)),
            chosen=self.chosen or ("given" if self.params or self.constants else "defaults"),
            seed=self.seed,
            constants=dict(self.constants),
        )
        ready = given.whitened if self.share_whitening else None
        needs = (CALIBRATED,) if self.seen_bias is not None and self.seed == 0 else ()
        return Job(request, partial(_evaluated, given, self.params, ready, limit, keep_right, self.seen_bias), needs)


def _evaluated(
    given: PreparedTask,
    params: Mapping[str, Any],
    whitened: Callable[[], Whitened] | None,
    limit: float | None,
    keep_right: bool,
    seen_bias: float | None,
    request: Record,
) -> Record:
    """Return the record with its scores. Shared whitening does not count towards the limit."""
    ready = None if whitened is None else whitened()
    task, params = (given.task, params) if ready is None else (ready.task, {**params, "whiten": False})
    cpu = process_time()
    with limited(limit):
        found = evaluate(
            task, request.method, params, seed=request.seed, chosen=request.chosen, constants=request.constants
        )
    # CPU seconds are more comparable than wall-clock seconds on a shared machine.
    scores = {**found.scores, "cpu_seconds": process_time() - cpu}
    if keep_right:
        scores["right"] = bootstrap.pack_correctness(task, found.answers)
    if seen_bias is not None:
        scores[CALIBRATED] = calibrated_scores(found, seen_bias)
    waited = {} if ready is None else {"whiten": ready.seconds}
    return replace(
        request,
        scores=scores,
        seconds=found.seconds + sum(waited.values()),
        breakdown={**waited, **found.breakdown},
        notes=list(found.notes),
    )


def calibrated_scores(found: Evaluation, seen_bias: float) -> dict[str, float]:
    """Return U, S and H of calibrated stacking: the bias is subtracted from the scores of the seen classes."""
    task, known = found.task, found.task.expected >= 0
    answers = predict_with_bias(found.class_scores[known], task.seen_classes, seen_bias)
    scores = generalized_scores(task.expected[known], answers, task.seen_classes)
    return {"seen_bias": seen_bias, **scores._asdict()}


def run_methods(
    plan: Iterable[Run],
    path: PathLike,
    *,
    on_record: OnRecord | None = None,
    again: bool = False,
    limit: float | None = None,
    keep_right: bool = False,
) -> list[Record]:
    """Run the plan and return the record of every run, in its order.

    A run is recorded if the file has a record with its data, method, parameters (including defaults) and seed. A run of
    more than `limit` seconds is recorded without scores.
    """
    prepared: dict[Task, PreparedTask] = {}

    def jobs() -> Iterator[Job]:
        for run in plan:
            given = run.task
            if isinstance(given, Task):
                given = prepared.setdefault(given, PreparedTask.of(given))
            yield replace(run, task=given).job(limit, keep_right)

    return run_jobs(jobs(), path, on_record=on_record, again=again)


# -- progress ----------------------------------------------------------------------------------------------------------


class Progress:
    """Report each new record, how much of the plan is done, and the estimated time of the rest."""

    def __init__(self, total: int, step: Step) -> None:
        self.total, self.step = total, step
        self.done = self.new = 0
        self.start = perf_counter()

    def __call__(self, record: Record, reused: bool) -> None:
        self.done += 1
        if reused:
            return
        self.new += 1
        left = time_left(perf_counter() - self.start, self.new, self.total - self.done)
        score = "" if record.scores else f" {'; '.join(record.notes)},"
        name = HEADLINES.get(record.setting, "")
        if record.kind == "run" and name in record.scores:
            score = f" {100 * record.scores[name]:.1f} %,"
        self.step(f"{title_of_record(record)}:{score} {record.seconds:.1f} s; {self.done} of {self.total}, {left}")


def title_of_record(record: Record) -> str:
    """Return the title of a measurement for a line of progress."""
    if record.kind != "run":
        return f"{record.task}: {record.kind} {record.method}".removeprefix(": ")
    features = "raw" if record.params.get("whiten") is False else "whitened"
    protocol = "" if record.protocol == "ps" else f" {record.protocol}"
    return f"{record.task} {features}, {record.setting}{protocol}: {record.method}, seed {record.seed}"


# -- a time limit ------------------------------------------------------------------------------------------------------


class TimeUp(Exception):
    """Raised when a block exceeds its time limit."""


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise `TimeUp` in a block that runs longer, as soon as Python code runs again; None means no limit.

    It uses SIGALRM of Unix in the main thread. On other systems and in other threads there is no limit.
    """
    if seconds is None or not hasattr(signal, "setitimer") or threading.current_thread() != threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeUp(f"not finished within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
