"""SHOW: draw figures as inline SVG, without scripts or network, for light and dark pages, readable without color."""

from __future__ import annotations

from superproto.reporting.charts.charts import Series, bar_chart, heat_map, line_chart, scatter_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.charts.pictures import Picture, data_uri, gray_png, picture_grid

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
