"""LOAD: Task, the immutable record of a zero-shot problem, from loading to scoring.

`fit` receives `X`, `y` and `semantics`. `truth` is used for scoring only. The task stores everything that a score
depends on (the setting, the protocol, the pool), so that a recorded run can be repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from superproto.datasets.pools import class_folds, few_classes, part_of_each_class, shifted_prior
from superproto.errors import UserError
from superproto.samples.chunks import Array

PoolKind = Literal["unseen", "mixed", "few-classes", "shifted-prior", "subsample"]
_DECISIVE = ("X", "y", "semantics", "class_names", "truth", "X_later", "truth_later")
_PER_SAMPLE = ("X", "truth", "rows", "paths")
_LATER = ("X_later", "truth_later", "rows_later", "paths_later")
_SAME_LENGTH = (
    *(("X", name) for name in ("y", "truth", "rows", "paths")),
    *(("X_later", name) for name in _LATER[1:]),
    ("semantics", "class_names"),
)
_SEEN_PART = 0.2  # Share of every seen class in a GZSL pool, as in the proposed splits.


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """A zero-shot problem with its true labels. Arrays are read-only views.

    The *pool* is the set of unlabeled samples that `fit` receives.

    Attributes
    ----------
    X : (N, d)
        The samples that `fit` receives: the labeled ones and the pool.
    y : (N,)
        The class (row of `semantics`) of a labeled sample, and -1 for a sample of the pool.
    semantics, class_names : (C, k) and (C,)
        The description and the name of each class.
    candidates : {"unseen", "all"}
        The classes that an unlabeled sample may get.
    setting : {"zsl", "gzsl"}
        Zero-shot learning, or generalized zero-shot learning.
    protocol : str
        Where the split is from: "ps" (proposed split), "ss" (standard split), or another name.
    pool : str
        The origin of the unlabeled samples ("unseen", "mixed", or "none" if inductive), then what was drawn from them.
    truth : (N,)
        The class of every sample, -1 if unknown.
    X_later, truth_later
        Samples that `predict` labels after the fit, and their classes. If inductive, all unlabeled samples are here.
    rows, rows_later
        The row numbers of the samples in the data set.
    paths, paths_later
        The files of the samples, or None.
    validation_classes : array or None
        The seen classes that the data set reserves for choosing parameters.
    notes : tuple of str
        Remarks of the loader, one sentence each.
    """

    X: Array
    y: Array
    semantics: Array
    class_names: Array
    truth: Array
    candidates: str = "unseen"
    setting: str = "zsl"
    protocol: str = "custom"
    pool: str = "unseen"
    name: str = "task"
    paths: Array | None = None
    X_later: Array | None = None
    truth_later: Array | None = None
    rows: Array | None = None
    rows_later: Array | None = None
    paths_later: Array | None = None
    validation_classes: Array | None = None
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        later = 0 if self.X_later is None else len(self.X_later)
        defaults: dict[str, Any] = {
            "X_later": np.empty((0, *np.shape(self.X)[1:]), getattr(self.X, "dtype", float)),
            "truth_later": np.full(later, -1),
            "rows": np.arange(len(self.X)),
            "rows_later": np.arange(len(self.X), len(self.X) + later),
        }
        for name in {*_DECISIVE, *_PER_SAMPLE, *_LATER}:
            given = getattr(self, name)
            given = defaults.get(name) if given is None else given
            if given is not None:
                # A view, so that the caller's own array stays writable and nothing is copied.
                array = np.asarray(given).view()
                array.setflags(write=False)
                object.__setattr__(self, name, array)
        for left, right in _SAME_LENGTH:
            a, b = getattr(self, left), getattr(self, right)
            if b is not None and len(a) != len(b):
                raise UserError(f"{left} has {len(a)} rows, but {right} has {len(b)}. Give one entry for each row.")

    @property
    def asked(self) -> Array:
        """The (N,) mask of the pool: the unlabeled rows of X."""
        return np.asarray(self.y == -1)

    @property
    def seen_classes(self) -> Array:
        """The classes that have a labeled sample."""
        return np.unique(self.y[self.y >= 0])

    @property
    def unseen_classes(self) -> Array:
        """The classes without a labeled sample."""
        return np.setdiff1d(np.arange(len(self.semantics)), self.seen_classes)

    @property
    def expected(self) -> Array:
        """The true class of every unlabeled sample: those of X in order, then those of X_later."""
        return np.concatenate([self.truth[self.asked], self.later_truth])

    @property
    def later(self) -> Array:
        """X_later, never None."""
        return np.asarray(self.X_later)

    @property
    def later_truth(self) -> Array:
        """truth_later, never None."""
        return np.asarray(self.truth_later)

    @property
    def truth_known(self) -> bool:
        """Whether the true class of every unlabeled sample is known, so that predictions can be scored."""
        return len(self.expected) > 0 and bool((self.expected >= 0).all())

    @property
    def is_inductive(self) -> bool:
        """Whether `fit` sees labeled samples only."""
        return not self.asked.any()

    def inductive(self) -> Task:
        """Return the task in which `fit` receives the labeled samples only, and `predict` labels the others."""
        return self._divide(np.zeros(int(self.asked.sum()), bool), "none")

    def with_pool(
        self, kind: PoolKind, *, classes: int = 5, imbalance: float = 10.0, fraction: float = 0.5, seed: int = 0
    ) -> Task:
        """Return the same task with another pool. The candidates do not change.

        Parameters
        ----------
        kind : str
            "unseen": samples of seen classes leave the pool and are labeled by `predict`, as in several publications
            on GZSL. "mixed": every unlabeled sample is in the pool. "few-classes": only `classes` classes have
            samples. "shifted-prior": class sizes decrease geometrically by a factor `imbalance`. "subsample": a
            `fraction` of the samples of each class.
        classes : int, default=5
        imbalance : float, default=10
        fraction : float, default=0.5
        seed : int, default=0
            Draws the classes and samples.
        """
        truth = self.truth[self.asked]
        if kind not in ("unseen", "mixed", "few-classes", "shifted-prior", "subsample"):
            raise UserError(f"pool={kind!r} is not known. Give unseen, mixed, few-classes, shifted-prior or subsample.")
        if kind == "mixed":
            return self._mixed()
        if (truth < 0).any() or not len(truth):
            raise UserError(f"pool={kind!r} needs unlabeled samples whose class is known: this task has none.")
        if kind == "unseen":
            return self._divide(np.isin(truth, self.unseen_classes), "unseen")
        rng = np.random.default_rng(seed)
        if kind == "few-classes":
            kept, drawn = few_classes(truth, classes, rng), f"few-classes(classes={classes}, seed={seed})"
        elif kind == "shifted-prior":
            kept, drawn = shifted_prior(truth, imbalance, rng), f"shifted-prior(imbalance={imbalance:g}, seed={seed})"
        else:
            kept, drawn = part_of_each_class(truth, fraction, rng), f"subsample(fraction={fraction:g}, seed={seed})"
        rows = np.sort(np.concatenate([np.flatnonzero(~self.asked), np.flatnonzero(self.asked)[kept]]))
        return replace(self._select(rows), pool=f"{self.pool} {drawn}")

    def folds(self, n: int = 3, seed: int = 0) -> list[Task]:
        """Return n validation tasks, in each of which other seen classes are treated as unseen.

        The first fold holds out the data set's own validation classes, if it has some. Folds are made from the labeled
        samples only: the unseen classes, their descriptions and the pool are not used. In "gzsl" a fifth of every
        remaining class is unlabeled too. The folds of an inductive task are inductive.
        """
        rng = np.random.default_rng(seed)
        own = self.validation_classes
        first = None if own is None else np.intersect1d(own, self.seen_classes)
        if first is not None and not 0 < len(first) < len(self.seen_classes):
            first = None
        hidden = class_folds(self.seen_classes, n, len(self.unseen_classes), first, rng)
        return [self._hide(classes, f"fold {i + 1} of {n}", rng) for i, classes in enumerate(hidden)]

    def restricted(self, classes: Sequence[int] | Array) -> Task:
        """Return the task with the samples and descriptions of these classes only; classes are renumbered."""
        classes = np.unique(classes)
        number = np.full(len(self.semantics) + 1, -1)  # one more, so that -1 (no label) stays -1
        number[classes] = np.arange(len(classes))
        kept = self._select(np.isin(self.truth, classes), np.isin(self.later_truth, classes))
        own = None if self.validation_classes is None else np.intersect1d(self.validation_classes, classes)
        return replace(
            kept,
            y=number[kept.y],
            truth=number[kept.truth],
            truth_later=number[kept.later_truth],
            semantics=self.semantics[classes],
            class_names=self.class_names[classes],
            validation_classes=None if own is None else number[own],
        )

    def digest(self) -> str:
        """Return the SHA-256 of everything a score depends on: the arrays, the setting, the pool and the truth."""
        seal = hashlib.sha256()
        for name in _DECISIVE:
            array = np.ascontiguousarray(getattr(self, name))
            seal.update(f"{name} {array.shape} {array.dtype.str}\n".encode())
            seal.update(array.reshape(-1).view(np.uint8).data if array.size else b"")
        seal.update("\n".join([self.candidates, self.setting, self.protocol, self.pool]).encode())
        return seal.hexdigest()

    def __repr__(self) -> str:
        return (
            f"Task({self.name}: {self.setting}, {self.protocol}, {int((~self.asked).sum())} labeled samples of "
            f"{len(self.seen_classes)} classes, {int(self.asked.sum()) + len(self.later)} unlabeled samples, "
            f"{len(self.unseen_classes)} unseen classes, pool {self.pool})"
        )

    def _select(self, rows: Array, later: Array | slice = slice(None)) -> Task:
        """Return the task with some of the samples (a mask or row numbers), and some of those for later."""
        changed = {name: _at(getattr(self, name), rows) for name in ("y", *_PER_SAMPLE)}
        return replace(self, **changed, **{name: _at(getattr(self, name), later) for name in _LATER})

    def _divide(self, in_pool: Array, origin: str) -> Task:
        """Keep the marked part of the pool; move the rest to the samples that `predict` labels later."""
        moved = np.flatnonzero(self.asked)[~in_pool]
        later = {
            after: _join(_at(getattr(self, before), moved), getattr(self, after))
            for before, after in zip(_PER_SAMPLE, _LATER)
        }
        stays = np.ones(len(self.X), bool)
        stays[moved] = False
        return replace(self._select(stays), pool=self._pool_from(origin), **later)

    def _mixed(self) -> Task:
        """Return the task with every unlabeled sample in the pool."""
        whole = {
            before: _join(getattr(self, before), getattr(self, after)) for before, after in zip(_PER_SAMPLE, _LATER)
        }
        y = np.concatenate([self.y, np.full(len(self.later), -1, self.y.dtype)])
        pool = self._pool_from("unseen" if self.setting == "zsl" else "mixed")
        return replace(self, y=y, pool=pool, **whole, **_no_later())

    def _pool_from(self, start: str) -> str:
        """Return the description of the pool with another origin; what was drawn from it is kept."""
        return " ".join([start, *self.pool.split(" ")[1:]])

    def _hide(self, classes: Array, title: str, rng: np.random.Generator) -> Task:
        """Return a task of the labeled samples only, in which these classes are the unseen ones."""
        labeled = replace(self._select(~self.asked), **_no_later())
        hidden = np.isin(labeled.y, classes)
        if self.setting == "gzsl":
            remaining = np.flatnonzero(~hidden)
            hidden[remaining[part_of_each_class(labeled.y[remaining], _SEEN_PART, rng, leave=1)]] = True
        fold = replace(
            labeled,
            y=np.where(hidden, -1, labeled.y),
            name=f"{self.name}, {title}",
            protocol=f"{self.protocol} validation",
            pool="mixed" if self.setting == "gzsl" else "unseen",
            validation_classes=None,
            notes=(),
        ).restricted(self.seen_classes)
        return fold.inductive() if self.is_inductive else fold


def _no_later() -> dict[str, Any]:
    return dict.fromkeys(_LATER)


def _at(array: Any, rows: Array | slice) -> Any:
    return None if array is None else array[rows]


def _join(first: Any, second: Any) -> Any:
    return None if first is None or second is None else np.concatenate([first, second])
