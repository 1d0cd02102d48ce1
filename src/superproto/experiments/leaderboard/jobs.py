"""RESEARCH: the jobs of the leaderboard's plan: every method on every data set, with parameters chosen once."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.estimator.whitening import WithinClassWhitening
from superproto.experiments.leaderboard.seen_bias import choose_seen_bias
from superproto.experiments.leaderboard.tuned_parameters import choose_parameters
from superproto.experiments.plans import REFERENCE, SETTINGS, LeaderboardPlan, Part, Reference
from superproto.experiments.runner import Job, Progress, Run, Step, run_jobs
from superproto.experiments.task_cache import TaskCache
from superproto.files import PathLike, check_writable


def run_leaderboard(
    plan: LeaderboardPlan,
    folder: PathLike,
    records: PathLike,
    *,
    methods: Collection[str] = (),
    data: Collection[str] = (),
    features: Collection[str] = (),
    again: bool = False,
    step: Step = lambda text: None,
) -> int:
    """Run what the plan has and the records lack. Return the number of new runs.

    `methods`, `data` and `features` restrict the plan. `again` repeats recorded runs, with the parameters chosen
    before; the newest record of a run counts. `step` receives lines of progress.
    """
    if not Path(folder).is_dir():
        raise UserError(f"{folder} is not a folder. Give the folder of the packs with --data.")
    check_writable(records)
    wanted = [method for method in plan.methods if not methods or method in methods]
    parts = [p for p in plan.parts if (not data or p.data.name in data) and (not features or p.features in features)]
    here = [part for part in parts if (Path(folder) / part.data.find).exists()]
    progress = Progress(sum(_size(plan, part, wanted) for part in here), step)
    # Run the first seed of all methods before further seeds, so that an interrupted run has a complete table.
    for first in (True, False):
        for part in here:
            jobs = _jobs(plan, part, TaskCache(part.data, Path(folder)), wanted, records, first)
            run_jobs(jobs, records, on_record=progress, again=again)
    return progress.new


def run_references(plan: LeaderboardPlan, folder: PathLike, records: PathLike, step: Step = lambda text: None) -> int:
    """Run the plan's references that are not recorded. Return the number of new runs."""
    here = [entry for entry in plan.references if (Path(folder) / entry.data.find).exists()]
    tasks = {entry.task: _reference_task(entry, Path(folder)) for entry in {e.task: e for e in here}.values()}
    progress = Progress(len(here), step)
    runs = (Run(tasks[entry.task], entry.method, entry.params, 0, REFERENCE) for entry in here)
    run_jobs((run.job(plan.limit) for run in runs), records, on_record=progress)
    return progress.new


def _reference_task(entry: Reference, folder: Path) -> Task:
    """Return the ZSL task with the features of the reference."""
    task = TaskCache(entry.data, folder).task("zsl")
    if entry.shrinkage is None:
        return task
    whitened = WithinClassWhitening(entry.shrinkage).fit(task.X, task.y).transform(task.X)
    return replace(task, X=whitened, name=entry.task)


def _jobs(
    plan: LeaderboardPlan, part: Part, tasks: TaskCache, methods: Collection[str], records: PathLike, first: bool
) -> Iterator[Job]:
    """Yield the jobs of a part of the plan, method by method."""
    for method in methods:
        seeds = [seed for seed in plan.seeds_of(method) if (seed == 0) == first]
        settings = _settings(plan, part, method)
        if not seeds or not settings:
            continue
        choice = choose_parameters(plan, part, method, tasks, records)
        # HPL whitens by default and is run as a user runs it.
        shared = part.whiten and method != "hpl"
        bias = None
        if "gzsl" in settings:
            bias = choose_seen_bias(method, choice.params, tasks, records, whitened=shared, limit=plan.limit)
        for seed in seeds:
            for setting in settings:
                run = Run(tasks.prepared(setting), method, choice.params, seed, choice.chosen, shared)
                run = replace(run, seen_bias=bias) if setting == "gzsl" else run
                yield run.job(plan.limit, keep_right=True)


def _settings(plan: LeaderboardPlan, part: Part, method: str) -> list[str]:
    return [setting for setting in SETTINGS if plan.skipped(method, part, setting) is None]


def _size(plan: LeaderboardPlan, part: Part, methods: Collection[str]) -> int:
    return sum(len(plan.seeds_of(method)) * len(_settings(plan, part, method)) for method in methods)
