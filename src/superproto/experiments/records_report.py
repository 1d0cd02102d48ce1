"""RESEARCH: the report of a file of records: every run by task, the best first, and the measured figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from superproto.evaluation.evaluate import HEADLINES, SCORE_TITLES, SHOWN_SCORES
from superproto.experiments.paper.figures import DRAWINGS
from superproto.experiments.records import Record, Results
from superproto.reporting.charts.charts import bar_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.page import Page
from superproto.reporting.table import Table


def build_from_records(records: Sequence[Record], name: str) -> Page:
    """Build the page. Of repeated runs, the newest record counts."""
    newest = list({record.key: record for record in records}.values())
    runs = [record for record in newest if record.kind == "run"]
    by_task: dict[tuple[str, str, str, str], list[Record]] = {}
    for run in runs:
        by_task.setdefault((run.task, run.setting, run.protocol, run.pool), []).append(run)
    results = Results(newest)
    content = {
        "name": name,
        "n_runs": len(runs),
        "n_tasks": len({record.data for record in runs}),
        "tasks": [_summarize_task(chosen) for chosen in by_task.values()],
        "figures": [
            drawing.section(figure, found) for figure, drawing in DRAWINGS.items() if (found := results.figure(figure))
        ],
    }
    return Page("records_report.html", content)


def _summarize_task(records: Sequence[Record]) -> dict[str, Any]:
    first = records[0]
    headline = HEADLINES[first.setting]
    ranked = sorted(records, key=lambda record: -float(record.scores.get(headline, 0)))
    best = {record.method: float(record.scores.get(headline, 0)) for record in reversed(ranked)}
    order = sorted(best, key=lambda method: -best[method])
    chart = bar_chart(order, [[best[m] for m in order]], SCORE_TITLES[headline], text=percent, alt="Best run by method")
    title = f"{first.task}: {first.setting}, {first.protocol}"
    return {
        "title": title,
        "pool": first.pool,
        "chart": chart,
        "runs": _runs_table(ranked, SHOWN_SCORES[first.setting]),
    }


def _runs_table(records: Sequence[Record], scores: Sequence[str]) -> Table:
    rows = [
        [
            record.method,
            _features(record),
            *(percent(float(record.scores[s])) if s in record.scores else "–" for s in scores),
            _interval(record),
            f"{record.seconds:.1f}",
            record.chosen,
        ]
        for record in records
    ]
    columns = ["method", "features", *(SCORE_TITLES[s] for s in scores), "95 % interval", "seconds", "parameters"]
    return Table(columns, rows, text_columns=2)


def _features(record: Record) -> str:
    whiten = record.params.get("whiten")
    return "plain" if whiten is False else "whitened" if whiten else ""


def _interval(record: Record) -> str:
    interval = record.scores.get("interval")
    return f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}" if isinstance(interval, list) else "–"
