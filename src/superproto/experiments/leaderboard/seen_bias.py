"""RESEARCH: choose the bias of calibrated stacking for a method on a data set, and record it.

Without a bias, H depends mostly on how strongly a method prefers seen classes. The bias is chosen on a generalized
validation task. Some seen classes are held out there, and a fifth of the labeled samples of the others is unlabeled.
The bias with the highest H there is then subtracted from the scores of the seen classes in the task itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

from superproto.baselines.registry import make_model, parameters_of
from superproto.evaluation.evaluate import evaluate
from superproto.experiments.records import Record, unmeasured
from superproto.experiments.runner import Job, calibrated_scores, limited, run_jobs
from superproto.experiments.task_cache import TaskCache
from superproto.files import PathLike
from superproto.metrics import bias_for_harmonic_mean


def choose_seen_bias(
    method: str, params: Mapping[str, Any], tasks: TaskCache, path: PathLike, *, whitened: bool, limit: float
) -> float | None:
    """Return the bias for these parameters, from the records or by a new measurement; None if that failed.

    With `whitened`, the samples of the validation task are whitened first, by its own labeled samples.
    """
    request = unmeasured(
        "calibration",
        method,
        tasks.task("gzsl"),
        tasks.digest("gzsl"),
        pool="validation classes",
        params=parameters_of(make_model(method, params, candidates="all")),
        chosen="the highest H on a generalized validation task of the labeled samples",
    )
    (record,) = run_jobs([Job(request, partial(_calibrated, params, tasks, whitened, limit))], path)
    found = record.scores.get("seen_bias")
    return None if found is None else float(found)


def _calibrated(params: Mapping[str, Any], tasks: TaskCache, whitened: bool, limit: float, request: Record) -> Record:
    """Measure the bias, and U, S and H of the validation task with and without it."""
    fold = tasks.generalized_fold(whitened)
    given = {**params, "whiten": False} if whitened else params
    start = perf_counter()
    with limited(limit):
        found = evaluate(fold, request.method, given, seed=request.seed)
    bias = bias_for_harmonic_mean(fold.expected, found.class_scores, fold.seen_classes)
    plain = {f"plain_{name}": found.scores[name] for name in ("unseen", "seen", "harmonic_mean")}
    return replace(
        request,
        scores={**calibrated_scores(found, bias), **plain},
        seconds=perf_counter() - start,
        notes=list(found.notes),
    )
