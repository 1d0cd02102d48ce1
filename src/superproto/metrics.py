"""SCORE: metrics of zero-shot recognition. Every function takes arrays and returns fractions between 0 and 1.

Accuracy is the mean of the accuracies of the classes that occur in the truth (Xian et al. 2018). A class with ten
samples weighs as much as one with a thousand. `superproto.evaluation.bootstrap` computes confidence intervals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from superproto.errors import UserError
from superproto.samples.chunks import Array

Floats = npt.NDArray[np.float64]
Labels = npt.ArrayLike


class GeneralizedScores(NamedTuple):
    """Scores of the generalized setting, in which every class is a candidate.

    ``unseen`` and ``seen`` are the per-class accuracies of the two kinds of classes; ``harmonic_mean`` combines them.
    """

    unseen: float
    seen: float
    harmonic_mean: float


def correct_answers(y_true: Labels, y_pred: Labels) -> npt.NDArray[np.bool_]:
    """Return the (N,) mask of the samples that are predicted correctly."""
    truth, answers = _pair(y_true, y_pred)
    return np.asarray(truth == answers)


def seen_samples(truth: Labels, seen: Labels) -> npt.NDArray[np.bool_]:
    """Return the (N,) mask of the samples whose true class is seen. Seen and unseen classes must both occur."""
    given = np.asarray(seen)
    is_seen = np.isin(truth, np.flatnonzero(given) if given.dtype == bool else given)
    if not is_seen.any() or is_seen.all():
        kind = "seen" if not is_seen.any() else "unseen"
        raise UserError(
            f"y_true has no sample of a{'n' if kind == 'unseen' else ''} {kind} class, so there is no harmonic mean. "
            "Give samples of seen and of unseen classes."
        )
    return is_seen


def accuracy_by_class(y_true: Labels, y_pred: Labels) -> tuple[Array, Floats]:
    """Return the classes that occur in the truth, and the accuracy of each."""
    correct = correct_answers(y_true, y_pred).astype(float)
    classes, number = np.unique(np.asarray(y_true), return_inverse=True)
    return classes, _class_means(correct, number, len(classes))


def per_class_accuracy(y_true: Labels, y_pred: Labels) -> float:
    """Return the mean accuracy over the classes that occur in y_true.

    ``(1/|C|) Σ_c (correct samples of c) / (samples of c)``.

    >>> per_class_accuracy([0, 0, 0, 1], [0, 0, 1, 1])
    0.8333333333333333
    """
    return float(accuracy_by_class(y_true, y_pred)[1].mean())


def top_k_accuracy(y_true: Labels, scores: npt.ArrayLike, k: int = 5, *, classes: Labels | None = None) -> float:
    """Return the mean over classes of the share of samples whose class has one of the k highest scores.

    Column j of `scores` (N, C) belongs to class j, or to classes[j]. Among equal scores the first column wins.

    >>> top_k_accuracy([0, 1], [[0.5, 0.3, 0.2], [0.6, 0.3, 0.1]], k=2)
    1.0
    """
    truth, table = _scored(y_true, scores, classes)
    if not 1 <= k <= table.shape[1]:
        raise UserError(f"k={k} must be 1 to {table.shape[1]}, the number of classes that have a score.")
    own = table[np.arange(len(truth)), truth][:, None]
    earlier = np.arange(table.shape[1]) < truth[:, None]
    place = ((table > own) | ((table == own) & earlier)).sum(axis=1)
    present, number = np.unique(truth, return_inverse=True)
    return float(_class_means((place < k).astype(float), number, len(present)).mean())


def harmonic_mean(u: float, s: float) -> float:
    """Return the harmonic mean 2us / (u + s) of two accuracies; 0 when both are 0.

    >>> harmonic_mean(0.5, 1.0)
    0.6666666666666666
    """
    return float(2 * u * s / (u + s)) if u + s > 0 else 0.0


def generalized_scores(y_true: Labels, y_pred: Labels, seen: Labels) -> GeneralizedScores:
    """Return the accuracy on unseen classes, on seen classes, and their harmonic mean.

    `seen` lists the seen classes, or is a mask over the class numbers. Both kinds must occur in y_true.

    >>> generalized_scores([0, 0, 1, 1], [0, 0, 1, 0], seen=[0])
    GeneralizedScores(unseen=0.5, seen=1.0, harmonic_mean=0.6666666666666666)
    """
    truth, answers = _pair(y_true, y_pred)
    is_seen = seen_samples(truth, seen)
    u = per_class_accuracy(truth[~is_seen], answers[~is_seen])
    s = per_class_accuracy(truth[is_seen], answers[is_seen])
    return GeneralizedScores(u, s, harmonic_mean(u, s))


def seen_unseen_curve(y_true: Labels, scores: npt.ArrayLike, seen: Labels) -> tuple[Floats, Floats, Floats]:
    """Return every pair (U, S) that calibrated stacking can reach: argmax_c f_c − γ [c seen], for γ from −∞ to ∞.

    Returns the biases (T,), ascending, and U and S (T + 1,). Entry t of U and S holds for γ between biases t-1 and t.
    The prediction of a sample changes once, at γ = (best seen score) − (best unseen score), so the curve is exact.
    """
    truth, table = _scored(y_true, scores, None)
    mask = _seen_mask(seen, table.shape[1])
    is_seen = seen_samples(truth, np.flatnonzero(mask))
    columns_seen, columns_unseen = np.flatnonzero(mask), np.flatnonzero(~mask)
    best_seen = columns_seen[table[:, mask].argmax(axis=1)]
    best_unseen = columns_unseen[table[:, ~mask].argmax(axis=1)]
    rows = np.arange(len(truth))
    bias, step = np.unique(table[rows, best_seen] - table[rows, best_unseen], return_inverse=True)
    weight = _class_weights(truth, is_seen)
    lost = np.bincount(step, weight * (is_seen & (best_seen == truth)), len(bias))
    won = np.bincount(step, weight * (~is_seen & (best_unseen == truth)), len(bias))
    u = np.concatenate([[0.0], np.cumsum(won)])
    s = np.concatenate([np.cumsum(lost[::-1])[::-1], [0.0]])
    return bias, u, s


def ausuc(y_true: Labels, scores: npt.ArrayLike, seen: Labels) -> float:
    """Return the area under the seen-unseen curve (Chao et al. 2016), by trapezoids over the exact curve.

    `y_true` holds column numbers of `scores`. `seen` holds column numbers, or is a mask over the columns.
    """
    _, u, s = seen_unseen_curve(y_true, scores, seen)
    return float(np.sum(np.diff(u) * (s[1:] + s[:-1]) / 2))


def bias_for_harmonic_mean(y_true: Labels, scores: npt.ArrayLike, seen: Labels) -> float:
    """Return the bias γ at which the harmonic mean is highest: the middle of the interval of the best values.

    Use it on validation classes only. Choosing the bias on test classes would use their labels.
    """
    bias, u, s = seen_unseen_curve(y_true, scores, seen)
    h = np.divide(2 * u * s, u + s, out=np.zeros_like(u), where=u + s > 0)
    finite = bias[np.isfinite(bias)]
    low, high = (finite[0], finite[-1]) if len(finite) else (0.0, 0.0)
    edges = np.clip(np.concatenate([[-np.inf], bias, [np.inf]]), low - 1, high + 1)
    best = int(h.argmax())
    return float((edges[best] + edges[best + 1]) / 2)


def predict_with_bias(scores: npt.ArrayLike, seen: Labels, bias: float) -> npt.NDArray[np.intp]:
    """Predict by calibrated stacking: argmax_c f_c − bias [c seen]. A larger bias favors unseen classes."""
    table = np.asarray(scores, dtype=float)
    answers: npt.NDArray[np.intp] = np.where(_seen_mask(seen, table.shape[1]), table - bias, table).argmax(axis=1)
    return answers


def confusion(y_true: Labels, y_pred: Labels, classes: Labels | None = None) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return the classes, and the matrix of how many samples of class i (row) were predicted as class j (column)."""
    truth, answers = _pair(y_true, y_pred)
    known = np.unique(np.concatenate([truth, answers])) if classes is None else np.asarray(classes)
    order = np.argsort(known, kind="stable")
    places = [order[_find(known[order], labels)] for labels in (truth, answers)]
    counts = np.bincount(places[0] * len(known) + places[1], minlength=len(known) ** 2)
    return known, counts.reshape(len(known), len(known))


