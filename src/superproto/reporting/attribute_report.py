"""SHOW: report the visibility of attributes, as a table or as a page with a bar chart."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from superproto.evaluation.attribute_visibility import Attribute, Report
from superproto.files import write_whole
from superproto.reporting.charts.charts import bar_chart
from superproto.reporting.page import Page
from superproto.reporting.table import Content, Table


def write_report(path: str | os.PathLike[str], report: Report) -> None:
    """Write the table as .csv, or an .html page with a bar chart and a suggestion."""
    if Path(path).suffix.lower() == ".html":
        build_attribute_page(report).write(path)
        return
    rows: list[list[Content]] = [[a.name, a.column, f"{a.auc:.6f}", f"{a.correlation:.6f}"] for a in report.attributes]
    with write_whole(path, text=True) as handle:
        handle.write(Table(Attribute._fields, rows).to_csv())


def build_attribute_page(report: Report) -> Page:
    """Build the page: a suggestion, and how well features of held-out classes predict each attribute."""
    rows = [[a.name, f"{a.auc:.3f}", f"{a.correlation:+.3f}"] for a in report.attributes]
    chart = bar_chart(
        [a.name for a in report.attributes], [np.array([a.auc for a in report.attributes])], "area under the curve",
        limits=(0.0, 1.0), reference=0.5,
        alt="How well features of held-out classes predict each attribute.",
    )  # fmt: skip
    content = {
        "task": report.task,
        "sentences": report.sentences(),
        "chart": chart,
        "table": Table(["attribute", "area under the curve", "correlation"], rows),
    }
    return Page("attribute_report.html", content)
