"""SCORE: when to reject a sample because it belongs to no known class.

The label of a sample has a probability among *all* classes that the model knows, seen ones included. For a sample of an
unknown class this probability is low. The threshold is learned from seen classes: some are hidden as the unseen ones
are, and half of those are withheld altogether, descriptions included; their samples are the ones to reject. At the
threshold, the share of unknown samples rejected and the share of known samples kept add up to most.
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
    """A threshold on :func:`~superproto.estimator.base.confidence`, and how it did on the held-out classes.

    ``auroc``: the chance that a random sample of a known class has more confidence than one of an unknown class, 0.5
    for guessing. ``kept`` and ``rejected``: the shares of known samples above and of unknown ones below the threshold.
    The other fields are the numbers of classes and samples that this was measured on. Model files store these names.
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
    """Fit the same method where seen classes are hidden and withheld, and find the threshold that parts them best."""
    if len(task.seen_classes) < 4:
        raise UserError(f"A threshold for unknown classes needs at least 4 seen classes, got {len(task.seen_classes)}.")
    fold = task.folds(1, seed)[0]
    rng = np.random.default_rng(seed)
    hidden = rng.permutation(fold.unseen_classes)
    withheld = hidden[: len(hidden) // 2] if len(hidden) > 1 else rng.permutation(fold.seen_classes)[:1]
    known = fold.restricted(np.setdiff1d(np.arange(len(fold.semantics)), withheld))
    twin = _unfitted_copy(model).set_params(candidates=fold.candidates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twin.fit(known.X, known.y, semantics=known.semantics)
    of_known = _confidences(twin, np.concatenate([known.X[known.asked], known.later]))
    of_unknown = _confidences(twin, _rows_of(fold, withheld))
    threshold, kept, rejected = best_threshold(of_known, of_unknown)
    is_known = np.repeat([True, False], [len(of_known), len(of_unknown)])
    auroc = float(area_under_curve(np.concatenate([of_known, of_unknown]), is_known))
    sizes = len(np.setdiff1d(hidden, withheld)), len(withheld), len(of_known), len(of_unknown)
    return Rejection(threshold, auroc, kept, rejected, *sizes)


def _unfitted_copy(model: Any) -> Any:
    """The same method unfitted; a model that it went on from knows the withheld classes, so it starts afresh."""
    twin = clone(model)
    if "checkpoint" in twin.get_params(deep=False):
        # The file is the first fit's: another fit must neither read nor replace it.
        twin.set_params(checkpoint=None)
    return twin.set_params(init="means") if hasattr(getattr(twin, "init", None), "fit") else twin


def best_threshold(of_known: Array, of_unknown: Array) -> tuple[float, float, float]:
    """(t, kept, rejected): the t for which the shares of known samples >= t and unknown ones < t add up to most."""
    values = np.unique(np.concatenate([of_known, of_unknown]))
    kept = 1 - np.searchsorted(np.sort(of_known), values) / len(of_known)
    rejected = np.searchsorted(np.sort(of_unknown), values) / len(of_unknown)
    best = int((kept + rejected).argmax())
    # Between two samples, so that rounding does not decide about the one that sits on the border.
    threshold = (values[best] + values[best - 1]) / 2 if best else values[best]
    return float(threshold), float(kept[best]), float(rejected[best])


def _confidences(model: Any, rows: Array) -> Array:
    step = chunk_length(rows.shape[1] + len(model.classes_), 8)
    parts = [confidence(model, model.answers(rows[start : start + step])[0]) for start in range(0, len(rows), step)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _rows_of(task: Task, classes: Array) -> Array:
    rows = np.concatenate([task.X, task.later])
    return rows[np.isin(np.concatenate([task.truth, task.later_truth]), classes)]
