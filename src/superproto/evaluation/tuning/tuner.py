"""SCORE: choose parameters on held-out *classes*.

A fold treats some seen classes as unseen: their samples lose their labels and form its pool, the set of unlabeled
samples. Cross-validation over samples (``GridSearchCV``) would score classes that have labeled samples, which is a
different problem with other best parameters. The unseen classes are not used: neither their samples nor their
descriptions are in a fold.

Scores on few held-out classes are noisy. The default is kept unless the best trial is clearly better by a paired t-test
over the folds (:mod:`superproto.evaluation.paired_gain`).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from superproto.baselines.registry import make_model
from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.evaluation.evaluate import HEADLINES
from superproto.evaluation.paired_gain import PairedGain, paired_gain
from superproto.evaluation.tuning.search import Study, Trial, choose_search
from superproto.evaluation.tuning.spaces import Space, Span, check_space, default_values
from superproto.files import write_whole
from superproto.metrics import generalized_scores, per_class_accuracy


class TuningProgress(NamedTuple):
    """The argument of a progress callback: the finished trial, and the state of the search."""

    trial: Trial
    n_trials: int
    best: Trial
    default: float
    seconds: float


@dataclass(frozen=True)
class Tuned:
    """The result of a search.

    Attributes
    ----------
    params : dict
        The chosen values; empty if the default was kept.
    default_kept : bool
        Whether no trial was clearly better than the default; ``reason`` states it in a sentence.
    score, default_score : float
        Mean scores over the folds, of the chosen parameters and of the default.
    gain, standard_error : float
        The gain of the best trial over the default, paired over the folds.
    spread : float
        Standard deviation over the folds of the scores of the chosen parameters.
    folds : list of dict
        Each fold's name, its numbers of held-out classes and samples, and both scores.
    trials : list of dict
        Every point that was tried, with its score on each fold.
    """

    method: str
    params: dict[str, Any]
    default_kept: bool
    reason: str
    score: float
    default_score: float
    gain: float
    standard_error: float
    spread: float
    metric: str
    folds: list[dict[str, Any]]
    trials: list[dict[str, Any]]
    space: dict[str, Any]
    search: str
    seed: int
    task: str
    setting: str
    protocol: str
    data: str
    seconds: float

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON, atomically; ``superproto evaluate --params`` reads it."""
        with write_whole(path, text=True) as handle:
            json.dump(asdict(self), handle, indent=2, allow_nan=False)
            handle.write("\n")


def tune(
    task: Task,
    method: str = "hpl",
    space: Space | None = None,
    *,
    n_trials: int = 30,
    time_limit: float | None = None,
    folds: int | Sequence[Task] = 3,
    seed: int = 0,
    search: str | None = None,
    trials_file: str | os.PathLike[str] | None = None,
    progress: Callable[[TuningProgress], None] | None = None,
) -> Tuned:
    """Choose a method's parameters on held-out seen classes of a task.

    Parameters
    ----------
    task : Task
    method : str, default="hpl"
        A key of METHODS.
    space : mapping, optional
        Each parameter's :class:`Span` or list of values. The default is the method's own space.
    n_trials : int, default=30
        Points to try besides the default. Larger: better parameters and a longer search.
    time_limit : float, optional
        Seconds for the search. A fit does not start if it would end later, given the longest fit so far; an unfinished
        trial is discarded. The default is always scored on all folds.
    folds : int or sequence of Task, default=3
        Number of class-disjoint validation tasks, at least 2, or the tasks themselves.
    seed : int, default=0
    search : {"tpe", "grid"}, optional
        "tpe" needs Optuna, and stops a trial that is below the median of the finished ones after a fold. The default
        is "tpe" if Optuna is installed, else "grid".
    trials_file : str or path, optional
        JSON lines file of the finished trials. An existing file of the same search is resumed.
    progress : callable, optional
        Called with a :class:`TuningProgress` after every trial.

    Returns
    -------
    Tuned

    Examples
    --------
    >>> from superproto.datasets import make_task
    >>> tuned = tune(make_task(n_seen=9), "prototypes", {"ridge": [0.01, 0.1, 1.0]}, n_trials=3, search="grid")
    >>> len(tuned.trials)
    4
    """
    make_model(method)
    if not isinstance(task, Task):
        raise UserError(f"task is {type(task).__name__}, not a Task. Read one with superproto.datasets.load(path).")
    space, search = check_space(method, space), choose_search(search)
    number = folds if isinstance(folds, int) else len(folds)
    if number < 2:
        raise UserError(f"folds={number} shows no spread over classes. Give at least 2.")
    if n_trials < 1:
        raise UserError(f"n_trials={n_trials}, but at least 1 is needed.")
    started = monotonic()
    tasks = task.folds(folds, seed) if isinstance(folds, int) else list(folds)
    data = _digest(tasks)
    header = {"method": method, "space": _written(space), "search": search, "seed": seed, "folds": number, "data": data}
    study = Study(search, space, seed, trials_file, header, default_values(method, space))
    deadline = math.inf if time_limit is None else started + time_limit
    _search(study, tasks, method, seed, n_trials, deadline, progress)
    return _record(study.trials, tasks, task, header, monotonic() - started)


