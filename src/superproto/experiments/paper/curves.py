"""Measured curves: objective by sweep (Fig. 5a), time against the pool's size (Fig. 5b), parameters (Fig. 7)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from superproto.datasets.task import Task
from superproto.evaluation.evaluate import evaluate
from superproto.experiments.paper.plan import Shelf
from superproto.experiments.runner import whiten
from superproto.hpl.estimator import HPL

MODELS: dict[str, Callable[..., HPL]] = {
    "as published": HPL.as_published,
    "as published, whitened": lambda **more: HPL.as_published(whiten=True, **more),
    "default": HPL,
}
FRACTIONS = (0.1, 0.25, 0.5, 1.0)
# Enough to time a sweep, and the same work for every size of the pool.
SWEEPS = 10
PARAMETER_GRID = (0.1, 0.3, 0.5, 0.7, 0.9)
THETAS = (0.1, 0.3, 0.5, 0.7, 0.9)


def convergence(shelf: Shelf) -> dict[str, Any]:
    """The objective after each sweep, and how many labels each sweep changed."""
    return {name: _trace(make, shelf.task()) for name, make in MODELS.items()}


def timing(shelf: Shelf) -> dict[str, Any]:
    """Seconds of one core for a fit of at most ten sweeps, and for one sweep, for growing parts of the pool."""
    found: dict[str, Any] = {}
    for name in ("as published, whitened", "default"):
        points = []
        for fraction in FRACTIONS:
            task = shelf.task() if fraction == 1 else shelf.task().with_pool("subsample", fraction=fraction)
            trace = _trace(partial(MODELS[name], max_iter=SWEEPS), task)
            points.append({key: trace[key] for key in ("pool", "seconds", "sweep_seconds", "sweeps")})
        found[name] = points
    return found


def parameters(shelf: Shelf) -> dict[str, Any]:
    """Per-class accuracy along each parameter, the others at their defaults, on validation and on test classes."""
    tasks = {"validation": whiten(shelf.task().folds(1)[0]).task, "test": whiten(shelf.task()).task}
    curves: dict[str, Any] = {}
    for name, values in {
        "rho": PARAMETER_GRID,
        "omega": (*PARAMETER_GRID, 0.99),
        "alpha": PARAMETER_GRID,
        "theta": THETAS,
    }.items():
        found = {which: [_accuracy(task, name, value) for value in values] for which, task in tasks.items()}
        curves[name] = {"values": list(values), **found}
    own = len(tasks["test"].seen_classes) / len(tasks["test"].semantics)
    return {"curves": curves, "seen_share": round(own, 4), "defaults": _defaults()}


def fitted_exponent(sizes: Any, seconds: Any) -> float:
    """c of seconds ∝ sizes^c, by least squares of the logarithms.

    >>> round(fitted_exponent([10, 100, 1000], [2, 20, 200]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _trace(make: Callable[..., HPL], task: Task) -> dict[str, Any]:
    stamps: list[float] = []
    changed: list[int] = []

    def note(sweep: Any) -> None:
        stamps.append(process_time())
        changed.append(int(sweep.labels_changed))

    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = make(callback=note, random_state=0).fit(task.X, task.y, semantics=task.semantics)
    gaps = np.diff(stamps) if len(stamps) > 1 else np.array([process_time() - start])
    return {
        "objective": [float(f"{value:.10g}") for value in model.objective_],
        "labels_changed": changed,
        # The callback hears of every start's sweeps; the objective is that of the start that won.
        "sweeps": int(model.n_iter_),
        "seconds": round(process_time() - start, 3),
        "sweep_seconds": round(float(np.median(gaps)), 5),
        "pool": int(task.asked.sum()),
    }


def _accuracy(task: Task, name: str, value: float) -> float:
    """With a parameter changed, on samples that are whitened already."""
    found = evaluate(task, "hpl", {name: value, "whiten": False})
    return round(float(found.scores["per_class_accuracy"]), 4)


def _defaults() -> dict[str, Any]:
    model = HPL()
    return {name: getattr(model, name) for name in ("rho", "omega", "alpha", "theta")}
