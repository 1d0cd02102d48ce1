"""SCORE: learn when to reject a sample because it belongs to no known class.

The label of a sample has a probability among *all* classes that the model knows, including seen ones. For a sample of
an unknown class this probability is low. The threshold is learned on held-out seen classes. Half of them stay known by
their descriptions. The other half is withheld with its descriptions, and its samples are those to reject. The threshold
maximizes the sum of two shares: of unknown samples rejected, and of known samples kept.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.estimator.base import confidence
from superproto.metrics import area_under_curve
from superproto.samples.chunks import Array, chunk_length


class Rejection(NamedTuple):
    """A threshold on :func:`~superproto.estimator.base.confidence`, and its performance on held-out classes.

    ``auroc`` is the probability that a random sample of a known class has more confidence than one of an unknown class
    (0.5 by chance). ``kept`` and ``rejected`` are the shares of known samples above and of unknown samples below the
    threshold. The other fields are the numbers of classes and samples of this measurement. Model files store these
    names.
    """

    threshold: float
    auroc: float
    kept: float
    rejected: float
    known_classes: int
    unknown_classes: int
    known_samples: int
    unknown_samples: int


def learn_rejection(model: Any, task: Task, *, seed: int = 0) -> Rejection:
    """Fit the same method without the labels of some seen classes, and learn the threshold that rejects the withheld.

    The task needs at least 4 seen classes. `seed` draws the classes.
    """
    if len(task.seen_classes) < 4:
        raise UserError(f"A threshold for unknown classes needs at least 4 seen classes, got {len(task.seen_classes)}.")
    fold = task.folds(1, seed)[0]
    rng = np.random.default_rng(seed)
    hidden = rng.permutation(fold.unseen_classes)
    withheld = hidden[: len(hidden) // 2] if len(hidden) > 1 else rng.permutation(fold.seen_classes)[:1]
    known = fold.restricted(np.setdiff1d(np.arange(len(fold.semantics)), withheld))
    copy = _unfitted_copy(model).set_params(candidates=fold.candidates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copy.fit(known.X, known.y, semantics=known.semantics)
    of_known = _confidences(copy, np.concatenate([known.X[known.asked], known.later]))
    of_unknown = _confidences(copy, _rows_of(fold, withheld))
    threshold, kept, rejected = best_threshold(of_known, of_unknown)
    is_known = np.repeat([True, False], [len(of_known), len(of_unknown)])
    auroc = float(area_under_curve(np.concatenate([of_known, of_unknown]), is_known))
    sizes = len(np.setdiff1d(hidden, withheld)), len(withheld), len(of_known), len(of_unknown)
    return Rejection(threshold, auroc, kept, rejected, *sizes)


def _unfitted_copy(model: Any) -> Any:
    """Return an unfitted copy. A model given as ``init`` knows the withheld classes, so it is not used."""
    copy = clone(model)
    if "checkpoint" in copy.get_params(deep=False):
        # The file belongs to the first fit: another fit must neither read nor replace it.
        copy.set_params(checkpoint=None)
    return copy.set_params(init="means") if hasattr(getattr(copy, "init", None), "fit") else copy


def best_threshold(of_known: Array, of_unknown: Array) -> tuple[float, float, float]:
    """Return (t, kept, rejected) with the largest sum of the shares of known samples >= t and unknown samples < t."""
    values = np.unique(np.concatenate([of_known, of_unknown]))
    kept = 1 - np.searchsorted(np.sort(of_known), values) / len(of_known)
    rejected = np.searchsorted(np.sort(of_unknown), values) / len(of_unknown)
    best = int((kept + rejected).argmax())
    # Between two samples, so that rounding cannot change the decision about either of them.
    threshold = (values[best] + values[best - 1]) / 2 if best else values[best]
    return float(threshold), float(kept[best]), float(rejected[best])


def _confidences(model: Any, rows: Array) -> Array:
    step = chunk_length(rows.shape[1] + len(model.classes_), 8)
    parts = [confidence(model, model.answers(rows[start : start + step])[0]) for start in range(0, len(rows), step)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _rows_of(task: Task, classes: Array) -> Array:
    rows = np.concatenate([task.X, task.later])
    return rows[np.isin(np.concatenate([task.truth, task.later_truth]), classes)]
