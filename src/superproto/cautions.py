"""WARN when the labels of a pool look wrong: classes that nobody took, names that fit no cluster, pools too small."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from superproto.inputs import Problem, name_of
from superproto.rows import Array

# A class whose cluster fits another description so much better is reported as not found.
LOST = 0.95


def caution(model: Any, problem: Problem) -> None:
    """What a user should know of a fitted model's labels, each as a warning."""
    labels = model.transduction_[problem.asked]
    candidates = int(problem.allowed.sum())
    if len(labels) < 2 * candidates:
        if 0 < len(labels) < candidates:
            _warn(
                f"{len(labels)} samples for {candidates} candidate classes: some must stay empty; "
                "their prototypes come from their descriptions."
            )
        return
    warn_of_strangers(model.class_doubt_, problem)
    _warn_of_empty(model, problem, labels)


def warn_of_strangers(class_doubt: Array, problem: Problem) -> None:
    """Descriptions that fit no cluster, though samples got their label."""
    lost = np.flatnonzero((class_doubt > LOST) & (class_doubt < 1))
    if len(lost):
        named = ", ".join(name_of(problem.names, int(j)) for j in lost[:3]) + (", ..." if len(lost) > 3 else "")
        _warn(
            f"The descriptions of {len(lost)} classes match no cluster of the pool ({named}): doubt their labels, "
            "and see class_doubt_."
        )


def _warn_of_empty(model: Any, problem: Problem, labels: Array) -> None:
    counts = np.array([np.count_nonzero(labels == name) for name in model.classes_])
    targets = problem.allowed & ~problem.seen if (problem.allowed & ~problem.seen).any() else problem.allowed
    empty, top = int((counts[targets] == 0).sum()), int(counts.argmax())
    if empty:
        cure = "Features look uncentered: try whiten=True." if model.whiten is False else "Check their descriptions."
        _warn(
            f"{empty} of {int(targets.sum())} classes received no sample "
            f"(largest: {name_of(model.classes_, top)} with {counts[top] / len(labels):.0%}). {cure}"
        )


def _warn(text: str) -> None:
    """Shown at the line that called ``fit``."""
    warnings.warn(text, UserWarning, stacklevel=5)
