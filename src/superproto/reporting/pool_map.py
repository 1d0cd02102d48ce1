"""SHOW the unlabeled samples as a map: samples that look alike lie together, each class at the mean of its samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from superproto.reporting.charts.charts import scatter_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.verdict import UNCERTAIN
from superproto.samples.chunks import Array

# A page with more points is slow to open; of more samples, a part is drawn, evenly spread over the labels.
MAX_POINTS = 1500
_MAX_NAMES = 30


def draw_pool_map(
    model: Any, rows: Array, label: Array, uncertainty: Array, names: Sequence[str], ids: Sequence[str]
) -> dict[str, Any]:
    """A chart of the samples, how many are drawn, and how much of the differences between classes two axes show."""
    drawn = evenly_by_label(label, MAX_POINTS)
    # The space in which every method compares samples: whitened where the model whitens.
    points, share = project(np.asarray(model._prepare(rows), dtype=np.float64), label)
    hovers = [f"{ids[i]}: {names[label[i]]}, uncertainty {percent(uncertainty[i])}" for i in drawn]
    sizes = np.bincount(label, minlength=len(names))
    named = [c for c in np.argsort(-sizes, kind="stable")[:_MAX_NAMES] if sizes[c]]
    chart = scatter_chart(
        points[drawn, 0], points[drawn, 1], label[drawn].tolist(), [], hovers=hovers, with_legend=False,
        hollow=(uncertainty[drawn] > UNCERTAIN).tolist(), width=1080, height=620, size=3.5,
        says="Map of the unlabeled samples",
        notes=[(*points[label == c].mean(axis=0), names[c]) for c in named],
    )  # fmt: skip
    return {"chart": chart, "n_drawn": len(drawn), "n_samples": len(label), "share": share}


def project(rows: Array, label: Array) -> tuple[Array, float]:
    """(n, 2) on the principal axes of the class means, and the share of their variance on these axes.

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
    """At most about n of the samples: the first ones of each class, as many of each as possible."""
    if len(label) <= n:
        return np.arange(len(label))
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], label[order])
    rank = np.empty(len(label), dtype=np.int64)
    rank[order] = np.arange(len(label)) - starts
    return np.sort(np.lexsort((label, rank))[:n])
