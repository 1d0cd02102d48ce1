"""SCORE: measure the visibility of each attribute: how well features of held-out classes predict it.

A ridge regression from whitened features to attributes is trained on some classes and predicts others. An attribute
that is not visible in a picture ("is solitary", "eats fish") is not predictable there, even if it fits the training
classes. The effect of omitting the least visible attributes is also measured on held-out classes. For that, attributes
are ordered by the remaining classes, so that no class influences the choice that is scored on it.
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
    """The visibility of one attribute, as means over folds of held-out classes.

    ``auc`` is the area under the ROC curve that separates samples of classes above and below the attribute's median.
    ``correlation`` is the correlation over classes of the mean prediction and the given value.
    """

    name: str
    column: int
    auc: float
    correlation: float


class Drop(NamedTuple):
    """The gain on held-out classes from omitting the ``left_out`` least visible attributes, paired over the folds."""

    left_out: int
    gain: float
    standard_error: float
    is_clear: bool


@dataclass(frozen=True)
class Report:
    """The attributes, the most visible first, and the effect of omitting the last ones on the accuracy of a method."""

    task: str
    method: str
    folds: int
    attributes: list[Attribute]
    drops: list[Drop]

    def suggestion(self) -> str:
        """Return a sentence on which attributes to keep."""
        clear = [drop for drop in self.drops if drop.is_clear]
        if not clear:
            return f"Keep all {len(self.attributes)} attributes: omitting the least visible brings no clear gain."
        best = max(clear, key=lambda drop: drop.gain)
        return f"Try without the {best.left_out} least visible attributes of {len(self.attributes)}."

    def sentences(self) -> list[str]:
        """Return one sentence for each measured omission, then the suggestion."""
        measured = [
            f"Without the {drop.left_out} least visible: {100 * drop.gain:+.2f} points on held-out classes "
            f"(standard error {100 * drop.standard_error:.2f}, {self.method}, {self.folds} folds)."
            for drop in self.drops
        ]
        return [*measured, self.suggestion()]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as a dictionary for JSON."""
        tables = {"attributes": [a._asdict() for a in self.attributes], "drops": [d._asdict() for d in self.drops]}
        return {**asdict(self), **tables, "suggestion": self.suggestion()}


def inspect_attributes(
    task: Task, names: Sequence[Any] | Array | None = None, *, method: str = "prototypes", folds: int = 3, seed: int = 0
) -> Report:
    """Measure the visibility of each attribute on held-out seen classes, and the effect of omitting the worst.

    Parameters
    ----------
    task : Task
    names : sequence of length k, optional
        Names of the attributes.
    method : str
        The method whose accuracy without the least visible attributes is measured.
    folds : int, default=3
        Number of class-disjoint folds, at least 2. Larger: more reliable and slower.
    seed : int, default=0

    Returns
    -------
    Report
    """
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
    """Return (k,) areas under the curve and (k,) correlations for the task's unseen classes.

    Entries are NaN for attributes in which these classes do not differ. With t the mean eigenvalue, the regression is
    W = (sum_c X_c'X_c / n_c + ridge t I)^-1 sum_c mean_c a_c', so that every class has the same weight.
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
    """Return the area under the curve and the correlation of each attribute, from predictions (n, k)."""
    classes, at = np.unique(truth, return_inverse=True)
    values = A[classes]
    means = np.stack([predicted[at == c].mean(axis=0) for c in range(len(classes))]).astype(np.float64)
    high = values > np.median(values, axis=0)
    left, right = values - values.mean(axis=0), means - means.mean(axis=0)
    scale = np.sqrt((left**2).sum(axis=0) * (right**2).sum(axis=0))
    correlation = np.divide((left * right).sum(axis=0), scale, out=np.full_like(scale, np.nan), where=scale > 0)
    return area_under_curve(predicted, high[at]), correlation


def _mean_visibility(tasks: Sequence[Task]) -> tuple[Array, Array]:
    """Return means over the folds in which held-out classes differ; chance (0.5 and 0) if they never differ."""
    found = [visibility(fold) for fold in tasks]
    return _mean([auc for auc, _ in found], 0.5), _mean([correlation for _, correlation in found], 0.0)


def _mean(columns: list[Array], nothing: float) -> Array:
    values = np.stack(columns)
    known = np.isfinite(values)
    total = np.where(known, values, 0).sum(axis=0)
    return np.where(known.any(axis=0), total / known.sum(axis=0).clip(1), nothing)


def _drops(tasks: Sequence[Task], method: str, seed: int) -> list[Drop]:
    """Return the gain from omitting each share of attributes, paired over the folds."""
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
    """Return the score, or 0 if the remaining attributes do not describe the classes."""
    try:
        return score_of(task, method, {}, seed)
    except UserError:
        return 0.0
