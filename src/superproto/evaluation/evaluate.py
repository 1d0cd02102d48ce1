"""SCORE: evaluate one method on one task: fit, predict, score, and measure the time of each part.

`fit` receives the samples, the given labels and the descriptions. The true labels are used for scoring only.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from superproto.baselines.registry import parameters_of
from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.evaluation.bootstrap import Difference, bootstrap_interval, paired_difference
from superproto.evaluation.own_methods import method_for, pool_answers, row_answers
from superproto.metrics import ausuc, expected_calibration_error, generalized_scores, per_class_accuracy, top_k_accuracy
from superproto.samples.chunks import Array
from superproto.samples.timing import measured, span

# The main score of each setting, the scores that its tables show, and their titles.
HEADLINES = {"zsl": "per_class_accuracy", "gzsl": "harmonic_mean"}
SHOWN_SCORES = {"zsl": ("per_class_accuracy", "top5"), "gzsl": ("unseen", "seen", "harmonic_mean", "ausuc")}
SCORE_TITLES = {
    "per_class_accuracy": "per-class accuracy",
    "unseen": "unseen",
    "seen": "seen",
    "harmonic_mean": "harmonic mean",
    "ausuc": "AUSUC",
    "top5": "top-5",
    "ece": "calibration error",
}
_REPEATS = 1000
_OF_THE_METHOD = ("read", "passes", "whiten", "fit", "predict")


class Answers(NamedTuple):
    """A class, scores and probabilities for every unlabeled sample of a task, in the order of `task.expected`."""

    labels: Array
    scores: Array
    probabilities: Array


@dataclass(frozen=True)
class Evaluation:
    """The result of one run.

    Attributes
    ----------
    task : Task
        The task of the run; the inductive one for ``inductive=True``.
    method, params, chosen, seed
        The method, all of its parameters, where the parameters come from, and the seed.
    scores : dict
        Scores by name, as fractions. "interval" is the 95 % bootstrap interval of the main score of the setting: the
        per-class accuracy, or the harmonic mean in gzsl.
    seconds : float
        Time of fit and prediction: read + passes + whiten + fit + predict of the breakdown.
    breakdown : dict
        Seconds of each part.
    notes : tuple of str
        Warnings of the method.
    answers, class_scores : (n,) and (n, C)
        Predicted classes of the samples in `task.expected`, and their scores.
    model
        The fitted estimator.
    """

    task: Task
    method: str
    params: dict[str, Any]
    chosen: str
    seed: int
    scores: dict[str, Any]
    breakdown: dict[str, float]
    notes: tuple[str, ...]
    answers: Array = field(repr=False)
    class_scores: Array = field(repr=False)
    model: Any = field(repr=False)

    @property
    def seconds(self) -> float:
        """Seconds of fit and prediction, without import and loading."""
        return sum(self.breakdown.get(name, 0.0) for name in _OF_THE_METHOD)


def evaluate(
    task: Task,
    method: Any = "hpl",
    params: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    inductive: bool = False,
    chosen: str | None = None,
    constants: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Run a method on a task and score its predictions.

    Parameters
    ----------
    task : Task
    method : str or estimator, default="hpl"
        A key of `superproto.baselines.registry.METHODS`, ``"package.module:Class"``, or an estimator, which is copied.
        See :mod:`superproto.evaluation.own_methods` for the methods it must have.
    params : mapping, optional
        Parameters that differ from the defaults.
    seed : int, default=0
    inductive : bool, default=False
        Fit on labeled samples only.
    chosen : str, optional
        How the parameters were chosen, for the record.
    constants : mapping, optional
        Constants of HPL that differ from its own, for an ablation.

    Returns
    -------
    Evaluation

    >>> from superproto.datasets import digits
    >>> evaluate(digits(), "prototypes").scores["per_class_accuracy"] > 0.5
    True
    """
    model = method_for(method, params, candidates=task.candidates, seed=seed, constants=constants)
    method = method if isinstance(method, str) else type(method).__name__
    check_truth_is_known(task)
    if inductive and not task.is_inductive:
        task = task.inductive()
    with measured() as seconds, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        answers = answer(model, task)
        with span("score"):
            scores = score(task, answers)
    if np.ndim(getattr(model, "n_iter_", [])) == 0:
        scores["sweeps"] = int(model.n_iter_)
    return Evaluation(
        task=task,
        method=method,
        params=parameters_of(model) if hasattr(model, "get_params") else {},
        chosen=chosen or ("given" if params else "defaults"),
        seed=seed,
        scores=scores,
        breakdown=seconds,
        notes=_sentences(warned),
        answers=answers.labels,
        class_scores=answers.scores,
        model=model,
    )


def answer(model: Any, task: Task) -> Answers:
    """Fit the model and label every unlabeled sample of the task, without access to the true labels."""
    with span("fit"):
        model.fit(task.X, task.y, semantics=task.semantics)
    with span("predict"):
        parts = []
        if task.asked.any():
            parts.append(pool_answers(model, task.X, task.asked, len(task.semantics)))
        if len(task.later):
            parts.append(row_answers(model, task.later, len(task.semantics)))
        return Answers(*(np.concatenate(column) for column in zip(*parts)))


def score(task: Task, answers: Answers) -> dict[str, Any]:
    """Return the scores of the task's setting, over the samples whose true class is known."""
    known = task.expected >= 0
    truth, labels = task.expected[known], answers.labels[known]
    seen = task.seen_classes if task.setting == "gzsl" else None
    scores: dict[str, Any]
    if seen is None:
        scores = {"per_class_accuracy": per_class_accuracy(truth, labels)}
    else:
        scores = generalized_scores(truth, labels, seen)._asdict()
        scores["ausuc"] = ausuc(truth, answers.scores[known], seen)
    table = answers.scores[known]
    return {
        **scores,
        "interval": list(bootstrap_interval(truth, labels, seen=seen, repeats=_REPEATS)),
        "top5": top_k_accuracy(truth, table, min(5, table.shape[1])),
        "ece": expected_calibration_error(truth, answers.probabilities[known]),
        "questions": len(truth),
    }


def difference(first: Evaluation, second: Evaluation) -> Difference:
    """Return the second's score minus the first's, with the interval of a paired bootstrap over the same samples."""
    task = first.task
    known = task.expected >= 0
    seen = task.seen_classes if task.setting == "gzsl" else None
    return paired_difference(
        task.expected[known], first.answers[known], second.answers[known], seen=seen, repeats=_REPEATS
    )


def check_truth_is_known(task: Task) -> None:
    """Raise if a task has no unlabeled sample whose class is known."""
    if not len(task.expected):
        raise UserError(
            f"{task.name} has no unlabeled samples, so there is nothing to score. Mark unlabeled samples with -1."
        )
    if not (task.expected >= 0).any():
        raise UserError(
            f"{task.name}: the true classes of its {len(task.expected)} unlabeled samples are unknown, so there is "
            "nothing to score. Label them with `superproto fit` and `superproto predict`, or give test labels."
        )


def _sentences(warned: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """Return each warning once, as one line."""
    return tuple(dict.fromkeys(" ".join(str(entry.message).split()) for entry in warned))