def expected_calibration_error(y_true: Labels, probabilities: npt.ArrayLike, bins: int = 15) -> float:
    """Return the expected calibration error (Guo et al. 2017): how far confidence and accuracy differ.

    ``Σ_b (n_b / N) |accuracy_b − confidence_b|`` over `bins` equal intervals of the highest probability.
    """
    truth, table = _scored(y_true, probabilities, None)
    if bins < 1:
        raise UserError(f"bins={bins} must be at least 1.")
    if table.min() < -1e-6 or table.max() > 1 + 1e-6:
        raise UserError(
            f"probabilities range from {table.min():.3g} to {table.max():.3g}. Give predict_proba's output."
        )
    confidence = table.max(axis=1)
    correct = (table.argmax(axis=1) == truth).astype(float)
    box = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    return float(np.abs(np.bincount(box, correct - confidence, bins)).sum() / len(truth))


def area_under_curve(scores: npt.ArrayLike, positive: npt.ArrayLike) -> Floats:
    """Return the area under the ROC curve of each column of `scores`; NaN where `positive` marks all or none.

    ``P(s⁺ > s⁻) + P(s⁺ = s⁻) / 2``, computed from ranks.

    >>> float(area_under_curve([0.1, 0.4, 0.35, 0.8], [False, False, True, True]))
    0.75
    """
    marked = np.asarray(positive, dtype=bool)
    ranks = np.where(marked, rankdata(scores, axis=0), 0).sum(axis=0)
    n, m = marked.sum(axis=0), (~marked).sum(axis=0)
    above = np.asarray(ranks - n * (n + 1) / 2, dtype=np.float64)
    area: Floats = np.divide(above, n * m, out=np.full(above.shape, np.nan), where=n * m > 0)
    return area


