"""RESEARCH: measure robustness to missing classes, class imbalance, few unlabeled samples and noisy attributes.

Each condition is drawn several times. The default model, the inductive model (its start), K-means and TransCLIP label
the same draws, with the same whitening. The pool is the set of unlabeled samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from superproto.baselines.registry import make_model
from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.experiments.records import Record, known_records, unmeasured
from superproto.experiments.runner import Job, iterate_jobs
from superproto.experiments.task_cache import whiten
from superproto.files import PathLike
from superproto.metrics import per_class_accuracy
from superproto.samples.chunks import Array

COMPARED = ("hpl", "kmeans", "transclip")
START = "start"
Draw = Callable[[Task, np.random.Generator], Task]


class Condition(NamedTuple):
    """A perturbation of a task, its level, and the number of draws.

    With ``prepare``, samples are whitened once for all draws, by the labeled samples only. A small pool hardly changes
    the whitening.
    """

    name: str
    level: str
    draws: int
    perturb: Draw
    prepare: bool = False

    @property
    def key(self) -> str:
        return f"{self.name}: {self.level}"

    def matches(self, word: str) -> bool:
        """Tell whether a word is the name, the level or the key of the condition."""
        return word in (self.name, self.level, self.key)


def _as_it_is(task: Task, rng: np.random.Generator) -> Task:
    return task


def _present(share: float | int) -> Draw:
    def perturb(task: Task, rng: np.random.Generator) -> Task:
        classes = round(share * len(task.unseen_classes)) if isinstance(share, float) else share
        return task.with_pool("few-classes", classes=min(classes, len(task.unseen_classes)), seed=_seed(rng))

    return perturb


def _uneven(ratio: float) -> Draw:
    return lambda task, rng: task.with_pool("shifted-prior", imbalance=ratio, seed=_seed(rng))


def _noisy(scale: float) -> Draw:
    """Return a perturbation that adds errors to descriptions, in standard deviations of each attribute."""

    def perturb(task: Task, rng: np.random.Generator) -> Task:
        A = np.asarray(task.semantics, dtype=np.float64)
        return replace(task, semantics=A + scale * A.std(axis=0) * rng.standard_normal(A.shape))

    return perturb


def _samples(number: int) -> Draw:
    def perturb(task: Task, rng: np.random.Generator) -> Task:
        asked = np.flatnonzero(task.asked)
        kept = np.union1d(np.flatnonzero(~task.asked), rng.choice(asked, min(number, len(asked)), replace=False))
        return task._select(kept)

    return perturb


def _features(change: Callable[[Array, np.random.Generator], Array]) -> Draw:
    return lambda task, rng: replace(task, X=change(np.asarray(task.X, dtype=np.float32), rng))


def _rotated(X: Array, rng: np.random.Generator) -> Array:
    turn, _ = np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))
    return X @ turn.astype(X.dtype)


CONDITIONS: tuple[Condition, ...] = (
    Condition("classes in the pool", "all", 1, _as_it_is),
    Condition("classes in the pool", "half", 10, _present(0.5)),
    Condition("classes in the pool", "5", 10, _present(5)),
    Condition("classes in the pool", "1", 10, _present(1)),
    *(Condition("largest to smallest class", f"{ratio}:1", 10, _uneven(ratio)) for ratio in (5, 20, 50)),
    *(Condition("attribute noise", f"{scale} sd", 3, _noisy(scale)) for scale in (0.5, 1.0)),
    Condition("features", "scaled by 1000", 1, _features(lambda X, rng: 1000 * X)),
    Condition("features", "rotated", 1, _features(_rotated)),
    Condition("features", "rows of any length", 1, _features(lambda X, rng: X * rng.lognormal(size=(len(X), 1)))),
    Condition("features", "float16", 1, lambda task, rng: replace(task, X=np.asarray(task.X, dtype=np.float16))),
    Condition("samples in the pool", "1000", 3, _samples(1000)),
    Condition("samples in the pool", "100", 20, _samples(100), prepare=True),
    Condition("samples in the pool", "10", 200, _samples(10), prepare=True),
    Condition("samples in the pool", "1", 200, _samples(1), prepare=True),
    # A draw depends on the position of its condition in this list, so append new conditions at the end.
    Condition("classes in the pool", "four fifths", 10, _present(0.8)),
)


def measure_robustness(
    task: Task,
    path: PathLike,
    *,
    conditions: Sequence[Condition] = CONDITIONS,
    only: Sequence[str] = (),
    seed: int = 0,
) -> Iterator[dict[str, Any]]:
    """Yield one finding for each condition: the accuracies of each method over the draws.

    Recorded conditions are not run again. `only` restricts the conditions by name, level or key ("attribute noise",
    "20:1", "samples in the pool: 1"); the draws stay the same.
    """
    unknown = [word for word in only if not any(condition.matches(word) for condition in conditions)]
    if unknown:
        raise UserError(f"There is no condition {unknown[0]!r}. Known: {', '.join(c.key for c in conditions)}.")
    if task.asked.all():
        raise UserError(f"{task.name} has no labeled sample, so there is no inductive model to compare with.")
    digest = task.digest()
    jobs = (
        _job(task, digest, condition, number, seed)
        for number, condition in enumerate(conditions)
        if not only or any(map(condition.matches, only))
    )
    return (finding_of(record) for record, _ in iterate_jobs(jobs, path) if record.scores)


def _job(task: Task, digest: str, condition: Condition, number: int, seed: int) -> Job:
    request = unmeasured("robustness", condition.key, task, digest, params={"draws": condition.draws}, seed=seed)
    return Job(request, partial(_measured, task, condition, number))


def _measured(task: Task, condition: Condition, number: int, request: Record) -> Record:
    start, rng = perf_counter(), np.random.default_rng([request.seed, number])
    draws = list(_accuracies(task, condition, rng))
    scores = {name: [round(float(draw[name]), 5) for draw in draws] for name in draws[0]}
    return replace(request, scores=scores, seconds=perf_counter() - start)


def read_findings(path: PathLike) -> list[dict[str, Any]]:
    """Read the findings of a file; return an empty list if it does not exist."""
    return [finding_of(record) for record in known_records(path) if record.kind == "robustness" and record.scores]


def finding_of(record: Record) -> dict[str, Any]:
    """Return the result of one condition for its table: the accuracies of each method over the draws."""
    named = {"task": record.task, "condition": record.method, "seed": record.seed, "draws": record.params["draws"]}
    return {**named, "accuracy": record.scores, "versions": record.versions}


def _accuracies(task: Task, condition: Condition, rng: np.random.Generator) -> Iterator[Mapping[str, float]]:
    given = _whitened_by_labels(task) if condition.prepare else task
    trained_on: tuple[Array, Array] | None = None
    for _ in range(condition.draws):
        perturbed = condition.perturb(given, rng)
        unlabeled = perturbed.asked
        # The inductive model is fitted again only if the labeled samples or the descriptions differ between draws.
        training = perturbed.X[~unlabeled], perturbed.semantics
        if trained_on is None or not all(map(np.array_equal, trained_on, training)):
            start, trained_on = _fitted("hpl", perturbed.inductive(), whiten=not condition.prepare), training
        answers = {START: start.predict(perturbed.X[unlabeled])}
        ready = perturbed if condition.prepare else whiten(perturbed).task
        for method in COMPARED:
            answers[method] = _fitted(method, ready, whiten=False).transduction_[unlabeled]
        # Small pools have few samples per class, so the accuracy is the mean over samples.
        small = unlabeled.sum() < 20 * len(perturbed.unseen_classes)
        truth = perturbed.truth[unlabeled]
        yield {
            name: float(np.mean(truth == found)) if small else per_class_accuracy(truth, found)
            for name, found in answers.items()
        }


def _whitened_by_labels(task: Task) -> Task:
    ready = whiten(task.inductive()).task
    X = np.empty(task.X.shape, dtype=ready.X.dtype)
    X[~task.asked], X[task.asked] = ready.X, ready.later
    return replace(task, X=X)


def _fitted(method: str, task: Task, whiten: bool) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The forecast changes no label.
        constants = {"forecast": False} if method == "hpl" else None
        model = make_model(method, {"whiten": whiten}, candidates=task.candidates, constants=constants)
        return model.fit(task.X, task.y, semantics=task.semantics)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
