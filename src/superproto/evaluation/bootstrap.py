"""SCORE: bootstrap intervals of scores, over samples or over classes, and paired differences of methods."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.metrics import Floats, Labels, correct_answers, generalized_scores, per_class_accuracy, seen_samples
from superproto.samples.chunks import Array

_MOST_DRAWN = 2**21  # Indices in memory at a time: 16 MiB, whatever the size of a class.


class Interval(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float


class Difference(NamedTuple):
    """The score of the second method minus that of the first, its interval, and a two-sided bootstrap p-value."""

    difference: float
    low: float
    high: float
    p_value: float


def bootstrap_scores(
    y_true: Labels,
    predictions: Sequence[Labels],
    *,
    seen: Labels | None = None,
    over: str = "samples",
    repeats: int = 1000,
    seed: int = 0,
) -> Floats:
    """Return (methods, repeats) scores of resampled data, with the same draws for every method.

    Parameters
    ----------
    y_true : (N,)
    predictions : sequence of (N,)
        The predicted classes of each method.
    seen : optional
        The seen classes. The score is then the harmonic mean; without them it is the per-class accuracy.
    over : {"samples", "classes"}, default="samples"
        What is drawn with replacement: the samples of each class (uncertainty for these classes), or the classes
        (uncertainty for other classes).
    repeats : int, default=1000
        Number of draws. Larger: more precise and slower.
    seed : int, default=0
    """
    truth = np.asarray(y_true)
    right = np.array([correct_answers(truth, answers) for answers in predictions], dtype=float)
    is_seen = None if seen is None else seen_samples(truth, seen)
    return bootstrap_correctness(truth, right, is_seen=is_seen, over=over, repeats=repeats, seed=seed)


def bootstrap_correctness(
    truth: Array,
    right: Floats,
    *,
    is_seen: Array | None = None,
    over: str = "samples",
    repeats: int = 1000,
    seed: int = 0,
) -> Floats:
    """Return the scores of :func:`bootstrap_scores` from the correctness of each sample.

    `right` (methods, N) is 1 for a correct label and 0 for a wrong one, or a mean over seeds. `is_seen` (N,) marks
    samples of seen classes.
    """
    if over not in ("samples", "classes"):
        raise UserError(f"over={over!r} is not known. Give 'samples' or 'classes'.")
    if repeats < 1 or not len(right):
        raise UserError(f"repeats={repeats} with {len(right)} methods draws nothing. Give at least one of each.")
    rng = np.random.default_rng(seed)
    draw = _redraw_samples if over == "samples" else _redraw_classes
    if is_seen is None:
        return draw(truth, right, repeats, rng)
    u = draw(truth[~is_seen], right[:, ~is_seen], repeats, rng)
    s = draw(truth[is_seen], right[:, is_seen], repeats, rng)
    return np.divide(2 * u * s, u + s, out=np.zeros_like(u), where=u + s > 0)


def bootstrap_interval(y_true: Labels, y_pred: Labels, *, level: float = 0.95, **how: Any) -> Interval:
    """Return the percentile interval of the score. Further arguments are those of :func:`bootstrap_scores`."""
    return Interval(*_percentiles(bootstrap_scores(y_true, [y_pred], **how)[0], level))


def paired_difference(y_true: Labels, first: Labels, second: Labels, *, level: float = 0.95, **how: Any) -> Difference:
    """Return the score of `second` minus that of `first`, with the interval from the same draws.

    Further arguments are those of :func:`bootstrap_scores`.
    """
    seen = how.get("seen")
    if seen is None:
        scores = [per_class_accuracy(y_true, answers) for answers in (first, second)]
    else:
        scores = [generalized_scores(y_true, answers, seen).harmonic_mean for answers in (first, second)]
    draws = bootstrap_scores(y_true, [first, second], **how)
    return difference_of(scores[1] - scores[0], draws[0], draws[1], level)


def difference_of(difference: float, first: Floats, second: Floats, level: float = 0.95) -> Difference:
    """Return a difference of two scores with its interval and p-value, from draws of the same data."""
    change = second - first
    p_value = min(1.0, 2 * min(float((change <= 0).mean()), float((change >= 0).mean())))
    return Difference(difference, *_percentiles(change, level), p_value)


def _redraw_samples(truth: Array, right: Floats, repeats: int, rng: np.random.Generator) -> Floats:
    classes = np.unique(truth)
    total = np.zeros((len(right), repeats))
    for c in classes:
        own = right[:, truth == c]
        at_once = max(1, _MOST_DRAWN // own.shape[1])
        for start in range(0, repeats, at_once):
            drawn = rng.integers(own.shape[1], size=(min(at_once, repeats - start), own.shape[1]))
            total[:, start : start + at_once] += own @ _times_drawn(drawn).T / own.shape[1]
    return total / len(classes)


def _times_drawn(drawn: npt.NDArray[np.int64]) -> Floats:
    """Return (repeats, n) how often each sample was drawn, so that one matrix product scores all methods."""
    repeats, n = drawn.shape
    flat = (drawn + n * np.arange(repeats)[:, None]).ravel()
    return np.bincount(flat, minlength=repeats * n).reshape(repeats, n).astype(np.float64)


def _redraw_classes(truth: Array, right: Floats, repeats: int, rng: np.random.Generator) -> Floats:
    classes, number = np.unique(truth, return_inverse=True)
    accuracy = np.array([np.bincount(number, row) for row in right]) / np.bincount(number)
    drawn: Floats = accuracy[:, rng.integers(len(classes), size=(repeats, len(classes)))].mean(axis=2)
    return drawn


def _percentiles(draws: Floats, level: float) -> tuple[float, float]:
    if not 0 < level < 1:
        raise UserError(f"level={level} must be between 0 and 1.")
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


class Correctness(NamedTuple):
    """For each sample (N,): whether its label is correct, the number of its class, and whether that class is seen."""

    right: npt.NDArray[np.bool_]
    classes: npt.NDArray[np.intp]
    seen: npt.NDArray[np.bool_]


def pack_correctness(task: Task, answers: npt.NDArray[Any]) -> dict[str, Any]:
    """Return {"bits": base64, "unseen": class sizes, "seen": class sizes}: which samples were labeled correctly."""
    known = task.expected >= 0
    truth, right = task.expected[known], (task.expected == answers)[known]
    seen = np.isin(truth, task.seen_classes)
    order = np.lexsort([truth, seen])
    sizes = [np.unique(truth[kind], return_counts=True)[1].tolist() for kind in (~seen, seen)]
    bits = base64.b64encode(np.packbits(right[order]).tobytes()).decode("ascii")
    return {"bits": bits, "unseen": sizes[0], "seen": sizes[1]}


def unpack_correctness(content: Any) -> Correctness:
    """Read the result of :func:`pack_correctness`; raise ValueError for other content."""
    if not isinstance(content, dict) or not {"bits", "unseen", "seen"} <= set(content):
        raise ValueError("the correctness of the samples is missing")
    sizes = [content["unseen"], content["seen"]]
    if not all(isinstance(part, list) and all(type(n) is int and n > 0 for n in part) for part in sizes):
        raise ValueError("class sizes are not whole numbers above 0")
    counts = np.array([*sizes[0], *sizes[1]], dtype=np.int64)
    try:
        content_bytes = np.frombuffer(base64.b64decode(str(content["bits"]), validate=True), np.uint8)
    except binascii.Error as error:
        raise ValueError(f"bits are not base64 ({error})") from None
    if len(content_bytes) != -(-int(counts.sum()) // 8):
        raise ValueError(f"{len(content_bytes)} bytes of bits do not fit {int(counts.sum())} samples")
    right = np.unpackbits(content_bytes, count=int(counts.sum())).astype(bool)
    classes = np.repeat(np.arange(len(counts)), counts)
    return Correctness(right, classes, classes >= len(sizes[0]))
