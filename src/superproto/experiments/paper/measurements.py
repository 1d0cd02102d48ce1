"""RESEARCH: measure what the figures of the paper show on one data set: curves, embedding, sizes, attributes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np

from superproto.baselines.registry import make_model, parameters_of
from superproto.datasets.task import Task
from superproto.evaluation.diagnostics import readable
from superproto.evaluation.evaluate import evaluate
from superproto.experiments.paper.portrait import portrait
from superproto.experiments.plans import Plan
from superproto.experiments.records import Record, unmeasured
from superproto.experiments.runner import Job
from superproto.experiments.task_cache import TaskCache, whiten
from superproto.hpl.estimator import HPL
from superproto.samples.whitening import apply_metric

Measure = Callable[[Plan, TaskCache], dict[str, Any]]
MODELS: dict[str, Callable[..., HPL]] = {
    "as published": HPL.as_published,
    "as published, whitened": lambda **more: HPL.as_published(whiten=True, **more),
    "default": HPL,
}
FRACTIONS = (0.1, 0.25, 0.5, 1.0)
# Enough iterations to time one, and the same number for every pool size.
TIMED_ITERATIONS = 10
PARAMETER_GRID = (0.1, 0.3, 0.5, 0.7, 0.9)
THETAS = (0.1, 0.3, 0.5, 0.7, 0.9)
POINTS = 1000


# -- curves: objective by iteration (Fig. 5a), time against the pool's size (Fig. 5b), parameters (Fig. 7) -------------


def convergence(tasks: TaskCache) -> dict[str, Any]:
    """Measure the objective after each iteration, and how many labels each iteration changed."""
    return {name: _trace(make, tasks.task()) for name, make in MODELS.items()}


def timing(tasks: TaskCache) -> dict[str, Any]:
    """Measure CPU seconds of a fit of at most ten iterations and of one iteration, for growing pools."""
    found: dict[str, Any] = {}
    for name in ("as published, whitened", "default"):
        points = []
        for fraction in FRACTIONS:
            task = tasks.task() if fraction == 1 else tasks.task().with_pool("subsample", fraction=fraction)
            trace = _trace(partial(MODELS[name], max_iter=TIMED_ITERATIONS), task)
            points.append({key: trace[key] for key in ("pool", "seconds", "sweep_seconds", "sweeps")})
        found[name] = points
    return found


def parameters(tasks: TaskCache) -> dict[str, Any]:
    """Measure per-class accuracy by each parameter, the others at their defaults, on validation and test classes."""
    given = {"validation": whiten(tasks.task().folds(1)[0]).task, "test": whiten(tasks.task()).task}
    curves: dict[str, Any] = {}
    for name, values in {
        "rho": PARAMETER_GRID,
        "omega": (*PARAMETER_GRID, 0.99),
        "alpha": PARAMETER_GRID,
        "theta": THETAS,
    }.items():
        found = {which: [_accuracy(task, name, value) for value in values] for which, task in given.items()}
        curves[name] = {"values": list(values), **found}
    own = len(given["test"].seen_classes) / len(given["test"].semantics)
    return {"curves": curves, "seen_share": round(own, 4), "defaults": _defaults()}


def _trace(make: Callable[..., HPL], task: Task) -> dict[str, Any]:
    stamps: list[float] = []
    changed: list[int] = []

    def note(done: Any) -> None:
        stamps.append(process_time())
        changed.append(int(done.labels_changed))

    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = make(callback=note, random_state=0).fit(task.X, task.y, semantics=task.semantics)
    gaps = np.diff(stamps) if len(stamps) > 1 else np.array([process_time() - start])
    return {
        "objective": [float(f"{value:.10g}") for value in model.objective_],
        "labels_changed": changed,
        # The callback receives the iterations of every start; the objective is that of the best start.
        "sweeps": int(model.n_iter_),
        "seconds": round(process_time() - start, 3),
        "sweep_seconds": round(float(np.median(gaps)), 5),
        "pool": int(task.asked.sum()),
    }


def _accuracy(task: Task, name: str, value: float) -> float:
    """Return the accuracy with one parameter changed, on whitened samples."""
    found = evaluate(task, "hpl", {name: value, "whiten": False})
    return round(float(found.scores["per_class_accuracy"]), 4)


def _defaults() -> dict[str, Any]:
    model = HPL()
    return {name: getattr(model, name) for name in ("rho", "omega", "alpha", "theta")}


# -- Fig. 6: the unseen pool in two dimensions, with true and with predicted labels, for both settings -----------------


def embedding(tasks: TaskCache) -> dict[str, Any]:
    """Compute t-SNE of at most a thousand samples of unseen classes, whitened; labels are class numbers."""
    zsl, gzsl = tasks.task(), tasks.task("gzsl")
    model, narrow = _labels(zsl)
    wide = _labels(gzsl)[1]
    rows = np.flatnonzero(zsl.asked)
    rows = np.sort(np.random.default_rng(0).permutation(rows)[:POINTS])
    where = {int(row): place for place, row in enumerate(np.asarray(gzsl.rows))}
    places = _tsne(apply_metric(model.metric_, np.asarray(zsl.X[rows], dtype=np.float32)))
    return {
        "x": [round(float(v), 1) for v in places[:, 0]],
        "y": [round(float(v), 1) for v in places[:, 1]],
        "truth": zsl.truth[rows].tolist(),
        "zsl": narrow[rows].tolist(),
        "gzsl": [int(wide[where[int(row)]]) for row in np.asarray(zsl.rows)[rows]],
        "unseen": zsl.unseen_classes.tolist(),
        "names": readable(zsl.class_names),
    }


def _labels(task: Task) -> tuple[HPL, Any]:
    model = HPL(candidates=task.candidates, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(task.X, task.y, semantics=task.semantics)
    return model, model.transduction_


def _tsne(rows: Any) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    reduced = PCA(min(50, *rows.shape), random_state=0).fit_transform(rows)
    perplexity = min(30.0, (len(rows) - 1) / 3)
    return TSNE(init="pca", learning_rate="auto", perplexity=perplexity, random_state=0).fit_transform(reduced)


# -- the data sets: Fig. 3, Table II, the embedded digits --------------------------------------------------------------


def predictability(plan: Plan, tasks: TaskCache) -> dict[str, Any]:
    """Measure for Fig. 3 how well features of held-out classes predict each attribute."""
    from superproto.evaluation.attribute_visibility import inspect_attributes

    found = inspect_attributes(tasks.task(), _attribute_names(plan, tasks))
    return {
        "folds": found.folds,
        "attributes": [[a.name, round(a.auc, 4), round(a.correlation, 4)] for a in found.attributes],
        "says": found.sentences(),
    }


def sizes(plan: Plan, tasks: TaskCache) -> dict[str, Any]:
    """Return the sizes of the available data set, for Table II."""
    task, own = tasks.task(), tasks.task().validation_classes
    general = tasks.task("gzsl")
    val = None if own is None else len(own)
    asked_seen = int((~np.isin(general.expected, task.unseen_classes)).sum())
    standard = tasks.task("zsl", "ss") if tasks.has("ss") else None
    return {
        "attributes": int(task.semantics.shape[1]),
        "classes": len(task.semantics),
        "train_classes": len(task.seen_classes) - (val or 0),
        "val_classes": val,
        "unseen_classes": len(task.unseen_classes),
        "samples": int((~task.asked).sum()) + len(general.expected),
        "ss_labeled": None if standard is None else int((~standard.asked).sum()),
        "ss_unseen": None if standard is None else len(standard.expected),
        "ps_labeled": int((~task.asked).sum()),
        "ps_seen": asked_seen,
        "ps_unseen": len(task.expected),
    }


def measure_digits(*_: Any) -> dict[str, Any]:
    """Measure both accuracies on digits for every choice of three unseen digits."""
    from superproto.datasets import digits as load_digits
    from superproto.reporting.digits_demo import UNSEEN, every_choice

    choices = every_choice(load_digits(UNSEEN), os.cpu_count() or 1)
    return {
        "unseen": list(UNSEEN),
        "choices": [[list(c.unseen), round(c.inductive, 4), round(c.transductive, 4)] for c in choices],
    }


def _attribute_names(plan: Plan, tasks: TaskCache) -> list[str] | None:
    names = plan.attributes.get(tasks.data.dataset.removesuffix("2"))
    return names if names is not None and len(names) == tasks.task().semantics.shape[1] else None


# -- every measurement by name, and its job ----------------------------------------------------------------------------

MEASURES: dict[str, Measure] = {
    "digits": measure_digits,
    "sizes": sizes,
    "predictability": predictability,
    "convergence": lambda plan, tasks: convergence(tasks),
    "timing": lambda plan, tasks: timing(tasks),
    "embedding": lambda plan, tasks: embedding(tasks),
    "parameters": lambda plan, tasks: parameters(tasks),
    "portrait": lambda plan, tasks: portrait(tasks, _attribute_names(plan, tasks)),
}
# Figures that need no data set of the plan.
EMBEDDED = ("digits",)


def figure_job(plan: Plan, name: str, tasks: TaskCache | None) -> Job:
    """Return the job that measures a figure on a data set (None: on digits)."""
    task, digest = ("digits", "embedded") if tasks is None else (tasks.data.name, tasks.digest())
    where: dict[str, Any] = {"task": task, "data": digest, "setting": "zsl", "protocol": "ps", "pool": "unseen"}
    # The figure must be measured again when the defaults of HPL change.
    request = unmeasured("figure", name, params=parameters_of(make_model("hpl")), **where)
    return Job(request, partial(_measured, plan, tasks))


def _measured(plan: Plan, tasks: TaskCache | None, request: Record) -> Record:
    start = perf_counter()
    content = MEASURES[request.method](plan, tasks)  # type: ignore[arg-type]
    return replace(request, scores=content, seconds=round(perf_counter() - start, 3))
