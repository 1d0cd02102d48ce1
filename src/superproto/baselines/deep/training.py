"""FIT with torch: the data of a training run, its seeded loop, and its length chosen on held-out seen classes."""

from __future__ import annotations

import copy
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from superproto.baselines.deep.networks import import_torch
from superproto.metrics import per_class_accuracy
from superproto.samples.chunks import Array
from superproto.samples.progress import SECONDS_BETWEEN_LINES, print_line

# A fifth of the seen classes is held out to choose the number of steps; with fewer than ten seen classes none is.
HELD_OUT = 0.2
FEWEST_CLASSES = 10
# The held-out classes are asked so many times, evenly spread over the steps.
N_CHECKS = 12
# A loss is looked at every so many steps; one beyond this has diverged.
STEPS_BETWEEN_LOOKS = 25
LARGEST_LOSS = 1e8


@dataclass(frozen=True)
class TrainingData:
    """What a deep method learns from: float32 features and descriptions, as tensors are made of them.

    ``rows`` (n, r) and ``labels`` (n,) are the labeled samples; ``pool`` (m, r) the unlabeled ones. ``semantics``
    (C, k); ``seen`` and ``candidates`` (C,) are masks over the classes.
    """

    rows: Array
    labels: Array
    pool: Array
    semantics: Array
    seen: Array
    candidates: Array

    @property
    def unseen(self) -> Array:
        return ~self.seen


class Process(ABC):
    """One training run: networks, a step, and what is learned so far as arrays."""

    networks: tuple[Any, ...]

    @abstractmethod
    def step(self) -> Any:
        """One round of updates; returns a loss, whose size shows whether training diverges."""

    @abstractmethod
    def learned(self) -> dict[str, Any]:
        """Arrays by name: all that scoring needs."""


class BatchProcess(Process):
    """A training run of a model on random batches of the labeled rows."""

    def __init__(self, model: Any, data: TrainingData) -> None:
        torch = import_torch()
        self.model, self.data = model, data
        self.rows, self.labels = torch.from_numpy(data.rows), torch.from_numpy(data.labels)
        self.semantics = torch.from_numpy(data.semantics)
        self.batch_size = min(model.batch_size, len(data.rows))

    def batch(self) -> tuple[Any, Any, Any]:
        """Random labeled rows, their descriptions and their classes."""
        index = import_torch().randint(len(self.rows), (self.batch_size,))
        return self.rows[index], self.semantics[self.labels[index]], self.labels[index]


def hold_out(data: TrainingData, rng: np.random.RandomState) -> tuple[TrainingData, Array]:
    """The task without a fifth of its seen classes, whose rows are the pool, and the truth of that pool.

    Unseen classes and the pool of the task itself are left out: nothing about them chooses a number of steps.
    """
    seen = np.flatnonzero(data.seen)
    held = np.zeros(len(data.seen), dtype=bool)
    held[rng.choice(seen, max(2, round(HELD_OUT * len(seen))), replace=False)] = True
    asked = held[data.labels]
    kept = data.seen | held
    names = np.cumsum(kept) - 1
    smaller = TrainingData(
        rows=data.rows[~asked],
        labels=names[data.labels[~asked]],
        pool=data.rows[asked],
        semantics=data.semantics[kept],
        seen=(data.seen & ~held)[kept],
        candidates=held[kept],
    )
    return smaller, names[data.labels[asked]]


@dataclass
class Loop:
    """The seeded loop: at most ``max_iter`` steps and ``max_seconds``, with progress lines where ``verbose``."""

    max_iter: int
    max_seconds: float | None
    seed: int
    verbose: bool = False

    def run(self, begin: Callable[[], Process], check: Callable[[int, Process], None] | None = None) -> Any:
        """Learned arrays and the number of steps; ``check`` is called ``N_CHECKS`` times."""
        torch = import_torch()
        every = max(1, self.max_iter // N_CHECKS)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            process, start, told = begin(), monotonic(), monotonic()
            good, step = _copy_weights(process), 0
            while step < self.max_iter and (self.max_seconds is None or monotonic() - start < self.max_seconds):
                step += 1
                loss = process.step()
                if step % STEPS_BETWEEN_LOOKS == 0 or step == self.max_iter:
                    if not abs(float(loss.detach())) < LARGEST_LOSS:
                        _warn_of_divergence(step, float(loss.detach()))
                        _restore_weights(process, good)
                        break
                    good = _copy_weights(process)
                    told = self._tell(step, float(loss.detach()), start, told)
                if check is not None and step % every == 0:
                    check(step, process)
            return process.learned(), step

    def _tell(self, step: int, loss: float, start: float, told: float) -> float:
        now = monotonic()
        if not self.verbose or now - told < SECONDS_BETWEEN_LINES:
            return told
        left = (now - start) * (self.max_iter - step) / step
        print_line(f"step {step} of {self.max_iter}: loss {loss:.4g}, about {left:.0f} s left")
        return now


def choose_length(
    loop: Loop,
    data: TrainingData,
    begin: Callable[[TrainingData], Process],
    score: Callable[[dict[str, Any], Array], Array],
) -> tuple[int, Array]:
    """The number of steps after which held-out seen classes are recognized best, and (step, accuracy) of each check.

    Accuracies of neighboring checks are averaged, so that one lucky check does not decide.
    """
    smaller, truth = hold_out(data, np.random.RandomState(loop.seed))
    found: list[tuple[float, float]] = []

    def check(step: int, process: Process) -> None:
        scores = np.where(smaller.candidates, score(process.learned(), smaller.pool), -np.inf)
        found.append((step, float(per_class_accuracy(truth, scores.argmax(axis=1)))))

    loop.run(lambda: begin(smaller), check)
    if not found:
        return loop.max_iter, np.zeros((0, 2))
    curve = np.array(found)
    padded = np.pad(curve[:, 1], 1, mode="edge")
    smooth = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
    return int(curve[smooth.argmax(), 0]), curve


def _copy_weights(process: Process) -> list[Any]:
    return [copy.deepcopy(network.state_dict()) for network in process.networks]


def _restore_weights(process: Process, weights: list[Any]) -> None:
    for network, values in zip(process.networks, weights):
        network.load_state_dict(values)


def _warn_of_divergence(step: int, loss: float) -> None:
    what = "no number" if math.isnan(loss) else f"{loss:.3g}"
    warnings.warn(
        f"Training diverged at step {step}: the loss is {what}. The weights of an earlier step are used. "
        "Give a smaller learning_rate.",
        UserWarning,
        stacklevel=6,
    )
