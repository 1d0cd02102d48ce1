"""RESEARCH: choose the parameters of a method on a data set with one kind of features, and record them.

Parameters are chosen on ZSL validation classes, which are held-out seen classes. GZSL uses the same parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

from superproto.datasets.task import Task
from superproto.evaluation.tuning import Tuned, tune
from superproto.evaluation.tuning.search import choose_search
from superproto.evaluation.tuning.spaces import default_space
from superproto.experiments.plans import LeaderboardPlan, Part
from superproto.experiments.records import Record, unmeasured
from superproto.experiments.runner import Job, TimeUp, limited, run_jobs
from superproto.experiments.task_cache import TaskCache
from superproto.files import PathLike

# A search ends after its time limit. If it takes this many times as long, a single trial is too slow.
_PATIENCE = 2.0


@dataclass(frozen=True)
class TunedParameters:
    """Parameters, and how they were chosen."""

    params: dict[str, Any]
    chosen: str


def choose_parameters(
    plan: LeaderboardPlan, part: Part, method: str, tasks: TaskCache, path: PathLike
) -> TunedParameters:
    """Return the defaults if the plan demands it, else the parameters of a recorded or new search."""
    given = {"whiten": part.whiten}
    if method in plan.untuned:
        return TunedParameters({} if method == "hpl" else given, "defaults")
    if not part.trials:
        return TunedParameters(given, "defaults: not tuned on this data set")
    (record,) = run_jobs([_search_job(plan, part, method, tasks)], path)
    return TunedParameters({**record.scores.get("params", {}), **given}, record.chosen)


def _search_job(plan: LeaderboardPlan, part: Part, method: str, tasks: TaskCache) -> Job:
    limits = {"features": part.features, "trials": part.trials, "seconds": part.seconds, "folds": plan.folds}
    request = unmeasured(
        "tuning",
        method,
        tasks.task("zsl"),
        tasks.digest("zsl"),
        pool="validation classes",
        params={**limits, "search": choose_search(None)},
        chosen="defaults: the search for others failed",
    )
    return Job(request, partial(_searched, part, plan.folds, tasks))


def _searched(part: Part, n_folds: int, tasks: TaskCache, request: Record) -> Record:
    """Search within the limits of the plan, on folds with the same features."""
    task, method, folds = tasks.task("zsl"), request.method, tasks.folds(n_folds, part.whiten)
    space = {key: values for key, values in default_space(method).items() if key != "whiten"}
    start, found = perf_counter(), None
    try:
        with limited(_PATIENCE * part.seconds):
            found = tune(task, method, space, n_trials=part.trials, time_limit=part.seconds, folds=folds)
    except TimeUp:
        over = _PATIENCE * part.seconds
        chosen = f"defaults: no search, because trying them on the validation classes took over {over:g} s"
    else:
        hidden = ", ".join(str(fold["hidden_classes"]) for fold in found.folds)
        chosen = f"tuned on held-out seen classes (zsl, {len(found.folds)} folds of {hidden} classes): {found.reason}"
    scores = {"params": {}} if found is None else _summary(found, task)
    return replace(request, chosen=chosen, scores=scores, seconds=perf_counter() - start)


def _summary(found: Tuned, task: Task) -> dict[str, Any]:
    """Return the result of the search for the record. Held-out classes are row numbers of the descriptions."""
    number = {str(name): i for i, name in enumerate(task.class_names)}
    return {
        "params": found.params,
        "score": found.score,
        "default_score": found.default_score,
        "gain": found.gain,
        "standard_error": found.standard_error,
        "trials": len(found.trials),
        "hidden_classes": [[number[name] for name in fold["classes"]] for fold in found.folds],
    }
