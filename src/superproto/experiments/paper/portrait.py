"""RESEARCH: measure the diagnostics of `HPL()` on one data set, in both settings."""

from __future__ import annotations

import warnings
from typing import Any

from superproto.datasets.task import Task
from superproto.evaluation.diagnostics import (
    class_tree,
    classes,
    confused_pairs,
    readable,
    reliability,
    super_prototypes,
    trade,
)
from superproto.evaluation.evaluate import Answers, answer
from superproto.experiments.task_cache import TaskCache
from superproto.hpl.estimator import HPL


def portrait(tasks: TaskCache, attribute_names: list[str] | None = None) -> dict[str, Any]:
    """Measure class accuracies, confusions, reliability, the seen-unseen curve, super-prototypes and the class tree."""
    zsl, gzsl = tasks.task(), tasks.task("gzsl")
    model, found = _fit(zsl)
    general = _fit(gzsl)[1]
    names = readable(zsl.class_names)
    return {
        "classes": classes(zsl.expected, found.labels, names),
        "pairs": confused_pairs(zsl.expected, found.labels, names),
        "reliability": {
            "zsl": reliability(zsl.expected, found),
            "gzsl": reliability(gzsl.expected, general),
        },
        "trade": trade(gzsl, general),
        "super_prototypes": super_prototypes(model, names, attribute_names),
        "tree": class_tree(model, names),
    }


def _fit(task: Task) -> tuple[HPL, Answers]:
    model = HPL(candidates=task.candidates, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model, answer(model, task)
