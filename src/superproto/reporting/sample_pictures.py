"""SHOW: pictures of the unlabeled samples: the least and most uncertain of each class, clusters, and a map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from superproto.errors import UserError
from superproto.reporting.charts.frame import element, figure, legend, mark, percent, shorten, words
from superproto.reporting.charts.pictures import Picture, picture_grid, thumbnail
from superproto.reporting.charts.scales import scale_over
from superproto.reporting.pool_layout import PoolLayout, lay_out_pool
from superproto.samples.chunks import Array

_IN_A_ROW = 8
_MOST_CLASSES = 60
_MOST_ON_MAP = 1500
_WIDTH, _HEIGHT, _SIZE = 900.0, 620.0, 46.0
_LINE = 16
_STEPS = (0.2, 0.5)
_STEP_NAMES = ("uncertainty below 20 %", "20 to 50 %", "50 % or more")
_COLORS = (0, 5, 1)


class LabeledPictures(NamedTuple):
    """The unlabeled samples of a fit that have pictures: features, label, uncertainty and file of each."""

    X: Array
    label: Array
    uncertainty: Array
    paths: Sequence[str]
    names: Sequence[str]
    folder: Path


def show_pictures(pool: LabeledPictures) -> dict[str, Any] | None:
    """Return the sections of the report that show pictures; None if no file can be shown."""
    classes = _class_grids(pool)
    if not any(entry["grid"] for entry in classes):
        return None
    rows = np.unique(np.linspace(0, len(pool.label) - 1, min(len(pool.label), _MOST_ON_MAP)).astype(int))
    several = len(np.unique(pool.label[rows])) > 1 and len(rows) > 3
    layout = lay_out_pool(pool.X[rows], pool.label[rows]) if several else None
    return {
        "classes": classes,
        "n_classes": len(np.unique(pool.label)),
        "map": None if layout is None else _draw_map(pool, rows, layout),
        "on_map": len(rows),
        "clusters": None if layout is None else _cluster_grids(pool, rows, layout),
    }


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file in the folder; raise if the name leads out of the folder."""
    path = folder / name
    if Path(name).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"the image path '{name}' is outside {folder}. Give paths inside the folder of --images.")
    return path


def _class_grids(pool: LabeledPictures) -> list[dict[str, Any]]:
    """Draw the least and the most uncertain pictures of each class, the most uncertain class first."""
    mean = {c: float(pool.uncertainty[pool.label == c].mean()) for c in np.unique(pool.label).tolist()}
    found = []
    for c in sorted(mean, key=lambda c: (-mean[c], c))[:_MOST_CLASSES]:
        members = np.flatnonzero(pool.label == c)
        order = members[np.argsort(pool.uncertainty[members], kind="stable")]
        shown = {"least uncertain": order[:_IN_A_ROW]}
        # All pictures of a small class are in the first row.
        if len(order) > _IN_A_ROW:
            shown["most uncertain"] = order[::-1][: len(order) - _IN_A_ROW][:_IN_A_ROW]
        grid = _grid(pool, shown, f"Pictures labeled {pool.names[c]}")
        found.append({"name": pool.names[c], "count": len(members), "mean": percent(mean[c]), "grid": grid})
    return found


def _cluster_grids(pool: LabeledPictures, rows: Array, layout: PoolLayout) -> Markup | None:
    """Draw the pictures nearest to the center of each cluster, largest cluster first, named by their labels."""
    numbers, counts = np.unique(layout.cluster, return_counts=True)
    shown = {}
    for place, number in enumerate(numbers[np.argsort(-counts, kind="stable")].tolist()[:_MOST_CLASSES], start=1):
        members = np.flatnonzero(layout.cluster == number)
        nearest = members[np.argsort(layout.from_center[members], kind="stable")][:_IN_A_ROW]
        labels, shares = np.unique(pool.label[rows[members]], return_counts=True)
        order = np.argsort(-shares, kind="stable")[:2]
        title = ", ".join(f"{shares[i]} {shorten(pool.names[labels[i]], 18)}" for i in order)
        more = int(shares.sum() - shares[order].sum())
        shown[f"{place}: {title}" + (f", {more} others" if more else "")] = rows[nearest]
    return _grid(pool, shown, "Clusters of similar pictures", named_by_label=True)


