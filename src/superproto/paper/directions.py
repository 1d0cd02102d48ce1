"""Table VI's directions: which variant is better, which is slower, in the paper and here; and why where they differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .plan import Ablation, Data, Plan, Variant
from .published import DATASETS, rows_of
from .results import Results

__all__ = ["Direction", "directions"]

_NAMES = {"accuracy": "per_class_accuracy", "seconds": "cpu_seconds"}


@dataclass(frozen=True)
class Direction:
    """A variant against the paper's choice: the paper's mean difference, ours on one data set, what explains it.

    Differences are in points for accuracy and as a factor for time; `agrees` is None where ours is no difference.
    """

    ablation: str
    measure: str
    variant: str
    reference: str
    data: str
    whitened: bool
    published: float
    here: float
    agrees: bool | None
    says: str


def directions(plan: Plan, results: Results) -> list[Direction]:
    """Every comparison of Table VI that was run here."""
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
    ours = [_value(results, data, one, measure, whitened) for one in (variant, reference)]
    if ours[0] is None or ours[1] is None:
        return None
    paper = _published_difference(ablation.index, variant.row, reference.row, measure)
    if measure == "accuracy":
        here = 100 * (ours[0].mean - ours[1].mean)
        width = 100 * max(ours[0].interval, ours[1].interval)
        level = abs(here) <= width
        why = f"{abs(here):.1f} points are inside the 95 % interval of ± {width:.1f}" if level else ""
    else:
        here = ours[0].mean / ours[1].mean
        level = abs(np.log(here)) < np.log(1.1)
        why = "less than a tenth apart" if level else ""
    agrees = None if level else (np.sign(here - (measure == "seconds")) == np.sign(paper - (measure == "seconds")))
    why = why or _why(results, data, variant, reference, whitened)
    return Direction(
        ablation.index, measure, variant.row, reference.row, data.title, whitened, paper, here,
        None if agrees is None else bool(agrees), why,
    )  # fmt: skip


def _published_difference(index: str, variant: str, reference: str, measure: str) -> float:
    rows = {r.method: r.values for r in rows_of("VI") if r.ablation == index and r.measure == measure}
    pairs = [(rows[variant][name], rows[reference][name]) for name in DATASETS[:4]]
    if measure == "accuracy":
        return float(np.mean([a - b for a, b in pairs]))
    return float(np.exp(np.mean([np.log(a / b) for a, b in pairs])))


def _value(results: Results, data: Data, variant: Variant, measure: str, whitened: bool):  # type: ignore[no-untyped-def]
    return results.value(_NAMES[measure], data.name, variant.method, {**variant.params, "whiten": whitened})


def _why(results: Results, data: Data, variant: Variant, reference: Variant, whitened: bool) -> str:
    """The measurement behind a difference: sweeps and seconds for a sweep, and what the fits warned of."""
    words = []
    for one in (variant, reference):
        records = results.runs(data.name, one.method, {**one.params, "whiten": whitened})
        sweeps = float(np.mean([r.scores.get("sweeps", np.nan) for r in records]))
        seconds = float(np.mean([r.scores.get("cpu_seconds", np.nan) for r in records]))
        warned = next(
            (note.partition(" (")[0] for r in records for note in r.notes if "received no sample" in note), ""
        )
        words.append(
            f"{one.row}: {sweeps:.0f} sweeps, {seconds / max(sweeps, 1):.2g} s each" + (f", {warned}" if warned else "")
        )
    return "; ".join(words)
