"""SHOW: the summary of a fitted model in a notebook: samples of each class, and the most uncertain classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from superproto.samples.chunks import Array

_MAX_CLASSES = 10
_UNCERTAIN = 0.5
_CELL = Markup('<td style="text-align:{}">{}</td>')
_PAGE = Markup("<div><p><b>{}</b>: {}</p>{}<p><small>{}</small></p></div>")
_NEXT = "Labels: transduction_ · probabilities: label_distributions_ · new samples: predict(X) · save: save(path)"


def fit_as_html(model: Any) -> str:
    """Return a few lines and one table about a fitted model as HTML; names are escaped."""
    asked: Array | None = getattr(model, "_asked", None)
    table = Markup()
    if asked is not None and np.any(asked):
        table = _class_table(model, np.asarray(model.transduction_)[asked], _uncertainty(model, asked))
    return str(_PAGE.format(type(model).__name__, _sentence(model, asked), table, _NEXT))


def _sentence(model: Any, asked: Array | None) -> str:
    seen = int(np.sum(model.seen_classes_))
    classes = f"{len(model.classes_)} classes, {seen} with labeled samples and {len(model.classes_) - seen} without"
    if asked is None:
        return f"{classes}."
    if not np.any(asked):
        return f"{classes}; no sample was unlabeled."
    uncertain = int(np.sum(_uncertainty(model, asked) > _UNCERTAIN))
    return (
        f"{int(np.sum(asked))} samples labeled among {int(np.sum(model.allowed_))} candidates of {classes}. "
        f"{uncertain} labels are uncertain (above {_UNCERTAIN:.0%})."
    )


def _uncertainty(model: Any, asked: Array) -> Array:
    """Return (n,) the uncertainty of each predicted label: ``doubt_``, or 1 minus the label's probability."""
    if hasattr(model, "doubt_"):
        return np.asarray(model.doubt_)[asked]
    return 1 - np.asarray(model.label_distributions_[np.flatnonzero(asked)].max(axis=1)).ravel()


def _class_table(model: Any, labels: Array, uncertainty: Array) -> Markup:
    """Return a table of the candidates by mean uncertainty, the most uncertain first, those without samples last."""
    counts = np.array([np.count_nonzero(labels == name) for name in model.classes_])
    means = [float(uncertainty[labels == name].mean()) if n else -1.0 for name, n in zip(model.classes_, counts)]
    allowed = np.flatnonzero(model.allowed_)
    order = sorted(allowed, key=lambda c: (-means[c], c))
    rows = [(model.classes_[c], counts[c], f"{means[c]:.0%}" if counts[c] else "–") for c in order[:_MAX_CLASSES]]
    if len(order) > _MAX_CLASSES:
        rows.append((f"{len(order) - _MAX_CLASSES} further classes", sum(counts[c] for c in order[_MAX_CLASSES:]), ""))
    head = Markup('<tr><th style="text-align:left">class</th><th>samples</th><th>mean uncertainty</th></tr>')
    return Markup("<table>{}{}</table>").format(head, Markup().join(_row(row) for row in rows))


def _row(cells: tuple[Any, ...]) -> Markup:
    sides = ("left", *["right"] * (len(cells) - 1))
    return Markup("<tr>{}</tr>").format(Markup().join(_CELL.format(side, cell) for side, cell in zip(sides, cells)))
