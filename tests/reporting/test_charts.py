"""Figures: numbers land where the axes say, names cannot break the page, a picture is the array that was given."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from superproto.reporting.charts.charts import Series, bar_chart, heat_map, line_chart, scatter_chart
from superproto.reporting.charts.frame import element, joined
from superproto.reporting.charts.pictures import Picture, gray_png, picture_grid
from superproto.reporting.charts.scales import Scale, scale_over
from superproto.reporting.charts.trees import dendrogram, leaf_order
from superproto.reporting.page import standalone_svg

EVIL = "<script>alert('x')</script> & \"quoted\" \x00\x1b"
SVG = "{http://www.w3.org/2000/svg}"


def charts(name: str) -> list[Markup]:
    merges = [(0, 1, 0.3), (2, 3, 0.8)]
    return [
        line_chart(
            [Series(name, [1, 2], [3, 4]), Series("b", [1, 2], [4, 3], low=[3, 2], high=[5, 4])], name, name, alt=name
        ),
        scatter_chart([1, 2], [3, 4], [0, 9], [name, "b"], hovers=[name, name], alt=name, labels=(name, name)),
        bar_chart([name, "b"], [[1, 2]], name, alt=name),
        heat_map(np.eye(2), [name, "b"], [name, "b"], alt=name, row_title=name, column_title=name),
        picture_grid([[Picture(np.eye(2), name, name, True)]], [name], [name], alt=name),
        dendrogram(merges, [name, "b", "c"], [True, False, False], alt=name),
    ]


@pytest.mark.parametrize("number", range(6))
def test_a_class_named_script_is_shown_as_text(number: int) -> None:
    drawing = charts(EVIL)[number]
    assert "<script" not in drawing
    tree = ET.fromstring(drawing)
    shown = [element.text or "" for element in tree.iter(f"{SVG}text")]
    assert any("<script>" in text for text in shown)


@given(st.text(), st.text())
def test_any_name_gives_well_formed_markup(name: str, other: str) -> None:
    text = element("b", name, title=other)
    assert ET.fromstring(text).tag == "b"


def test_markup_joins_markup_and_text() -> None:
    assert joined([element("i", "a"), "<"]) == "<i>a</i>&lt;"


@pytest.mark.parametrize("log", [False, True])
def test_the_ends_of_a_scale_are_the_ends_of_the_axis(log: bool) -> None:
    scale = Scale(1, 100, 10, 210, log)
    assert (scale(1), scale(100)) == (pytest.approx(10), pytest.approx(210))
    assert scale(10) == pytest.approx(110 if log else 10 + 200 * 9 / 99)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20))
def test_every_value_and_tick_lies_inside_its_scale(values: list[float]) -> None:
    scale = scale_over(values, 0, 100)
    assert all(-1e-6 <= scale(value) <= 100 + 1e-6 for value in [*values, *scale.ticks()])
    assert 1 <= len(scale.ticks()) <= 12


def test_points_stand_where_the_axes_say() -> None:
    drawing = line_chart([Series("a", [0, 10], [0, 1])], "x", "y", alt="s", x_limits=(0, 10), y_limits=(0, 1))
    points = next(ET.fromstring(drawing).iter(f"{SVG}polyline")).attrib["points"]
    (x0, y0), (x1, y1) = (map(float, pair.split(",")) for pair in points.split())
    axis = next(p for p in ET.fromstring(drawing).iter(f"{SVG}path") if p.attrib.get("class") == "axis").attrib["d"]
    assert axis == f"M{x0:.1f} {y1:.1f}V{y0:.1f}H{x1:.1f}"


def test_a_picture_is_the_array_that_was_given() -> None:
    ink = np.array([[0, 1.0], [0.5, 2.0]])
    content = gray_png(ink)
    start = content.index(b"IDAT") + 4
    lines = zlib.decompressobj().decompress(content[start:])
    assert list(lines) == [0, 255, 0, 0, 128, 0]


def test_another_reader_agrees_on_the_picture() -> None:
    image = pytest.importorskip("PIL.Image", reason="needs Pillow (extra images)")
    ink = np.random.default_rng(0).random((8, 8))
    with image.open(io.BytesIO(gray_png(ink))) as opened:
        assert np.array_equal(np.asarray(opened), np.round(255 * (1 - ink)).astype(np.uint8))


def test_a_tree_keeps_what_is_alike_together() -> None:
    assert leaf_order([(0, 2, 0.1), (1, 3, 0.2), (4, 5, 0.9)], 4) in ([0, 2, 1, 3], [1, 3, 0, 2])


def test_long_names_leave_room_for_the_tree() -> None:
    drawn = str(dendrogram([(0, 1, 1.0)], ["bird " * 40, "fox"], [False, True], alt="two"))
    assert "M-" not in drawn
    assert "bird bird" in drawn


def test_a_tree_of_one_chain_is_drawn_however_long_it_is() -> None:
    """scipy's dendrogram is recursive; a thousand nested merges would stop it."""
    leaves = 3000
    merges = [(0, 1, 1.0), *((i + 1, leaves + i - 1, 1.0 + i) for i in range(1, leaves - 1))]
    assert sorted(leaf_order(merges, leaves)) == list(range(leaves))


def test_a_figure_of_its_own_carries_its_style() -> None:
    text = standalone_svg(charts("a")[0])
    assert "prefers-color-scheme" in text
    assert ET.fromstring(text).tag == f"{SVG}svg"


def test_a_notebook_shows_a_chart_in_its_colors():
    shown = line_chart([Series("a", [0, 1], [1, 2])], "x", "y", alt="A line")._repr_html_()
    assert shown.startswith("<svg")
    assert "<style>:root" in shown
