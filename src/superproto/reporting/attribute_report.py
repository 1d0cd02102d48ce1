"""SHOW: a page on which attributes can be seen in the features."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np

from superproto.evaluation.attribute_visibility import Attribute, Report
from superproto.files import write_whole


def write_report(path: str | os.PathLike[str], report: Report) -> None:
    """The whole table as .csv, or with bars and the suggestion as an offline .html page."""
    if Path(path).suffix.lower() == ".html":
        _page(report).write(path)
        return
    with write_whole(path, text=True) as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(Attribute._fields)
        writer.writerows([a.name, a.column, f"{a.auc:.6f}", f"{a.correlation:.6f}"] for a in report.attributes)


def _page(report: Report) -> Any:
    from superproto.reporting.charts.charts import bar_chart
    from superproto.reporting.page import Page, figure_with, table

    lead = "How well each attribute can be told from the features, on classes that it was not trained on."
    page = Page(f"Attributes of {report.task}", lead)
    page.add("What to do", *report.sentences())
    names = [a.name for a in report.attributes]
    values = np.array([a.auc for a in report.attributes])
    chart = bar_chart(names, [values], "area under the curve", says=lead, limits=(0.0, 1.0), reference=0.5)
    page.add("All attributes", figure_with(chart, "0.5 is guessing: such an attribute is not visual."))
    rows = [[a.name, f"{a.auc:.3f}", f"{a.correlation:+.3f}"] for a in report.attributes]
    page.add("Table", table(["attribute", "area under the curve", "correlation"], rows))
    return page
