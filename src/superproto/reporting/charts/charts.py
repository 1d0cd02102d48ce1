"""Draw charts as inline SVG: line charts with bands, scatter charts, bar charts and heat maps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from superproto.reporting.charts.frame import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    Frame,
    color,
    element,
    figure,
    joined,
    legend,
    mark,
    marker,
    shorten,
    words,
)
from superproto.reporting.charts.scales import label_of, scale_over

Values = Sequence[float] | npt.NDArray[np.floating]
Limits = tuple[float | None, float | None]


class Series(NamedTuple):
    """A line: its name and points, an optional band (low, high), and whether it is dashed and has markers."""

    name: str
    x: Values
    y: Values
    low: Values | None = None
    high: Values | None = None
    dashed: bool = False
    marked: bool = True
    hovers: Sequence[str] | None = None


def line_chart(
    series: Sequence[Series],
    x_label: str,
    y_label: str,
    *,
    alt: str,
    width: float = 460,
    height: float = 300,
    log: tuple[bool, bool] = (False, False),
    x_limits: Limits = (None, None),
    y_limits: Limits = (None, None),
    y_text: Callable[[float], str] = label_of,
) -> Markup:
    """Draw lines over common axes. Every name has a color and a marker; several names get a legend."""
    names = list(dict.fromkeys(line.name for line in series))
    key, room = legend(names, LEFT, height + 8, width - LEFT, shape=marker) if len(names) > 1 else (Markup(), 0)
    x = scale_over([v for line in series for v in line.x], LEFT, width - RIGHT, log=log[0], limits=x_limits)
    heights = [v for line in series for ys in (line.y, line.low, line.high) if ys is not None for v in ys]
    y = scale_over(heights, height - BOTTOM, TOP, log=log[1], limits=y_limits)
    frame = Frame(x, y, width, height)
    drawn = [_line(names.index(line.name), line, frame, y_text) for line in series]
    return figure(width, height + room, frame.axes(x_label, y_label, y_text=y_text), *drawn, key, alt=alt)


def scatter_chart(
    x: Values,
    y: Values,
    groups: Sequence[int],
    names: Sequence[str],
    *,
    alt: str,
    hovers: Sequence[str] | None = None,
    labels: tuple[str, str] | None = None,
    hollow: Sequence[bool] | None = None,
    size: float = 3.0,
    width: float = 420,
    height: float = 380,
    limits: tuple[Limits, Limits] = ((None, None), (None, None)),
    diagonal: bool = False,
    text: Callable[[float], str] = label_of,
    with_legend: bool = True,
    notes: Sequence[tuple[float, float, str]] = (),
) -> Markup:
    """Draw points whose color and shape show their group.

    Without ``labels`` there are no axes, because the units of an embedding have no meaning. ``notes`` are texts at
    given places (x, y, text), drawn on top.
    """
    left, bottom = (LEFT, BOTTOM) if labels else (6, 6)
    key, room = legend(names, left, height + 8, width - left) if with_legend else (Markup(), 0)
    frame = Frame(
        scale_over(x, left, width - RIGHT, limits=limits[0]),
        scale_over(y, height - bottom, TOP, limits=limits[1]),
        width,
        height,
    )
    parts: list[Markup] = [frame.axes(*labels, x_text=text, y_text=text)] if labels else []
    if diagonal:
        parts.append(_diagonal(frame))
    for i, (at_x, at_y, group) in enumerate(zip(x, y, groups)):
        hover = None if hovers is None else hovers[i]
        is_hollow = hollow is not None and bool(hollow[i])
        parts.append(mark(int(group), frame.x(at_x), frame.y(at_y), size=size, hover=hover, hollow=is_hollow))
    for at_x, at_y, note in notes:
        parts.append(
            words(shorten(note, 24), frame.x(at_x), frame.y(at_y) + 4, anchor="middle", size="note", hover=note)
        )
    return figure(width, height + room, *parts, key, alt=alt)


def bar_chart(
    names: Sequence[str],
    values: Sequence[Values],
    x_label: str,
    *,
    alt: str,
    groups: Sequence[str] = ("",),
    hovers: Sequence[Sequence[str]] | None = None,
    limits: Limits = (0.0, None),
    reference: float | None = None,
    width: float = 560,
    bar: float = 13,
    text: Callable[[float], str] = label_of,
) -> Markup:
    """Draw horizontal bars: one bar for each name and group, with its number at the end, and a line at `reference`."""
    left = min(14 + 6.4 * max((len(name) for name in names), default=0), 260.0)
    key, room = legend(groups, left, 14, width - left, shape=_swatch) if len(groups) > 1 else (Markup(), 0)
    step = len(groups) * (bar + 1) + 7
    bottom = room + 10 + step * len(names)
    scale = scale_over([v for group in values for v in group], left, width - 50, limits=limits)
    frame = Frame(scale, scale_over([0, 1], bottom, room + 6), width, bottom)
    parts = [_bar_axis(frame, x_label, text)]
    for i, name in enumerate(names):
        y = room + 10 + i * step
        parts.append(words(shorten(name, 38), left - 8, y + (step - 7) / 2 + 4, anchor="end", size="tick", hover=name))
        for g in range(len(groups)):
            hover = f"{name}: {text(float(values[g][i]))}" if hovers is None else hovers[g][i]
            parts.append(_bar(g, float(values[g][i]), y + g * (bar + 1), bar, frame, hover, text))
    if reference is not None:
        at = scale(reference)
        parts.append(element("line", x1=at, x2=at, y1=room + 6, y2=bottom, class_="reference"))
    return figure(width, bottom + 44, *parts, key, alt=alt)


def heat_map(
    table: npt.NDArray[np.generic],
    row_names: Sequence[str],
    column_names: Sequence[str],
    *,
    alt: str,
    row_title: str = "",
    column_title: str = "",
    cell: float = 34,
    numbers: bool = True,
    hover: Callable[[int, int], str] | None = None,
    slanted: bool = False,
    tints: Sequence[int] | None = None,
) -> Markup:
    """Draw a table of numbers as shades of one color, from 0 to the largest. `tints` gives each row its own color."""
    values = np.asarray(table, dtype=float)
    hover = hover or (lambda i, j: f"{row_names[i]} → {column_names[j]}: {label_of(values[i, j])}")
    left = 34 + 6.8 * max((len(name) for name in row_names), default=0)
    names_above = 4.3 * max((len(name) for name in column_names), default=0) if slanted else 14
    top = 16 + names_above + (14 if column_title else 0)
    width, height = left + len(column_names) * cell, top + len(row_names) * cell
    parts = [_column_name(name, left + (j + 0.5) * cell, top - 7, slanted) for j, name in enumerate(column_names)]
    for i, name in enumerate(row_names):
        y, tint = top + i * cell, color(0 if tints is None else tints[i])
        parts.append(words(name, left - 7, y + cell / 2 + 4, anchor="end", size="tick"))
        parts += _cells(values, i, left, y, cell, tint, numbers, hover)
    if row_title:
        middle = f"translate(12 {(top + height) / 2:.1f}) rotate(-90)"
        parts.append(words(row_title, 0, 0, anchor="middle", transform=middle))
    if column_title:
        parts.append(words(column_title, (left + width) / 2, 13, anchor="middle"))
    return figure(width + (_overhang(column_names, cell) if slanted else 0) + 10, height + 6, *parts, alt=alt)


def _overhang(column_names: Sequence[str], cell: float) -> float:
    """Return how far slanted column names reach beyond the last column."""
    past = (4.3 * len(name) - (len(column_names) - j - 0.5) * cell for j, name in enumerate(column_names))
    return max([0.0, *past])


def _cells(
    values: npt.NDArray[np.floating], row: int, left: float, y: float, cell: float, tint: str, numbers: bool,
    hover: Callable[[int, int], str],
) -> list[Markup]:  # fmt: skip
    largest = float(np.nanmax(np.abs(values))) or 1.0
    return [
        _cell(value, largest, left + j * cell, y, cell, tint, numbers, hover(row, j))
        for j, value in enumerate(values[row])
    ]


def _line(number: int, line: Series, frame: Frame, y_text: Callable[[float], str]) -> Markup:
    points = [(frame.x(x), frame.y(y)) for x, y in zip(line.x, line.y) if math.isfinite(y)]
    parts: list[Markup] = []
    if line.low is not None and line.high is not None:
        edge = [(frame.x(x), frame.y(v)) for x, v in zip(line.x, line.high)]
        edge += [(frame.x(x), frame.y(v)) for x, v in reversed(list(zip(line.x, line.low)))]
        parts.append(element("polygon", points=_points(edge), class_=f"{color(number)} band"))
    dash = " dashed" if line.dashed else ""
    parts.append(
        element("polyline", element("title", line.name), points=_points(points), class_=f"{color(number)} line{dash}")
    )
    if line.marked:
        for i, (x, y) in enumerate(points):
            hover = f"{line.name}: {label_of(float(line.x[i]))}, {y_text(float(line.y[i]))}"
            hover = hover if line.hovers is None else line.hovers[i]
            parts.append(marker(number, x, y, size=3.6, hover=hover))
    return joined(parts)


def _bar(
    group: int, value: float, y: float, bar: float, frame: Frame, hover: str, text: Callable[[float], str]
) -> Markup:
    zero, end = frame.x(max(0.0, frame.x.low)), frame.x(value)
    rect = element(
        "rect",
        element("title", hover),
        x=min(zero, end),
        y=y,
        width=abs(end - zero),
        height=bar,
        class_=f"{color(group)} bar",
    )
    return joined([rect, words(text(value), max(zero, end) + 4, y + bar - 2.5, size="tick")])


def _bar_axis(frame: Frame, label: str, text: Callable[[float], str]) -> Markup:
    parts = []
    for value in frame.x.ticks():
        at = frame.x(value)
        parts.append(element("line", x1=at, x2=at, y1=frame.y.end, y2=frame.y.start, class_="grid"))
        parts.append(words(text(value), at, frame.y.start + 16, anchor="middle", size="tick"))
    parts.append(words(label, (frame.x.start + frame.x.end) / 2, frame.y.start + 36, anchor="middle"))
    return joined(parts)


def _cell(
    value: float, largest: float, x: float, y: float, size: float, tint: str, numbers: bool, hover: str
) -> Markup:
    share = 0.0 if math.isnan(value) else abs(value) / largest
    parts: list[object] = [
        element("title", hover),
        element("rect", x=x, y=y, width=size - 1, height=size - 1, class_="edge"),
        element(
            "rect", x=x, y=y, width=size - 1, height=size - 1, class_=f"{tint} shade", fill_opacity=round(share, 2)
        ),
    ]
    if numbers and value:
        style = "number on" if share > 0.55 else "number"
        parts.append(words(label_of(value), x + size / 2, y + size / 2 + 4, anchor="middle", size=style))
    return element("g", *parts)


def _column_name(name: str, x: float, y: float, slanted: bool) -> Markup:
    if not slanted:
        return words(name, x, y, anchor="middle", size="tick")
    return words(name, 0, 0, size="tick", transform=f"translate({x:.1f} {y:.1f}) rotate(-45)")


def _diagonal(frame: Frame) -> Markup:
    low, high = max(frame.x.low, frame.y.low), min(frame.x.high, frame.y.high)
    ends = {"x1": frame.x(low), "y1": frame.y(low), "x2": frame.x(high), "y2": frame.y(high)}
    return element("line", **ends, class_="reference")


def _swatch(number: int, x: float, y: float, *, size: float) -> Markup:
    return element("rect", x=x - size, y=y - size, width=2 * size, height=2 * size, class_=f"{color(number)} bar")


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
