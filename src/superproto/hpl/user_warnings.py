"""WARN when the labels of a pool look wrong: classes that nobody took, names that fit no cluster, pools too small."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from superproto.estimator.validation import Problem, name_of
from superproto.hpl.forecast import LeftOutFits
from superproto.samples.chunks import Array

# A class whose cluster fits another description so much better is reported as not found.
LOST = 0.95


def warn_user(model: Any, problem: Problem, left_out: LeftOutFits | None) -> None:
    """What a user should know of a fitted model's labels, each as a warning."""
    labels = model.transduction_[problem.asked]
    candidates = int(problem.allowed.sum())
    if len(labels) < 2 * candidates:
        if 0 < len(labels) < candidates:
            samples = "1 sample" if len(labels) == 1 else f"{len(labels)} samples"
            _warn(
                f"{samples} for {candidates} candidate classes: some must stay empty; "
                "their prototypes come from their descriptions."
            )
        return
    _warn_of_helped(model, problem)
    warn_about_absent_classes(model.missing_, problem)
    warn_about_unmatched_classes(model.class_doubt_, problem)
    warn_about_forecast(left_out)
    _warn_of_empty(model, problem, labels)


def _warn_of_helped(model: Any, problem: Problem) -> None:
    """Classes with a few labels, and the others many: perhaps help for unseen ones, which are then no candidates."""
    counts = np.bincount(problem.labels[~problem.asked], minlength=problem.n_classes)
    few = model.constants.few_labels
    helped = np.flatnonzero((counts > 0) & (counts <= few))
    if not len(helped) or not isinstance(model.candidates, str) or model.candidates != "unseen":
        return
    if np.median(counts[counts > 0]) > 4 * few:
        _warn(
            f"Classes with at most {few} labels ({_listed(helped, problem)}) are no candidates: no unlabeled "
            'sample is given to them. If the pool may have them, name them in candidates (or "all"; --setting gzsl).'
        )


def warn_about_absent_classes(missing: Array, problem: Problem) -> None:
    """Candidates whose samples were more like those of another class than each other."""
    if missing.any():
        _warn(
            f"{int(missing.sum())} of {int(problem.allowed.sum())} candidates seem to be missing from the pool "
            f"({_listed(np.flatnonzero(missing), problem)}): they stay where their descriptions are; see missing_, "
            "and leave them out of candidates if you know that they are."
        )


def warn_about_unmatched_classes(class_doubt: Array, problem: Problem) -> None:
    """Descriptions that fit no cluster, though samples got their label."""
    lost = np.flatnonzero((class_doubt > LOST) & (class_doubt < 1))
    if len(lost):
        _warn(
            f"The descriptions of {len(lost)} classes match no cluster of the pool ({_listed(lost, problem)}): "
            "doubt their labels, and see class_doubt_."
        )


def warn_about_forecast(left_out: LeftOutFits | None) -> None:
    """Descriptions that predict left-out seen classes no better than guessing."""
    if left_out is not None and not left_out.beats_chance():
        accuracy, chance = left_out.forecast()
        _warn(
            f"Seen classes that were left out and labeled by their descriptions were right in {accuracy:.0%} "
            f"(guessing: {chance:.0%}). Check that the rows of semantics are in the order of the classes, that the "
            "labels belong to their rows, and that the descriptions tell what samples look like."
        )


def _listed(classes: Array, problem: Problem) -> str:
    """The first three by name."""
    return ", ".join(name_of(problem.names, int(j)) for j in classes[:3]) + (", ..." if len(classes) > 3 else "")


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
