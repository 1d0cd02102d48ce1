"""DRAW how the seconds of a fit grow with each size, from the entry that ``bench`` wrote."""

from __future__ import annotations

import os
from typing import Any

from superproto.errors import UserError
from superproto.files import write_whole
from superproto.reporting.charts.charts import Series, line_chart
from superproto.reporting.page import standalone_svg


def write_growth_chart(path: str | os.PathLike[str], entry: dict[str, Any]) -> None:
    """An SVG with one line for each size that grew, both axes logarithmic, the exponent in the line's name."""
    if "curves" not in entry:
        raise UserError(f"The study '{entry.get('study')}' has no curves to draw. Run the study growth.")
    lines = [
        Series(f"{name} (exponent {entry['exponents'][name]:.2f})", curve["sizes"], curve["seconds"])
        for name, curve in entry["curves"].items()
    ]
    says = "Seconds of a fit of five outer iterations as one size grows and the others stay."
    chart = line_chart(lines, "size", "seconds", says=says, width=560, log=(True, True))
    with write_whole(path, text=True) as handle:
        handle.write(str(standalone_svg(chart)))