def _grid(pool: LabeledPictures, rows: dict[str, Array], alt: str, *, named_by_label: bool = False) -> Markup | None:
    drawn = {name: _photographs(pool, members, named_by_label) for name, members in rows.items()}
    shown = {name: pictures for name, pictures in drawn.items() if pictures}
    return picture_grid(list(shown.values()), list(shown), size=92, alt=alt) if shown else None


def _photographs(pool: LabeledPictures, members: Array, named_by_label: bool) -> list[Picture]:
    """Return thumbnails of the samples; omit those whose file is missing or not a picture."""
    found = []
    for i in members.tolist():
        uri = thumbnail(inside(pool.folder, pool.paths[i]))
        if uri is not None:
            caption = shorten(pool.names[pool.label[i]], 14) if named_by_label else f"{100 * pool.uncertainty[i]:.0f} %"
            found.append(Picture(uri, caption, _hover(pool, i)))
    return found


def _hover(pool: LabeledPictures, i: int) -> str:
    return f"{pool.paths[i]}: {pool.names[pool.label[i]]}, uncertainty {percent(pool.uncertainty[i])}"


def _draw_map(pool: LabeledPictures, rows: Array, layout: PoolLayout) -> Markup:
    """Draw points colored by uncertainty, some of them as pictures, and the name of each class at its center."""
    half = _SIZE / 2
    x = scale_over(layout.points[:, 0], half, _WIDTH - half)
    y = scale_over(layout.points[:, 1], _HEIGHT - half, half)
    places = np.array([[x(a), y(b)] for a, b in layout.points])
    groups = np.searchsorted(_STEPS, pool.uncertainty[rows], side="right")
    parts: list[Markup] = []
    for (left, top), group, i in zip(places.tolist(), groups.tolist(), rows.tolist()):
        parts.append(mark(_COLORS[group], left, top, size=3.5, hover=_hover(pool, i)))
    for number in _apart(places, pool.uncertainty[rows]):
        uri = thumbnail(inside(pool.folder, pool.paths[rows[number]]), 64)
        if uri is not None:
            parts.append(_framed(uri, places[number], _COLORS[groups[number]], _hover(pool, int(rows[number]))))
    parts += _place_names(pool, pool.label[rows], places)
    key, room = legend(_STEP_NAMES, 6, _HEIGHT + 16, _WIDTH, shape=_step_mark)
    return figure(_WIDTH, _HEIGHT + room + 8, *parts, key, alt="Map of the unlabeled pictures")


def _place_names(pool: LabeledPictures, label: Array, places: Array) -> list[Markup]:
    """Draw the name of each class at the center of its points, larger classes first, without overlaps."""
    found: list[Markup] = []
    taken: list[tuple[float, float, float]] = []
    classes, counts = np.unique(label, return_counts=True)
    for c in classes[np.argsort(-counts, kind="stable")].tolist():
        x, y = np.median(places[label == c], axis=0).tolist()
        name = shorten(pool.names[c], 28)
        half = 4.0 * len(name)
        if all(abs(x - other) > half + width or abs(y - height) > _LINE for other, height, width in taken):
            taken.append((x, y, half))
            found.append(words(name, x, y, anchor="middle", size="place"))
    return found


def _step_mark(step: int, x: float, y: float, *, size: float) -> Markup:
    return mark(_COLORS[step], x, y, size=size)


def _framed(uri: str, place: Array, color: int, hover: str) -> Markup:
    left, top = (place - _SIZE / 2).tolist()
    at = {"x": left, "y": top, "width": _SIZE, "height": _SIZE}
    image = element("image", href=uri, **at)
    return element("g", image, element("rect", **at, class_=f"c{color} ring"), element("title", hover))


def _apart(places: Array, uncertainty: Array) -> list[int]:
    """Choose points, the least uncertain first, whose pictures do not overlap."""
    chosen: list[int] = []
    for number in np.argsort(uncertainty, kind="stable").tolist():
        if all(np.abs(places[number] - places[other]).max() > _SIZE + 2 for other in chosen):
            chosen.append(number)
    return chosen
