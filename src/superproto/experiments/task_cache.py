"""RESEARCH: prepare the tasks of a data set once for all measurements: read, hashed, whitened, divided into folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from superproto.baselines.registry import make_model
from superproto.datasets.loading import read_source, to_task
from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.experiments.plans import Data
from superproto.samples.chunks import Array, rows_of
from superproto.samples.timing import measured
from superproto.samples.whitening import apply_metric

# Whitened tasks in memory: the ZSL and the GZSL task, which a method runs one after the other.
_MOST_WHITENED = 2


@dataclass(frozen=True)
class Whitened:
    """A task with whitened samples, and the seconds that whitening took."""

    task: Task
    seconds: float


def whiten(task: Task) -> Whitened:
    """Whiten a task once for all methods, as each method does with ``whiten=True``."""
    with measured() as seconds:
        metric = make_model("prototypes", {"whiten": True}).fit(task.X, task.y, semantics=task.semantics).metric_

    def prepared(X: Array) -> Array:
        return np.concatenate([part for (part,) in rows_of(X).visit(lambda chunk: (apply_metric(metric, chunk),))])

    later = prepared(task.later) if len(task.later) else None
    return Whitened(replace(task, X=prepared(task.X), X_later=later), seconds["whiten"])


class PreparedTask:
    """A task that is read when it is first used, and its digest; `whitened()` returns its whitened copy."""

    def __init__(self, read: Callable[[], Task], whitened: Callable[[], Whitened] | None = None) -> None:
        self._read = read
        self.whitened = whitened or (lambda: whiten(self.task))

    @classmethod
    def of(cls, task: Task) -> PreparedTask:
        """Return a prepared task from a task in memory."""
        return cls(lambda: task)

    @cached_property
    def task(self) -> Task:
        return self._read()

    @cached_property
    def digest(self) -> str:
        """The hash that identifies the task in records."""
        return self.task.digest()


class TaskCache:
    """The tasks of one data set in a folder. The data set is read once, and each task is made once."""

    def __init__(self, data: Data, folder: Path) -> None:
        self.data = data
        self.folder = folder
        self.path = folder / data.find
        self._pack: Any = None
        self._prepared: dict[tuple[str, str], PreparedTask] = {}
        self._whitened: dict[tuple[str, str], Whitened] = {}
        self._folds: dict[tuple[int, bool], list[Task]] = {}
        self._generalized: dict[bool, Task] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the place of the data set: a worker process reads it once for all of its jobs."""
        return _cache_of_process, (self.data, self.folder)

    @property
    def exists(self) -> bool:
        """Whether the data set is in the folder."""
        return self.path.exists()

    def size(self) -> int:
        """Return the bytes of its file, or of the files in its folder."""
        files = self.path.iterdir() if self.path.is_dir() else [self.path]
        return sum(file.stat().st_size for file in files)

    def prepared(self, setting: str = "zsl", protocol: str = "ps") -> PreparedTask:
        """Return the prepared task of a setting and protocol."""
        key = (setting, protocol)
        if key not in self._prepared:
            self._prepared[key] = PreparedTask(lambda: self._read(*key), lambda: self.whitened(*key))
        return self._prepared[key]

    def task(self, setting: str = "zsl", protocol: str = "ps") -> Task:
        """Return the task of a setting and protocol; raise if the data set has no such split."""
        return self.prepared(setting, protocol).task

    def digest(self, setting: str = "zsl", protocol: str = "ps") -> str:
        """Return the digest of the task of a setting and protocol."""
        return self.prepared(setting, protocol).digest

    def digests(self) -> set[str]:
        """Return the digests of every task that was made, and of the ZSL task."""
        made = {key for key, prepared in self._prepared.items() if "task" in vars(prepared)}
        return {self.digest(*key) for key in {*made, ("zsl", "ps")}}

    def whitened(self, setting: str, protocol: str) -> Whitened:
        """Return the task with whitened samples; only the last two tasks are kept."""
        key = (setting, protocol)
        if key not in self._whitened:
            recent = list(self._whitened.items())[1 - _MOST_WHITENED :]
            self._whitened = dict(recent)
            self._whitened[key] = whiten(self.task(*key))
        return self._whitened[key]

    def folds(self, number: int, whitened: bool) -> list[Task]:
        """Return validation tasks of the ZSL task, each whitened by its own labeled samples."""
        key = (number, whitened)
        if key not in self._folds:
            folds = self.task("zsl").folds(number)
            self._folds = {key: [whiten(fold).task for fold in folds] if whitened else folds}
        return self._folds[key]

    def generalized_fold(self, whitened: bool) -> Task:
        """Return a GZSL validation task: held-out seen classes, and a fifth of the labeled samples of the others."""
        if whitened not in self._generalized:
            (fold,) = self.task("gzsl").folds(1)
            self._generalized = {whitened: whiten(fold).task if whitened else fold}
        return self._generalized[whitened]

    def has(self, protocol: str) -> bool:
        """Tell whether the data set has this split; the standard split is often missing."""
        try:
            self.task("zsl", protocol)
        except UserError:
            if protocol == "ss":
                return False
            raise
        return True

    def _read(self, setting: str, protocol: str) -> Task:
        if self._pack is None:
            self._pack = read_source(self.path)
        return to_task(self._pack, setting, protocol)


@lru_cache(maxsize=1)
def _cache_of_process(data: Data, folder: Path) -> TaskCache:
    """Return the cache of a worker process, which keeps the last data set, because jobs are ordered by data set."""
    return TaskCache(data, folder)
