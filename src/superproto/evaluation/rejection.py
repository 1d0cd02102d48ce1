"""REFUSE: when a sample is none of the classes.

The label that a sample would get has a probability among *all* classes that the model knows, seen ones included. A
sample of none of them shares itself out, so this probability is low. How low is too low is learned from seen classes:
some are hidden as the unseen ones are, and half of those are withheld altogether, descriptions too; their samples are
the ones to refuse. The threshold is where refused strangers and kept members, both as shares, add up to most.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone

from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.estimator.base import confidence
from superproto.samples.chunks import Array, chunk_length


class Rejection(NamedTuple):
    """A threshold on :func:`assurance`, and how it did on the held-out classes that it was learned from.

    ``auroc``: the chance that a random member looks surer than a random stranger, 0.5 for guessing. ``kept`` and
    ``refused``: the shares of members above and of strangers below the threshold.
    """

    threshold: float
    auroc: float
    kept: float
    refused: float
    member_classes: int
    stranger_classes: int
    members: int
    strangers: int


def learn_rejection(model: Any, task: Task, *, seed: int = 0) -> Rejection:
    """Fit the same method where seen classes are hidden and withheld, and find the threshold that parts them best."""
    if len(task.seen_classes) < 4:
        raise UserError(
            f"A threshold for samples of no class needs 4 seen classes at least, not {len(task.seen_classes)}."
        )
    fold = task.folds(1, seed)[0]
    rng = np.random.default_rng(seed)
    hidden = rng.permutation(fold.unseen_classes)
    withheld = hidden[: len(hidden) // 2] if len(hidden) > 1 else rng.permutation(fold.seen_classes)[:1]
    known = fold.restricted(np.setdiff1d(np.arange(len(fold.semantics)), withheld))
    twin = _twin(model).set_params(candidates=fold.candidates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twin.fit(known.X, known.y, semantics=known.semantics)
    members = _confidences(twin, np.concatenate([known.X[known.asked], known.later]))
    strangers = _confidences(twin, _rows_of(fold, withheld))
    threshold, kept, refused = best_threshold(members, strangers)
    sizes = len(np.setdiff1d(hidden, withheld)), len(withheld), len(members), len(strangers)
    return Rejection(threshold, area_under_curve(members, strangers), kept, refused, *sizes)


def _twin(model: Any) -> Any:
    """The same method unfitted; a model that it went on from knows the withheld classes, so it starts afresh."""
    twin = clone(model)
    return twin.set_params(init="means") if hasattr(getattr(twin, "init", None), "fit") else twin


def area_under_curve(members: Array, strangers: Array) -> float:
    """P(member > stranger) + P(equal) / 2, by ranks."""
    ranks = rankdata(np.concatenate([members, strangers]))[: len(members)].sum()
    n, m = len(members), len(strangers)
    return float((ranks - n * (n + 1) / 2) / (n * m))


def best_threshold(members: Array, strangers: Array) -> tuple[float, float, float]:
    """(t, kept, refused): the t for which the shares of members >= t and of strangers < t add up to most."""
    values = np.unique(np.concatenate([members, strangers]))
    kept = 1 - np.searchsorted(np.sort(members), values) / len(members)
    refused = np.searchsorted(np.sort(strangers), values) / len(strangers)
    best = int((kept + refused).argmax())
    # Between two samples, so that rounding does not decide about the one that sits on the border.
    threshold = (values[best] + values[best - 1]) / 2 if best else values[best]
    return float(threshold), float(kept[best]), float(refused[best])


def _confidences(model: Any, rows: Array) -> Array:
    step = chunk_length(rows.shape[1] + len(model.classes_), 8)
    parts = [confidence(model, model.answers(rows[start : start + step])[0]) for start in range(0, len(rows), step)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _rows_of(task: Task, classes: Array) -> Array:
    rows = np.concatenate([task.X, task.later])
    return rows[np.isin(np.concatenate([task.truth, task.later_truth]), classes)]
