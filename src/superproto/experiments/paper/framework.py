"""Fig. 4 redrawn: how data meet unknowns, in the names that the estimator uses."""

from __future__ import annotations

from typing import NamedTuple

from superproto.reporting.charts.frame import figure, words
from superproto.reporting.markup import Markup, join, tag


class Box(NamedTuple):
    """A box: where it stands, its name in the code, what it is."""

    x: float
    y: float
    name: str
    says: str


_WIDTH, _HEIGHT = 225.0, 52.0
BOXES = {
    "labeled": Box(10, 30, "X[y >= 0]", "labeled samples, seen classes"),
    "pool": Box(10, 210, "X[y == -1]", "the pool: unlabeled samples"),
    "metric": Box(275, 120, "metric_", "roots, whitening within classes"),
    "prototypes": Box(550, 120, "visual_prototypes_", "one for each class"),
    "assignment": Box(550, 230, "label_distributions_", "pool samples to classes"),
    "labels": Box(830, 230, "transduction_", "a class for every sample"),
    "visual": Box(830, 30, "visual_super_prototypes_", "shared by all classes"),
    "codes": Box(830, 120, "codes_", "what each class is made of"),
    "semantic": Box(1120, 30, "semantic_super_prototypes_", "the same, in descriptions"),
    "semantics": Box(1120, 120, "semantics", "a description for each class"),
}
_ARROWS = (
    ("labeled", "metric", ""),
    ("pool", "metric", ""),
    ("metric", "prototypes", "encode"),
    ("prototypes", "assignment", "assign"),
    ("assignment", "prototypes", ""),
    ("assignment", "labels", ""),
    ("codes", "prototypes", "align"),
    ("visual", "codes", ""),
    ("codes", "visual", ""),
    ("semantic", "semantics", ""),
    ("semantics", "codes", "align"),
    ("visual", "semantic", "same codes"),
)


def framework() -> Markup:
    """The diagram: the left half is the encoding of samples, the right half the alignment of the two spaces."""
    head = tag(
        "marker", tag("path", d="M0 0L8 4L0 8z", fill="var(--soft)"), id="tip", viewBox="0 0 8 8", refX=8, refY=4,
        markerWidth=7, markerHeight=7, orient="auto-start-reverse",
    )  # fmt: skip
    parts = [tag("defs", head)]
    drawn: set[tuple[str, str]] = set()
    for start, end, label in _ARROWS:
        if (end, start) not in drawn:
            parts.append(_arrow(start, end, label, both=(end, start, "") in _ARROWS))
        drawn.add((start, end))
    parts += [_box(box) for box in BOXES.values()]
    return figure(1355, 300, join(parts), says="Samples, prototypes, codes and super-prototypes, and how they depend")


def _box(box: Box) -> Markup:
    middle = box.x + _WIDTH / 2
    return tag(
        "g",
        tag("rect", x=box.x, y=box.y, width=_WIDTH, height=_HEIGHT, rx=8, class_="box"),
        words(box.name, middle, box.y + 22, anchor="middle", size="strong"),
        words(box.says, middle, box.y + 40, anchor="middle", size="tick"),
    )


def _arrow(start: str, end: str, label: str, both: bool) -> Markup:
    (x1, y1), (x2, y2) = _edge(BOXES[start], BOXES[end]), _edge(BOXES[end], BOXES[start])
    line = tag(
        "path", d=f"M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}", class_="arrow", marker_end="url(#tip)",
        marker_start="url(#tip)" if both else None,
    )  # fmt: skip
    if not label:
        return line
    upright = abs(x1 - x2) < 1
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    return join(
        [
            line,
            words(
                label,
                x + (8 if upright else 0),
                y + (4 if upright else -6),
                anchor=None if upright else "middle",
                size="tick",
            ),
        ]
    )


def _edge(box: Box, toward: Box) -> tuple[float, float]:
    """Where an arrow leaves a box: from its side when the other stands beside it, else from above or below."""
    x, y = box.x + _WIDTH / 2, box.y + _HEIGHT / 2
    if abs(toward.x - box.x) > 1:
        return (box.x + _WIDTH if toward.x > box.x else box.x), y
    return x, (box.y + _HEIGHT if toward.y > box.y else box.y)
