"""RESEARCH: compare Table VI with the paper: which variant is better or slower there and here, and why they differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from superproto.experiments.paper.published import DATASETS, published_rows
from superproto.experiments.plans import Ablation, Data, Plan, Variant
from superproto.experiments.records import Record, Results

# Times whose ratio is smaller count as equal.
_SAME_TIME = 1.1
_NAMES = {"accuracy": "per_class_accuracy", "seconds": "cpu_seconds"}


@dataclass(frozen=True)
class Direction:
    """The difference of a variant from the paper's choice: the paper's mean and range, ours on one data set, a reason.

    Differences are percentage points of accuracy, or ratios of times. `agrees` is None if our difference is not
    significant and the paper's range allows that.
    """

    ablation: str
    measure: str
    variant: str
    reference: str
    data: str
    whitened: bool
    published: float
    published_range: tuple[float, float]
    here: float
    agrees: bool | None
    reason: str


def directions(plan: Plan, results: Results) -> list[Direction]:
    """Return every comparison of Table VI that was run here."""
    known = results.tasks()
    return [
        found
        for ablation in plan.ablations
        for variant in ablation.variants[:-1]
        for measure in _NAMES
        for data in plan.data
        if data.name in known and data.allows("hpl1")
        for whitened in (False, True)
        if (found := _compare(results, ablation, variant, measure, data, whitened)) is not None
    ]


def _compare(
    results: Results, ablation: Ablation, variant: Variant, measure: str, data: Data, whitened: bool
) -> Direction | None:
    reference = ablation.variants[-1]
    keys = [(data.name, one.method, {**one.params, "whiten": whitened}) for one in (variant, reference)]
    runs = [results.runs(*one) for one in keys]
    ours = [results.value(_NAMES[measure], *one) for one in keys]
    if ours[0] is None or ours[1] is None:
        return None
    paper = _published_differences(ablation.index, variant.row, reference.row, measure)
    span = (min(paper), max(paper))
    if measure == "accuracy":
        mean, none = float(np.mean(paper)), 0.0
        here = 100 * (ours[0].mean - ours[1].mean)
        width = 100 * max(ours[0].interval, ours[1].interval)
        level, possible = abs(here) <= width, (here - width, here + width)
        why = _why_level(width, *runs) if level else _why_better(*runs)
    else:
        mean, none = float(np.exp(np.mean(np.log(paper)))), 1.0
        here = ours[0].mean / ours[1].mean
        level, possible = abs(np.log(here)) < np.log(_SAME_TIME), (here / _SAME_TIME, here * _SAME_TIME)
        why = _why_slower(*runs)
    same = bool(np.sign(here - none) == np.sign(mean - none))
    # An insignificant difference neither agrees nor disagrees, unless all differences of the paper are large.
    overlaps = span[0] <= possible[1] and possible[0] <= span[1]
    agrees = (None if overlaps else False) if level else same
    return Direction(
        ablation.index, measure, variant.row, reference.row, data.title, whitened, mean, span, here, agrees, why
    )  # fmt: skip


def _published_differences(index: str, variant: str, reference: str, measure: str) -> list[float]:
    """Return the paper's difference on each data set: percentage points of accuracy, or a ratio of times."""
    rows = {r.method: r.values for r in published_rows("VI") if r.ablation == index and r.measure == measure}
    pairs = [(rows[variant][name], rows[reference][name]) for name in DATASETS[:4]]
    return [a - b if measure == "accuracy" else a / b for a, b in pairs]


def _why_level(width: float, *runs: Sequence[Record]) -> str:
    iterations = [_mean(found, "sweeps") for found in runs]
    return (
        f"Both end within the interval of one run, ± {width:.1f} points, after {iterations[0]:.0f} iterations against "
        f"{iterations[1]:.0f}."
    )


def _why_better(variant: Sequence[Record], reference: Sequence[Record]) -> str:
    """State the number of empty classes, if there are any; else the top-5 accuracy and the number of iterations."""
    empty = [np.mean([_empty_classes(record) for record in runs]) for runs in (variant, reference)]
    if max(empty) > 0:
        return f"It leaves {empty[0]:.3g} unseen classes without a sample, the other {empty[1]:.3g}."
    five = [100 * _mean(runs, "top5") for runs in (variant, reference)]
    iterations = [_mean(runs, "sweeps") for runs in (variant, reference)]
    return (
        f"No class is left empty by either; the right class is among its first five for {five[0]:.1f} % of the samples "
        f"against {five[1]:.1f} %, after {iterations[0]:.0f} iterations against {iterations[1]:.0f}."
    )


def _why_slower(variant: Sequence[Record], reference: Sequence[Record]) -> str:
    """State the number of iterations, and the CPU seconds of each."""
    iterations = [_mean(runs, "sweeps") for runs in (variant, reference)]
    each = [_mean(runs, "cpu_seconds") / max(n, 1) for runs, n in zip((variant, reference), iterations)]
    return (
        f"It takes {iterations[0]:.0f} iterations against {iterations[1]:.0f}, "
        f"at {each[0]:.2g} s each against {each[1]:.2g} s, "
        "start included."
    )


def _mean(runs: Sequence[Record], score: str) -> float:
    return float(np.mean([record.scores.get(score, np.nan) for record in runs]))


def _empty_classes(record: Record) -> int:
    """Return the number of empty classes from a run's warning 'n of m unseen classes received no sample'."""
    found = (re.match(r"(\d+) of \d+ .*received no sample", note) for note in record.notes)
    return next((int(match.group(1)) for match in found if match), 0)