def score_of(task: Task, method: str, params: Mapping[str, Any], seed: int = 0) -> float:
    """Return the per-class accuracy (zsl) or harmonic mean (gzsl) of a method on a task whose truth is known."""
    model = make_model(method, params, candidates=task.candidates, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(task.X, task.y, semantics=task.semantics)
        later = model.predict(task.later) if len(task.later) else np.zeros(0, dtype=np.int64)
    labels = np.concatenate([model.transduction_[task.asked], later])
    if task.setting == "gzsl":
        return generalized_scores(task.expected, labels, task.seen_classes).harmonic_mean
    return per_class_accuracy(task.expected, labels)


def _search(
    study: Study, tasks: Sequence[Task], method: str, seed: int, n_trials: int, deadline: float,
    progress: Callable[[TuningProgress], None] | None,
) -> None:  # fmt: skip
    """Run trials: the default first, then points until ``n_trials``, the end of the grid or the deadline."""
    started, longest = monotonic(), 0.0
    for number in range(len(study.trials), n_trials + 1):
        params = study.ask()
        if params is None:
            return
        trial, longest = _try(study, params, tasks, method, seed, deadline if number else math.inf, longest)
        if trial is None:
            return
        study.tell(trial)
        if progress is not None:
            best = max((t for t in study.trials if t.stopped is None), key=lambda t: t.mean)
            progress(TuningProgress(trial, n_trials, best, study.trials[0].mean, monotonic() - started))


def _try(
    study: Study, params: dict[str, Any], tasks: Sequence[Task], method: str, seed: int, deadline: float, longest: float
) -> tuple[Trial | None, float]:
    """Score a point on each fold, until it is stopped. Return None if the deadline comes before it is finished.

    ``longest`` is the seconds of the longest fit so far; the updated value is returned too.
    """
    number, started, scores, stopped = len(study.trials), monotonic(), [], None
    for fold in tasks:
        begun = monotonic()
        if begun + longest >= deadline:
            return None, longest
        try:
            scores.append(score_of(fold, method, params, seed))
        except (UserError, ArithmeticError, np.linalg.LinAlgError) as error:
            if number == 0:
                raise
            # Parameters that make a method fail are a bad point; the search continues.
            stopped = " ".join(str(error).split())
            break
        longest = max(longest, monotonic() - begun)
        if number and len(scores) < len(tasks) and study.falls_behind(scores):
            stopped = f"below the median after {len(scores)} of {len(tasks)} folds"
            break
    return Trial(number, params, tuple(scores), stopped, round(monotonic() - started, 3)), longest


def _record(
    trials: Sequence[Trial], tasks: Sequence[Task], task: Task, header: Mapping[str, Any], seconds: float
) -> Tuned:
    default = trials[0]
    best = max((trial for trial in trials if trial.stopped is None), key=lambda trial: trial.mean)
    gain = paired_gain(best.scores, default.scores)
    kept = best.number == 0 or not gain.is_clear
    chosen = default if kept else best
    return Tuned(
        method=header["method"],
        params=chosen.params,
        default_kept=kept,
        reason=_reason(best.number == 0, gain, len(trials) - 1),
        score=chosen.mean,
        default_score=default.mean,
        gain=gain.mean,
        standard_error=gain.standard_error,
        spread=float(np.std(chosen.scores, ddof=1)),
        metric=HEADLINES[task.setting],
        folds=[_fold(*entry) for entry in zip(tasks, default.scores, chosen.scores)],
        trials=[{**trial._asdict(), "scores": list(trial.scores)} for trial in trials],
        space=header["space"],
        search=header["search"],
        seed=header["seed"],
        task=task.name,
        setting=task.setting,
        protocol=task.protocol,
        data=header["data"],
        seconds=round(seconds, 3),
    )


def _reason(is_default: bool, gain: PairedGain, tried: int) -> str:
    if is_default:
        return f"None of {tried} trials beats the default."
    text = (
        f"The best of {tried} trials gains {100 * gain.mean:+.2f} points, with a standard error of "
        f"{100 * gain.standard_error:.2f} over the folds"
    )
    if gain.is_clear:
        return f"{text}."
    return f"{text}: a clear gain is more than {100 * gain.threshold:.2f}, so the default is kept."


def _fold(task: Task, default: float, chosen: float) -> dict[str, Any]:
    hidden = task.unseen_classes
    return {
        "name": task.name,
        "hidden_classes": len(hidden),
        "questions": len(task.expected),
        "classes": [str(name) for name in task.class_names[hidden]],
        "default_score": default,
        "score": chosen,
    }


def _digest(tasks: Sequence[Task]) -> str:
    """Return the SHA-256 of all folds. They contain labeled samples only, so no label of a test sample is used."""
    return hashlib.sha256("".join(fold.digest() for fold in tasks).encode()).hexdigest()


def _written(space: Space) -> dict[str, Any]:
    return {name: asdict(values) if isinstance(values, Span) else list(values) for name, values in space.items()}


def default_trials_file(output: str | os.PathLike[str]) -> Path:
    """Return the file of trials of a search whose result is written to ``output``."""
    return Path(f"{os.fspath(output)}.trials.jsonl")
