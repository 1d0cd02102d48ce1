"""Figures as inline SVG, by pure functions: no script, no network, light and dark, readable by color-blind people."""

from __future__ import annotations

from .charts import Series, bar_chart, heat_map, line_chart, scatter_chart
from .frame import percent
from .pictures import Picture, data_uri, gray_png, picture_grid

__all__ = [
    "Picture",
    "Series",
    "bar_chart",
    "data_uri",
    "gray_png",
    "heat_map",
    "line_chart",
    "percent",
    "picture_grid",
    "scatter_chart",
]
