"""The main job on the embedded digits: label digits that nobody labeled, and say how well that goes on average.

Three digits are known by their description only. HPL sees them unlabeled (transductive); beside it stands the same
model that learned from the labeled digits alone (inductive). One choice of three proves little, so all 120 are tried.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from superproto.datasets import digits
from superproto.datasets.task import Task
from superproto.hpl.estimator import HPL
from superproto.hpl.solver import Iteration
from superproto.metrics import per_class_accuracy
from superproto.samples.chunks import Array
from superproto.samples.whitening import apply_metric

UNSEEN = (3, 6, 7)
_BATCH = 8


@dataclass(frozen=True)
class Attempt:
    """One model: its labels for the pool in order; prototypes, objective and labels changed after each sweep.

    ``first_fit`` is how many sweeps were made before digits whose pictures ask for it got several prototypes.
    """

    model: HPL
    labels: Array
    prototypes: tuple[Array, ...]
    labels_changed: tuple[int, ...]
    objective: tuple[float, ...]
    first_fit: int


class Choice(NamedTuple):
    """Which digits were hidden, and the per-class accuracy on them without and with the pool."""

    unseen: tuple[int, ...]
    inductive: float
    transductive: float


@dataclass(frozen=True)
class Demo:
    """What the report shows."""

    task: Task
    inductive: Attempt
    transductive: Attempt
    choices: tuple[Choice, ...]

    def accuracy(self, attempt: Attempt) -> float:
        """Per-class accuracy on the unseen digits."""
        return per_class_accuracy(self.task.expected, attempt.labels)


def run_demo(
    unseen: Sequence[int] = UNSEEN, *, every: bool = True, jobs: int = 1, tick: Callable[[int], None] | None = None
) -> Demo:
    """Fit both ways on one choice of unseen digits, then (`every`) on all choices of as many, in `jobs` processes.

    `tick(n)` hears of every n choices done.
    """
    task = digits(unseen)
    inductive, transductive = attempt(task.inductive()), attempt(task)
    choices = every_choice(task, jobs, tick) if every else ()
    return Demo(task, inductive, transductive, tuple(choices))


def attempt(task: Task) -> Attempt:
    """Fit HPL with its defaults and answer the task's questions, in their order."""
    sweeps: list[Iteration] = []
    model = HPL(candidates=task.candidates, callback=sweeps.append)
    labels = answers(model, task)
    starts = [number for number, sweep in enumerate(sweeps) if sweep.iteration == 1]
    return Attempt(
        model, labels,
        prototypes=tuple(sweep.state.P for sweep in sweeps) if task.asked.any() else (model.visual_prototypes_,),
        labels_changed=tuple(sweep.labels_changed for sweep in sweeps),
        objective=tuple(sweep.objective for sweep in sweeps),
        first_fit=[*starts, len(sweeps)][1],
    )  # fmt: skip


def answers(model: HPL, task: Task) -> Array:
    """Fit, then the labels of the pool followed by those of the later samples."""
    model.fit(task.X, task.y, semantics=task.semantics)
    labels = model.transduction_[task.asked]
    return np.concatenate([labels, model.predict(task.later)]) if len(task.later) else labels


def every_choice(task: Task, jobs: int = 1, tick: Callable[[int], None] | None = None) -> list[Choice]:
    """Both accuracies for every choice of as many unseen digits as the task has; the samples are read once."""
    from joblib import Parallel, delayed

    choices = list(combinations(range(10), len(task.unseen_classes)))
    done: list[Choice] = []
    with Parallel(n_jobs=jobs) as pool:
        for start in range(0, len(choices), _BATCH):
            batch = choices[start : start + _BATCH]
            done += pool(delayed(try_choice)(task, unseen) for unseen in batch)
            if tick is not None:
                tick(len(batch))
    return done


def try_choice(task: Task, unseen: tuple[int, ...]) -> Choice:
    """The digits with these hidden, labeled without and with the pool."""
    hidden = replace(task, y=np.where(np.isin(task.truth, unseen), -1, task.truth))
    with warnings.catch_warnings(), threadpool_limits(1):
        # A choice that goes wrong shows in its accuracy; a warning for each of 120 would only hide the result.
        warnings.simplefilter("ignore", UserWarning)
        scores = [per_class_accuracy(t.expected, answers(HPL(), t)) for t in (hidden.inductive(), hidden)]
    return Choice(unseen, *scores)


def pixels_of(attempt: Attempt, samples: Array, prototypes: Array) -> Array:
    """(n, 64) what prototypes look like: the affine map that best turns prepared samples back into their pixels.

    Prototypes live in the whitened space, where a sample has lost its length; so this is a least-squares inverse.
    """
    prepared = apply_metric(attempt.model.metric_, np.asarray(samples, dtype=np.float64))
    with_one = np.column_stack([prepared, np.ones(len(prepared))])
    back = np.linalg.lstsq(with_one, samples, rcond=None)[0]
    # A prototype averages many samples and is stretched to length 1; back to the length that an average has.
    lengths = np.linalg.norm(prototypes, axis=1, keepdims=True)
    return np.asarray(np.column_stack([prototypes / np.maximum(lengths, 1e-12), np.ones(len(prototypes))]) @ back)
