"""SHOW: a map of the unlabeled samples, with each class name at the mean of its samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from superproto.reporting.charts.charts import scatter_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.verdict import UNCERTAIN
from superproto.samples.chunks import Array

# Most points on a page, which would otherwise open slowly. Of more samples, a part evenly spread over labels is drawn.
MAX_POINTS = 1500
_MAX_NAMES = 30


def draw_pool_map(
    model: Any, rows: Array, label: Array, uncertainty: Array, names: Sequence[str], ids: Sequence[str]
) -> dict[str, Any]:
    """Draw the samples. Return also how many are drawn, and the share of the class differences that the axes show."""
    drawn = evenly_by_label(label, MAX_POINTS)
    # The space in which the model compares samples; whitened if the model whitens.
    points, share = project(np.asarray(model._prepare(rows), dtype=np.float64), label)
    hovers = [f"{ids[i]}: {names[label[i]]}, uncertainty {percent(uncertainty[i])}" for i in drawn]
    sizes = np.bincount(label, minlength=len(names))
    named = [c for c in np.argsort(-sizes, kind="stable")[:_MAX_NAMES] if sizes[c]]
    chart = scatter_chart(
        points[drawn, 0], points[drawn, 1], label[drawn].tolist(), [], hovers=hovers, with_legend=False,
        hollow=(uncertainty[drawn] > UNCERTAIN).tolist(), width=1080, height=620, size=3.5,
        alt="Map of the unlabeled samples",
        notes=[(*points[label == c].mean(axis=0), names[c]) for c in named],
    )  # fmt: skip
    return {"chart": chart, "n_drawn": len(drawn), "n_samples": len(label), "share": share}


def project(rows: Array, label: Array) -> tuple[Array, float]:
    """Project (n, 2) on the principal axes of the class means; return also the share of their variance on these axes.

    With fewer than three classes the axes are those of the samples.
    """
    means = np.stack([rows[label == c].mean(axis=0) for c in np.unique(label)])
    basis = means if len(means) > 2 else rows
    _, values, axes = np.linalg.svd(basis - basis.mean(axis=0), full_matrices=False)
    axes = axes[:2] * np.where(axes[:2].sum(axis=1, keepdims=True) < 0, -1, 1)
    points = (rows - rows.mean(axis=0)) @ axes.T
    if points.shape[1] < 2:
        points = np.hstack([points, np.zeros((len(points), 2 - points.shape[1]))])
    total = float((values**2).sum())
    return points, float((values[:2] ** 2).sum()) / total if total else 1.0


def evenly_by_label(label: Array, n: int) -> Array:
    """Return at most n row numbers: the first samples of each class, with class sizes as equal as possible."""
    if len(label) <= n:
        return np.arange(len(label))
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], label[order])
    rank = np.empty(len(label), dtype=np.int64)
    rank[order] = np.arange(len(label)) - starts
    return np.sort(np.lexsort((label, rank))[:n])
