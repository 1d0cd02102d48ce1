"""CHOOSE: one choice of parameters for a method on a data set with one kind of features; recorded, so made once.

Parameters come from ZSL validation classes alone: seen classes that a fold hides. GZSL reuses the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from superproto.datasets.task import Task
from superproto.evaluation.tuning import Tuned, tune
from superproto.evaluation.tuning.search import choose_search
from superproto.evaluation.tuning.spaces import default_space
from superproto.experiments.leaderboard.plan import Part, ZooPlan
from superproto.experiments.records import Record, append_record, versions
from superproto.experiments.time_limit import TimeUp, limited
from superproto.files import PathLike

PREFIX = "tuning "
# A search stops by itself after its time; beyond twice that, one trial alone takes too long.
_PATIENCE = 2.0


@dataclass(frozen=True)
class TunedParameters:
    """Parameters, and how they were chosen."""

    params: dict[str, Any]
    says: str


def question(plan: ZooPlan, part: Part, method: str) -> tuple[str, dict[str, Any]]:
    """What identifies a choice among the records of its data: method and parameters of its record."""
    search = {"features": part.features, "trials": part.trials, "seconds": part.seconds, "folds": plan.folds}
    return f"{PREFIX}{method}", {**search, "search": choose_search(None)}


def choose(
    plan: ZooPlan, part: Part, method: str, task: Task, digest: str, folds: Sequence[Task], path: PathLike
) -> Record:
    """Search within the part's limits, and append the record of the search; folds have the part's features."""
    name, asked = question(plan, part, method)
    space = {key: values for key, values in default_space(method).items() if key != "whiten"}
    start, found = perf_counter(), None
    try:
        with limited(_PATIENCE * part.seconds):
            found = tune(task, method, space, n_trials=part.trials, time_limit=part.seconds, folds=folds)
    except TimeUp:
        over = _PATIENCE * part.seconds
        said = f"defaults: no search, because trying them on the validation classes took over {over:g} s"
    else:
        hidden = ", ".join(str(fold["hidden_classes"]) for fold in found.folds)
        said = f"tuned on held-out seen classes (zsl, {len(found.folds)} folds of {hidden} classes): {found.reason}"
    record = Record(
        task=task.name,
        data=digest,
        setting=task.setting,
        protocol=task.protocol,
        pool="validation classes",
        method=name,
        params=asked,
        chosen=said,
        seed=0,
        scores={"params": {}} if found is None else _summary(found, task),
        seconds=perf_counter() - start,
        breakdown={},
        notes=[],
        versions=versions(),
    )
    append_record(path, record)
    return record


def _summary(found: Tuned, task: Task) -> dict[str, Any]:
    """What the search found; hidden classes by their rows of the descriptions."""
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
