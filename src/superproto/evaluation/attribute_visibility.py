"""LOOK: which attributes can be seen in the features, and which cannot ("is solitary", "eats fish").

A ridge regression from whitened features to attributes is learned on some classes and asked about others. An attribute
that is not visual cannot be foretold there, however well it is fitted on the classes that were trained on. What leaving
the least visible ones out would do is measured on held-out classes as well; there the order of the attributes comes
from the remaining classes alone, so that no class takes part in the choice that it then judges.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from superproto.baselines.registry import find_method
from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.estimator.kernel_ridge import solve_ridge
from superproto.evaluation.paired_gain import paired_gain
from superproto.evaluation.tuning.tuner import score_of
from superproto.metrics import area_under_curve
from superproto.samples.chunks import Array, ArrayRows
from superproto.samples.whitening import apply_metric, is_nonnegative, learn_metric

_SHARES = (0.1, 0.25, 0.5)


class Attribute(NamedTuple):
    """``auc``: of telling samples of classes that have much of it from those that have little; ``correlation``: over
    classes, of the mean prediction and the given value. Both are means over folds of classes not trained on."""

    name: str
    column: int
    auc: float
    correlation: float


class Drop(NamedTuple):
    """What leaving so many of the least visible attributes out changes on held-out classes, paired over the folds."""

    left_out: int
    gain: float
    standard_error: float
    is_clear: bool


@dataclass(frozen=True)
class Report:
    """The attributes, the most visible first, and what dropping the last ones does to ``method``."""

    task: str
    method: str
    folds: int
    attributes: list[Attribute]
    drops: list[Drop]

    def suggestion(self) -> str:
        """What to do, in a sentence."""
        clear = [drop for drop in self.drops if drop.is_clear]
        if not clear:
            return f"Keep all {len(self.attributes)} attributes: leaving the least visible out gains nothing clear."
        best = max(clear, key=lambda drop: drop.gain)
        return f"Try without the {best.left_out} least visible attributes of {len(self.attributes)}."

    def sentences(self) -> list[str]:
        """What was measured about dropping, then the suggestion."""
        said = [
            f"Without the {drop.left_out} least visible: {100 * drop.gain:+.2f} points on held-out classes "
            f"(standard error {100 * drop.standard_error:.2f}, {self.method}, {self.folds} folds)."
            for drop in self.drops
        ]
        return [*said, self.suggestion()]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        tables = {"attributes": [a._asdict() for a in self.attributes], "drops": [d._asdict() for d in self.drops]}
        return {**asdict(self), **tables, "suggestion": self.suggestion()}


def inspect_attributes(
    task: Task, names: Sequence[Any] | Array | None = None, *, method: str = "prototypes", folds: int = 3, seed: int = 0
) -> Report:
    """How visible each attribute is on held-out seen classes, and what leaving the least visible out does there."""
    find_method(method)
    if folds < 2:
        raise UserError(f"folds={folds} shows no spread over classes. Give at least 2.")
    tasks = task.folds(folds, seed)
    auc, correlation = _mean_visibility(tasks)
    called = [f"attribute {j}" for j in range(len(auc))] if names is None else [str(name) for name in names]
    order = np.lexsort((-correlation, -auc))
    table = [Attribute(called[j], int(j), float(auc[j]), float(correlation[j])) for j in order]
    return Report(task.name, method, folds, table, _drops(tasks, method, seed))


def visibility(task: Task, ridge: float = 1.0) -> tuple[Array, Array]:
    """(k,) area under the curve and (k,) correlation for the task's unseen classes, NaN where these do not differ.

    W = (sum_c X_c'X_c / n_c + ridge t I)^-1 sum_c mean_c a_c', t the mean eigenvalue: every class counts alike.
    """
    rows, truth = np.concatenate([task.X, task.later]), np.concatenate([task.truth, task.later_truth])
    hidden = np.isin(truth, task.unseen_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = ArrayRows(task.X)
        metric = learn_metric(given, task.y, len(task.semantics), root=is_nonnegative(given))
    X = np.concatenate([part for (part,) in ArrayRows(rows).visit(lambda chunk: (apply_metric(metric, chunk),))])
    A = np.asarray(task.semantics, dtype=np.float64)
    trained, labels = X[~hidden], truth[~hidden]
    weights = (1 / np.bincount(labels, minlength=len(A)).clip(1))[labels].astype(X.dtype)[:, None]
    gram = np.asarray(trained.T @ (weights * trained), dtype=np.float64)
    centered = A - A[np.unique(labels)].mean(axis=0)
    cross = (weights * trained).T @ centered.astype(X.dtype)[labels]
    W = solve_ridge(gram, cross, ridge)
    return compare_visibility(X[hidden] @ W.astype(X.dtype), A, truth[hidden])


def compare_visibility(predicted: Array, A: Array, truth: Array) -> tuple[Array, Array]:
    """Of predictions (n, k) for samples of known class: area under the curve and correlation of each attribute."""
    classes, at = np.unique(truth, return_inverse=True)
    values = A[classes]
    means = np.stack([predicted[at == c].mean(axis=0) for c in range(len(classes))]).astype(np.float64)
    high = values > np.median(values, axis=0)
    left, right = values - values.mean(axis=0), means - means.mean(axis=0)
    scale = np.sqrt((left**2).sum(axis=0) * (right**2).sum(axis=0))
    correlation = np.divide((left * right).sum(axis=0), scale, out=np.full_like(scale, np.nan), where=scale > 0)
    return area_under_curve(predicted, high[at]), correlation


def _mean_visibility(tasks: Sequence[Task]) -> tuple[Array, Array]:
    """Means over the folds in which hidden classes differ; 0.5 and 0, which say nothing, where they never do."""
    found = [visibility(fold) for fold in tasks]
    return _mean([auc for auc, _ in found], 0.5), _mean([correlation for _, correlation in found], 0.0)


def _mean(columns: list[Array], nothing: float) -> Array:
    values = np.stack(columns)
    known = np.isfinite(values)
    total = np.where(known, values, 0).sum(axis=0)
    return np.where(known.any(axis=0), total / known.sum(axis=0).clip(1), nothing)


def _drops(tasks: Sequence[Task], method: str, seed: int) -> list[Drop]:
    """The gain of each share of attributes left out, paired over the folds."""
    k = tasks[0].semantics.shape[1]
    counts = sorted({round(share * k) for share in _SHARES} - {0, k})
    if any(len(fold.seen_classes) < 2 for fold in tasks):
        return []
    whole: list[float] = []
    without: dict[int, list[float]] = {count: [] for count in counts}
    for fold in tasks:
        auc, correlation = _mean_visibility(fold.folds(min(2, len(fold.seen_classes)), seed))
        worst = np.lexsort((correlation, auc))
        whole.append(score_of(fold, method, {}, seed))
        for count in counts:
            kept = np.setdiff1d(np.arange(k), worst[:count])
            without[count].append(_score(replace(fold, semantics=fold.semantics[:, kept]), method, seed))
    gains = {count: paired_gain(scores, whole) for count, scores in without.items()}
    return [Drop(count, gain.mean, gain.standard_error, gain.is_clear) for count, gain in gains.items()]


def _score(task: Task, method: str, seed: int) -> float:
    """0 where what is left does not describe the classes any more."""
    try:
        return score_of(task, method, {}, seed)
    except UserError:
        return 0.0
