"""Task: the frozen record that travels from loading to scoring.

`fit` receives `X`, `y` and `semantics`; `truth` stays with the scorer. Everything that decides a number (the setting,
the protocol, the pool) is written on the task, so that a record of a run can repeat it.
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
_SEEN_PART = 0.2  # the share of every seen class that a GZSL pool gets, as in the proposed splits


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """A zero-shot problem and, apart from it, its answers. Arrays are read-only views.

    Attributes
    ----------
    X : (N, d) samples that `fit` receives: the labeled ones and the pool.
    y : (N,) the class (row of `semantics`) of a labeled sample, -1 for a sample of the pool.
    semantics : (C, k) one row per class; class_names : (C,) their names.
    candidates : "unseen" or "all": which classes an unlabeled sample may take.
    setting, protocol : "zsl" or "gzsl"; "ps", "ss", or where else the split is from.
    pool : where the unlabeled samples are from ("unseen", "mixed", "none": inductive), then what was drawn from them.
    truth : (N,) the class of every sample; -1 where nobody knows it.
    X_later, truth_later : samples that `fit` does not see and `predict` is asked about (all of them when inductive).
    rows, rows_later : which rows of the data set these samples are; paths, paths_later : their files, or None.
    validation_classes : the seen classes that the data set itself reserves for choosing parameters, or None.
    notes : what was found while loading, one sentence each.
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
        """(N,) mask of the pool: the rows of X that wait for a label."""
        return np.asarray(self.y == -1)

    @property
    def seen_classes(self) -> Array:
        """The classes that have a labeled sample."""
        return np.unique(self.y[self.y >= 0])

    @property
    def unseen_classes(self) -> Array:
        """The classes that have a description only."""
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
        """Whether there are unlabeled samples and the true class of each is known, so that answers can be scored."""
        return len(self.expected) > 0 and bool((self.expected >= 0).all())

    @property
    def is_inductive(self) -> bool:
        """Whether `fit` sees labeled samples only."""
        return not self.asked.any()

    def inductive(self) -> Task:
        """The same unlabeled samples, but `fit` gets the labeled samples alone, and `predict` labels the others."""
        return self._divide(np.zeros(int(self.asked.sum()), bool), "none")

    def with_pool(
        self, kind: PoolKind, *, classes: int = 5, imbalance: float = 10.0, fraction: float = 0.5, seed: int = 0
    ) -> Task:
        """The same task with another pool; the candidates stay as they are.

        "unseen": samples of seen classes leave the pool and are answered by `predict`, as several published GZSL
        figures have it; "mixed": every unlabeled sample is in the pool; "few-classes": only `classes` classes occur;
        "shifted-prior": class sizes fall geometrically by a factor `imbalance`; "subsample": a `fraction` of each.
        """
        truth = self.truth[self.asked]
        if kind not in ("unseen", "mixed", "few-classes", "shifted-prior", "subsample"):
            raise UserError(f"pool={kind!r} is not known. Give unseen, mixed, few-classes, shifted-prior or subsample.")
        if kind == "mixed":
            return self._mixed()
        if (truth < 0).any() or not len(truth):
            raise UserError(f"pool={kind!r} needs unlabeled samples whose truth is known: this task has none.")
        if kind == "unseen":
            return self._divide(np.isin(truth, self.unseen_classes), "unseen")
        rng = np.random.default_rng(seed)
        if kind == "few-classes":
            kept, said = few_classes(truth, classes, rng), f"few-classes(classes={classes}, seed={seed})"
        elif kind == "shifted-prior":
            kept, said = shifted_prior(truth, imbalance, rng), f"shifted-prior(imbalance={imbalance:g}, seed={seed})"
        else:
            kept, said = part_of_each_class(truth, fraction, rng), f"subsample(fraction={fraction:g}, seed={seed})"
        rows = np.sort(np.concatenate([np.flatnonzero(~self.asked), np.flatnonzero(self.asked)[kept]]))
        return replace(self._select(rows), pool=f"{self.pool} {said}")

    def folds(self, n: int = 3, seed: int = 0) -> list[Task]:
        """n validation tasks that hide seen classes, each other ones; the data set's own validation split comes first.

        Built from the labeled samples alone: the unseen classes, their descriptions and the pool stay out.
        In "gzsl" a fifth of every remaining class joins the pool. An inductive task has inductive folds.
        """
        rng = np.random.default_rng(seed)
        own = self.validation_classes
        first = None if own is None else np.intersect1d(own, self.seen_classes)
        if first is not None and not 0 < len(first) < len(self.seen_classes):
            first = None
        hidden = class_folds(self.seen_classes, n, len(self.unseen_classes), first, rng)
        return [self._hide(classes, f"fold {i + 1} of {n}", rng) for i, classes in enumerate(hidden)]

    def restricted(self, classes: Sequence[int] | Array) -> Task:
        """The task with these classes only: no other description, no other sample, rows of `semantics` renumbered."""
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
        """sha256 of all that decides a score: the arrays, the setting, the pool and the truth."""
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
        """Some of the samples (a mask or row numbers), and some of those for later."""
        changed = {name: _at(getattr(self, name), rows) for name in ("y", *_PER_SAMPLE)}
        return replace(self, **changed, **{name: _at(getattr(self, name), later) for name in _LATER})

    def _divide(self, in_pool: Array, said: str) -> Task:
        """Leave the marked part of the pool in `fit`; the rest goes to what `predict` answers later."""
        moved = np.flatnonzero(self.asked)[~in_pool]
        later = {
            after: _join(_at(getattr(self, before), moved), getattr(self, after))
            for before, after in zip(_PER_SAMPLE, _LATER)
        }
        stays = np.ones(len(self.X), bool)
        stays[moved] = False
        return replace(self._select(stays), pool=self._pool_from(said), **later)

    def _mixed(self) -> Task:
        """Every unlabeled sample in the pool."""
        whole = {
            before: _join(getattr(self, before), getattr(self, after)) for before, after in zip(_PER_SAMPLE, _LATER)
        }
        y = np.concatenate([self.y, np.full(len(self.later), -1, self.y.dtype)])
        pool = self._pool_from("unseen" if self.setting == "zsl" else "mixed")
        return replace(self, y=y, pool=pool, **whole, **_no_later())

    def _pool_from(self, start: str) -> str:
        """The pool's history with another beginning: what was drawn from it stays written."""
        return " ".join([start, *self.pool.split(" ")[1:]])

    def _hide(self, classes: Array, said: str, rng: np.random.Generator) -> Task:
        """A task of the labeled samples alone, in which these classes are the unseen ones."""
        labeled = replace(self._select(~self.asked), **_no_later())
        hidden = np.isin(labeled.y, classes)
        if self.setting == "gzsl":
            remaining = np.flatnonzero(~hidden)
            hidden[remaining[part_of_each_class(labeled.y[remaining], _SEEN_PART, rng, leave=1)]] = True
        fold = replace(
            labeled,
            y=np.where(hidden, -1, labeled.y),
            name=f"{self.name}, {said}",
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
