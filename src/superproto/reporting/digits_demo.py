"""SHOW: the demo, which labels digits that have no labeled example and measures the average accuracy.

Three digits have a description but no labels. HPL is fitted with their unlabeled samples (transductive) and, for
comparison, without them (inductive). A single choice of three digits is not representative, so all 120 are measured.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from threadpoolctl import threadpool_limits

from superproto.datasets import digits
from superproto.datasets.digits import DESCRIPTIONS
from superproto.datasets.task import Task
from superproto.hpl.estimator import HPL
from superproto.hpl.solver import Iteration
from superproto.metrics import confusion, per_class_accuracy
from superproto.reporting.charts.charts import Series, heat_map, line_chart, scatter_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.charts.pictures import Picture, picture_grid
from superproto.reporting.model_figures import mean_and_deviation
from superproto.reporting.page import Page
from superproto.reporting.table import Table
from superproto.reporting.worker_processes import map_in_processes
from superproto.samples.chunks import Array
from superproto.samples.whitening import apply_metric

UNSEEN = (3, 6, 7)
# The darkest pixel of the data set.
_INK = 16.0
_SHOWN = 40
_PER_LINE = 20


@dataclass(frozen=True)
class Attempt:
    """One fit: the labels of the unlabeled samples, and prototypes, objective and label changes by iteration."""

    model: HPL
    labels: Array
    prototypes: tuple[Array, ...]
    labels_changed: tuple[int, ...]
    objective: tuple[float, ...]


class Choice(NamedTuple):
    """One choice of unseen digits, and the per-class accuracy on them without and with the unlabeled samples."""

    unseen: tuple[int, ...]
    inductive: float
    transductive: float


@dataclass(frozen=True)
class Demo:
    """The content of the report: the task, both fits, and the accuracies of all choices of digits."""

    task: Task
    inductive: Attempt
    transductive: Attempt
    choices: tuple[Choice, ...]

    def accuracy(self, attempt: Attempt) -> float:
        """Return the per-class accuracy on the unseen digits."""
        return per_class_accuracy(self.task.expected, attempt.labels)


def run_demo(
    unseen: Sequence[int] = UNSEEN, *, every: bool = True, jobs: int = 1, tick: Callable[[int], None] | None = None
) -> Demo:
    """Fit both models on one choice of unseen digits and, with `every`, on all choices of the same number of digits.

    The fits use `jobs` processes. `tick(n)` is called when n more choices are done.
    """
    task = digits(unseen)
    inductive, transductive = attempt(task.inductive()), attempt(task)
    choices = every_choice(task, jobs, tick) if every else ()
    return Demo(task, inductive, transductive, tuple(choices))


def attempt(task: Task) -> Attempt:
    """Fit HPL with its defaults and label the unlabeled samples of the task, in their order."""
    iterations: list[Iteration] = []
    model = HPL(candidates=task.candidates, callback=iterations.append)
    labels = answers(model, task)
    return Attempt(
        model, labels,
        prototypes=tuple(done.state.P for done in iterations) if task.asked.any() else (model.visual_prototypes_,),
        labels_changed=tuple(done.labels_changed for done in iterations),
        objective=tuple(done.objective for done in iterations),
    )  # fmt: skip


def answers(model: HPL, task: Task) -> Array:
    """Fit the model; return the labels of the unlabeled samples of the fit, then those of the later samples."""
    model.fit(task.X, task.y, semantics=task.semantics)
    labels = model.transduction_[task.asked]
    return np.concatenate([labels, model.predict(task.later)]) if len(task.later) else labels


def every_choice(task: Task, jobs: int = 1, tick: Callable[[int], None] | None = None) -> list[Choice]:
    """Measure both accuracies for every choice of as many unseen digits as the task has."""
    choices = list(combinations(range(10), len(task.unseen_classes)))
    return map_in_processes(partial(try_choice, task), choices, jobs, tick)


def try_choice(task: Task, unseen: tuple[int, ...]) -> Choice:
    """Measure both accuracies for one choice of unseen digits."""
    hidden = replace(task, y=np.where(np.isin(task.truth, unseen), -1, task.truth))
    with warnings.catch_warnings(), threadpool_limits(1):
        # A failure shows in the accuracy; warnings of 120 fits would hide the result.
        warnings.simplefilter("ignore", UserWarning)
        scores = [per_class_accuracy(t.expected, answers(HPL(), t)) for t in (hidden.inductive(), hidden)]
    return Choice(unseen, *scores)


def pixels_of(attempt: Attempt, samples: Array, prototypes: Array) -> Array:
    """Return the pixels (n, 64) of prototypes, by the affine map that best reconstructs pixels from whitened samples.

    Whitened samples have length 1, so whitening has no exact inverse, and least squares are used.
    """
    prepared = apply_metric(attempt.model.metric_, np.asarray(samples, dtype=np.float64))
    with_one = np.column_stack([prepared, np.ones(len(prepared))])
    back = np.linalg.lstsq(with_one, samples, rcond=None)[0]
    # Scale the prototypes to length 1, as the samples are.
    lengths = np.linalg.norm(prototypes, axis=1, keepdims=True)
    return np.asarray(np.column_stack([prototypes / np.maximum(lengths, 1e-12), np.ones(len(prototypes))]) @ back)


def build_demo_page(demo: Demo) -> Page:
    """Build the page of a demo."""
    return Page("digits_demo.html", summarize_demo(demo))


def summarize_demo(demo: Demo) -> dict[str, Any]:
    """Return the numbers, tables and charts of the page by name; "choices" is None if only one choice was tried."""
    pool_truth = demo.task.truth[demo.task.asked]
    return {
        "unseen": _listed(demo.task.unseen_classes),
        "n_unseen": len(demo.task.unseen_classes),
        "inductive": demo.accuracy(demo.inductive),
        "transductive": demo.accuracy(demo.transductive),
        "descriptions": _descriptions(demo),
        "prototypes": prototypes_picture(demo),
        "convergence": _convergence(demo.transductive),
        "confusions": _confusions(demo),
        "n_pictures": len(pool_truth),
        "n_wrong": int((demo.transductive.labels != pool_truth).sum()),
        "n_shown": _SHOWN,
        "labeled": [_labeled(demo, int(digit)) for digit in demo.task.unseen_classes],
        "choices": _choices(demo) if demo.choices else None,
    }


def prototypes_picture(demo: Demo) -> Markup:
    """Draw the prototypes of each unseen digit: predicted, after iterations, mean of labeled pictures, true mean."""
    task, unseen = demo.task, demo.task.unseen_classes
    samples, shown = np.asarray(task.X), _shown_iterations(demo.transductive)
    steps = [_drawn(demo.inductive, samples, demo.inductive.prototypes[-1][unseen])]
    steps += [_drawn(demo.transductive, samples, demo.transductive.prototypes[i][unseen]) for i in shown]
    pool = task.X[task.asked]
    for labels in (demo.transductive.labels, task.truth[task.asked]):
        steps.append([_ink(_mean_picture(pool, labels == digit)) for digit in unseen])
    columns = ["predicted", *(f"iteration {i + 1}" for i in shown), "labeled", "true"]
    rows = [
        [Picture(step[number], hover=f"{digit}, {column}") for step, column in zip(steps, columns)]
        for number, digit in enumerate(unseen)
    ]
    return picture_grid(rows, [str(digit) for digit in unseen], columns, size=72, alt="Prototypes by iteration")


def _descriptions(demo: Demo) -> Markup:
    traits, unseen = list(DESCRIPTIONS), set(demo.task.unseen_classes.tolist())
    return heat_map(
        np.asarray(demo.task.semantics),
        [f"{digit} unseen" if digit in unseen else str(digit) for digit in range(10)],
        traits,
        alt="Which digit has which trait", cell=22, numbers=False, slanted=True,
        tints=[1 if digit in unseen else 0 for digit in range(10)],
        hover=lambda i, j: f"{i}: {'has' if demo.task.semantics[i, j] else 'no'} {traits[j]}",
    )  # fmt: skip


def _shown_iterations(attempt: Attempt) -> list[int]:
    """Return the first eight iterations that changed a label, and the last iteration."""
    last = len(attempt.prototypes) - 1
    return sorted({*[i for i in range(last) if attempt.labels_changed[i]][:8], last})


def _convergence(attempt: Attempt) -> dict[str, Any]:
    """Draw the objective and the number of changed labels by iteration."""
    iterations = list(range(1, len(attempt.labels_changed) + 1))
    objective = Series("objective", iterations, attempt.objective)
    changed = Series("labels changed", iterations, attempt.labels_changed)
    return {
        "objective": line_chart([objective], "iteration", "objective", alt="The objective by iteration"),
        "changed": line_chart(
            [changed],
            "iteration",
            "labels changed (pictures)",
            alt="Labels changed in each iteration",
            y_limits=(0, None),
        ),
    }


def _confusions(demo: Demo) -> list[tuple[Markup, str]]:
    """Draw the confusion matrix of each model, with its caption."""
    names = [str(digit) for digit in demo.task.unseen_classes]
    drawn = []
    for title, one in (("Inductive", demo.inductive), ("Transductive", demo.transductive)):
        _, counts = confusion(demo.task.expected, one.labels, demo.task.unseen_classes)
        chart = heat_map(
            counts, names, names, alt=f"{title} confusion", row_title="digit", column_title="label", cell=64
        )
        drawn.append((chart, f"{title}: {percent(demo.accuracy(one))} per-class accuracy."))
    return drawn


def _labeled(demo: Demo, digit: int) -> dict[str, Any]:
    """Draw the pictures with this label: the wrong ones first, then the most uncertain."""
    task, labels = demo.task, demo.transductive.labels
    pool, truth = task.X[task.asked], task.truth[task.asked]
    confidence = demo.transductive.model.label_distributions_[task.asked].max(axis=1)
    members = np.flatnonzero(labels == digit)
    members = members[np.lexsort((confidence[members], truth[members] == digit))]
    pictures = []
    for i in members:
        wrong = bool(truth[i] != digit)
        hover = f"labeled {digit} (probability {percent(float(confidence[i]))})" + (f", is {truth[i]}" if wrong else "")
        pictures.append(Picture(_ink(pool[i]), hover=hover, wrong=wrong))
    others = pictures[_SHOWN:]
    return {
        "shown": _lines_of(pictures[:_SHOWN], str(digit)),
        "others": _lines_of(others, str(digit)) if others else None,
        "n_others": len(others),
    }


def _lines_of(pictures: list[Picture], name: str) -> Markup:
    rows = [pictures[i : i + _PER_LINE] for i in range(0, len(pictures), _PER_LINE)]
    return picture_grid(rows, [name] + [""] * (len(rows) - 1), size=42, alt=f"Pictures labeled {name}")


def _choices(demo: Demo) -> dict[str, Any]:
    """Return averages over all choices of unseen digits, a chart, and the worst and the best choices."""
    before = np.array([choice.inductive for choice in demo.choices])
    after = np.array([choice.transductive for choice in demo.choices])
    own = tuple(int(digit) for digit in demo.task.unseen_classes)
    chart = scatter_chart(
        before, after, [1 if choice.unseen == own else 0 for choice in demo.choices],
        ["a choice of unseen digits", "the one above"],
        hovers=[f"{_listed(c.unseen)}: {percent(c.inductive)} → {percent(c.transductive)}" for c in demo.choices],
        labels=("inductive accuracy", "transductive accuracy"), limits=((0, 1), (0, 1)), diagonal=True, text=percent,
        size=4.5, width=520, height=440,
        alt="Accuracy with and without the pool for every choice of unseen digits",
    )  # fmt: skip
    ranked = sorted(demo.choices, key=lambda choice: choice.transductive)
    return {
        "number": len(demo.choices),
        "mean_inductive": float(before.mean()),
        "mean_transductive": float(after.mean()),
        "inductive": mean_and_deviation(before),
        "transductive": mean_and_deviation(after),
        "n_helped": int((after > before).sum()),
        "n_hurt": int((after < before).sum()),
        "chart": chart,
        "worst": _choice_table(ranked[:6]),
        "best": _choice_table(ranked[::-1][:6]),
    }


def _choice_table(choices: list[Choice]) -> Table:
    rows = [[_listed(c.unseen), percent(c.inductive), percent(c.transductive)] for c in choices]
    return Table(["unseen", "inductive", "transductive"], rows)


def _drawn(attempt: Attempt, samples: Array, prototypes: Array) -> list[Array]:
    return [_ink(row) for row in pixels_of(attempt, samples, prototypes)]


def _mean_picture(pictures: Array, chosen: Array) -> Array:
    return pictures[chosen].mean(axis=0) if chosen.any() else np.zeros(pictures.shape[1])


def _ink(pixels: Array) -> Array:
    return np.asarray(pixels, dtype=float).reshape(8, 8) / _INK


def _listed(numbers: Any) -> str:
    return ", ".join(str(int(number)) for number in numbers)