def _class_means(values: Floats, number: Array, n: int) -> Floats:
    return np.bincount(number, values, n) / np.bincount(number, minlength=n)


def _class_weights(truth: Array, is_seen: Array) -> Floats:
    """Return 1 / (samples of the class · classes of its kind): weighted sums of correct samples are then S and U."""
    _, number, counts = np.unique(truth, return_inverse=True, return_counts=True)
    kinds = np.where(is_seen, len(np.unique(truth[is_seen])), len(np.unique(truth[~is_seen])))
    return np.asarray(1.0 / (counts[number] * kinds), dtype=np.float64)


def _pair(y_true: Labels, y_pred: Labels) -> tuple[Array, Array]:
    truth, answers = np.asarray(y_true), np.asarray(y_pred)
    if truth.ndim != 1 or truth.shape != answers.shape:
        raise UserError(f"y_true has shape {truth.shape} and y_pred {answers.shape}. Give one label for each sample.")
    if not len(truth):
        raise UserError("y_true is empty. There is nothing to score.")
    names = [array.dtype.kind in "OUST" for array in (truth, answers)]
    if names[0] != names[1]:
        raise UserError(
            f"y_true holds {truth.dtype} and y_pred {answers.dtype}. Give both as names, or both as numbers."
        )
    if not names[0] and (truth < 0).any():
        raise UserError(f"y_true is unknown (-1) for {int((truth < 0).sum())} samples. Score those with a known class.")
    return truth, answers


def _scored(y_true: Labels, scores: npt.ArrayLike, classes: Labels | None) -> tuple[npt.NDArray[np.intp], Floats]:
    truth, table = np.asarray(y_true), np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or truth.shape != table.shape[:1] or not table.size:
        raise UserError(f"y_true has shape {truth.shape}, scores {table.shape}. Give a row for each sample.")
    # -inf is a valid score: the class is not a candidate. A row needs at least one finite score.
    invalid = (np.isnan(table) | np.isposinf(table)).any(axis=1) | ~np.isfinite(table).any(axis=1)
    if invalid.any():
        raise UserError(f"scores has {int(invalid.sum())} rows with NaN, inf, or no finite score.")
    if classes is not None:
        known = np.asarray(classes)
        order = np.argsort(known, kind="stable")
        truth = order[_find(known[order], truth)]
    if truth.dtype.kind not in "iu" or truth.min() < 0 or truth.max() >= table.shape[1]:
        raise UserError(f"y_true must hold columns of scores, 0 to {table.shape[1] - 1}. Give classes= to use names.")
    return truth.astype(np.intp), table


def _find(ordered: Array, labels: Array) -> npt.NDArray[np.intp]:
    place = np.searchsorted(ordered, labels).clip(max=len(ordered) - 1)
    unknown = ordered[place] != labels
    if unknown.any():
        raise UserError(f"label {labels[unknown][0]!r} is not among the {len(ordered)} classes given.")
    return place


def _seen_mask(seen: Labels, columns: int) -> npt.NDArray[np.bool_]:
    given = np.asarray(seen)
    if given.dtype == bool and given.shape != (columns,):
        raise UserError(f"seen is a mask of shape {given.shape}, but scores has {columns} columns.")
    mask = given if given.dtype == bool else np.isin(np.arange(columns), given)
    if not mask.any() or mask.all():
        raise UserError(f"seen marks {int(mask.sum())} of {columns} classes. There must be seen and unseen ones.")
    return mask
