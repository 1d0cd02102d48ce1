"""MEASURE what happens when the pool is not what one hopes for: few classes, uneven ones, few samples, poor attributes.

Each condition is drawn several times; the default model, what it starts from (descriptions alone) and two other ways
to use a pool answer the same draws, with the same whitening.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superproto.baselines.registry import make_model
from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.experiments.records import versions
from superproto.experiments.runner import whiten as whiten_once
from superproto.files import PathLike
from superproto.metrics import per_class_accuracy
from superproto.samples.chunks import Array

COMPARED = ("hpl", "kmeans", "transclip")
START = "start"
Draw = Callable[[Task, np.random.Generator], Task]


class Condition(NamedTuple):
    """A way to spoil a task, how much, and how often it is drawn.

    ``prepare``: whiten once for all draws, by the labeled samples alone, which a small pool hardly changes.
    """

    name: str
    level: str
    draws: int
    spoil: Draw
    prepare: bool = False

    @property
    def key(self) -> str:
        return f"{self.name}: {self.level}"

    def called(self, word: str) -> bool:
        return word in (self.name, self.level, self.key)


def _as_it_is(task: Task, rng: np.random.Generator) -> Task:
    return task


def _present(share: float | int) -> Draw:
    def spoil(task: Task, rng: np.random.Generator) -> Task:
        classes = round(share * len(task.unseen_classes)) if isinstance(share, float) else share
        return task.with_pool("few-classes", classes=min(classes, len(task.unseen_classes)), seed=_seed(rng))

    return spoil


def _uneven(ratio: float) -> Draw:
    return lambda task, rng: task.with_pool("shifted-prior", imbalance=ratio, seed=_seed(rng))


def _noisy(scale: float) -> Draw:
    """Errors in the descriptions, in standard deviations of each attribute over the classes."""

    def spoil(task: Task, rng: np.random.Generator) -> Task:
        A = np.asarray(task.semantics, dtype=np.float64)
        return replace(task, semantics=A + scale * A.std(axis=0) * rng.standard_normal(A.shape))

    return spoil


def _samples(number: int) -> Draw:
    def spoil(task: Task, rng: np.random.Generator) -> Task:
        asked = np.flatnonzero(task.asked)
        kept = np.union1d(np.flatnonzero(~task.asked), rng.choice(asked, min(number, len(asked)), replace=False))
        return task._select(kept)

    return spoil


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
    # A draw depends on its condition's place in this list, so what is new comes last.
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
    """One finding for each condition: accuracies of each method over the draws; what the file has is not run again.

    `only`: conditions by name, level or key ("attribute noise", "20:1", "samples in the pool: 1"), drawn as among all.
    """
    unknown = [word for word in only if not any(condition.called(word) for condition in conditions)]
    if unknown:
        raise UserError(f"No condition is called {unknown[0]!r}. There are: {', '.join(c.key for c in conditions)}.")
    if task.asked.all():
        raise UserError(f"{task.name} has no labeled sample to start from: robustness compares with that start.")
    known = {(f["task"], f["condition"], f["seed"]): f for f in read_findings(path)}
    for number, condition in enumerate(conditions):
        if only and not any(map(condition.called, only)):
            continue
        found = known.get((task.name, condition.key, seed))
        if found is None:
            rng = np.random.default_rng([seed, number])
            draws = list(_accuracies(task, condition, rng))
            found = {
                "task": task.name, "condition": condition.key, "seed": seed, "draws": condition.draws,
                "accuracy": {name: [round(float(draw[name]), 5) for draw in draws] for name in draws[0]},
                "versions": versions(),
            }  # fmt: skip
            with open(path, "a", encoding="utf-8") as handle:
                handle.write(json.dumps(found) + "\n")
        yield found


def read_findings(path: PathLike) -> list[dict[str, Any]]:
    """The findings of a file; none where there is no file."""
    if not Path(path).exists():
        return []
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    try:
        return [json.loads(line) for line in lines]
    except ValueError:
        raise UserError(f"{path} has a line that is no finding. Delete it.") from None


def _accuracies(task: Task, condition: Condition, rng: np.random.Generator) -> Iterator[Mapping[str, float]]:
    given = _whitened_by_labels(task) if condition.prepare else task
    taught: tuple[Array, Array] | None = None
    for _ in range(condition.draws):
        spoiled = condition.spoil(given, rng)
        asked = spoiled.asked
        # What is spoiled is mostly the pool alone, which the start does not see: then one serves all draws.
        teaching = spoiled.X[~asked], spoiled.semantics
        if taught is None or not all(map(np.array_equal, taught, teaching)):
            start, taught = _fitted("hpl", spoiled.inductive(), whiten=not condition.prepare), teaching
        answers = {START: start.predict(spoiled.X[asked])}
        ready = spoiled if condition.prepare else whiten_once(spoiled).task
        for method in COMPARED:
            answers[method] = _fitted(method, ready, whiten=False).transduction_[asked]
        # Pools of a few samples hold few classes: there each sample counts alike.
        small = asked.sum() < 20 * len(spoiled.unseen_classes)
        truth = spoiled.truth[asked]
        yield {
            name: float(np.mean(truth == found)) if small else per_class_accuracy(truth, found)
            for name, found in answers.items()
        }


def _whitened_by_labels(task: Task) -> Task:
    ready = whiten_once(task.inductive()).task
    X = np.empty(task.X.shape, dtype=ready.X.dtype)
    X[~task.asked], X[task.asked] = ready.X, ready.later
    return replace(task, X=X)


def _fitted(method: str, task: Task, whiten: bool) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_model(method, {"whiten": whiten}, candidates=task.candidates)
        return model.fit(task.X, task.y, semantics=task.semantics)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
