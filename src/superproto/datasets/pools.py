"""LOAD: choose the unlabeled samples and the held-out classes: functions from labels to row numbers.

A *pool* is the set of unlabeled samples of a fit. The accuracy of a transductive method depends on it as much as on the
method. A task therefore states how its pool was drawn, and with which seed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from superproto.errors import UserError

_Rows = npt.NDArray[np.int64]
_Labels = npt.NDArray[np.integer]


def few_classes(truth: _Labels, classes: int, rng: np.random.Generator) -> _Rows:
    """Return the samples of `classes` randomly drawn classes. The other classes stay candidates without samples."""
    present = np.unique(truth)
    if not 1 <= classes <= len(present):
        raise UserError(f"classes={classes}, but the pool has {len(present)} classes. Give 1 to {len(present)}.")
    return np.flatnonzero(np.isin(truth, rng.choice(present, classes, replace=False)))


def shifted_prior(truth: _Labels, imbalance: float, rng: np.random.Generator) -> _Rows:
    """Return samples of unequal class sizes: of n classes in random order, the r-th keeps imbalance^(-r/(n-1))."""
    if not (np.isfinite(imbalance) and imbalance >= 1):
        raise UserError(
            f"imbalance={imbalance} must be at least 1. It is the ratio of the largest to the smallest kept share."
        )
    present = rng.permutation(np.unique(truth))
    shares = float(imbalance) ** -np.linspace(0, 1, len(present))
    kept = [_some(np.flatnonzero(truth == c), share, rng) for c, share in zip(present, shares)]
    return np.sort(np.concatenate(kept))


def part_of_each_class(labels: _Labels, share: float, rng: np.random.Generator, *, leave: int = 0) -> _Rows:
    """Return a share of the samples of every class, at least one. `leave` samples of a class are never taken."""
    if not 0 < share <= 1:
        raise UserError(f"fraction={share} must be above 0 and at most 1.")
    kept = [np.empty(0, np.int64)]
    for c in np.unique(labels):
        rows = np.flatnonzero(labels == c)
        kept.append(_some(rows, share, rng)[: max(len(rows) - leave, 0)])
    return np.sort(np.concatenate(kept))


def class_folds(seen: _Rows, n: int, unseen: int, first: _Rows | None, rng: np.random.Generator) -> list[_Rows]:
    """Return n disjoint sets of seen classes to hold out: `first` if given, then random ones.

    A random set holds out the same share of classes as the task, in which `unseen` classes are unseen.
    """
    if n < 1:
        raise UserError(f"folds={n} must be at least 1.")
    if len(seen) < 2 or n > len(seen):
        raise UserError(f"{n} class-disjoint folds need at least {max(n, 2)} seen classes, but there are {len(seen)}.")
    chosen = [] if first is None else [np.sort(first)]
    rest = rng.permutation(seen if first is None else np.setdiff1d(seen, first))
    wanted = n - len(chosen)
    if wanted > len(rest):
        raise UserError(
            f"{n} folds are too many: {len(rest)} seen classes lie outside the data set's own validation split."
        )
    alike = round(len(seen) * unseen / (len(seen) + unseen)) if unseen else len(seen) // 3
    size = max(1, min(alike, len(rest) // max(wanted, 1), len(seen) - 1))
    return chosen + [np.sort(rest[i * size : (i + 1) * size]) for i in range(wanted)]


def _some(rows: _Rows, share: float, rng: np.random.Generator) -> _Rows:
    return rng.permutation(rows)[: max(1, round(share * len(rows)))]
