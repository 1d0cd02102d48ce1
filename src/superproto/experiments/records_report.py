"""REPORT: a page about any file of records: every run by task, the best first, and whatever figures were measured."""

from __future__ import annotations

from collections.abc import Sequence

from superproto.experiments.paper.drawings import DRAWINGS
from superproto.experiments.records import Record, Results
from superproto.reporting.charts.charts import bar_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.markup import Markup
from superproto.reporting.page import Page, figure_with, paragraph, table


def build_from_records(records: Sequence[Record], name: str) -> Page:
    """The page; the newest record of each run counts."""
    newest = list({record.key: record for record in records}.values())
    runs = [record for record in newest if record.kind == "run"]
    page = Page(f"Runs in {name}", f"{len(runs)} runs on {len({record.data for record in runs})} tasks.")
    for key in dict.fromkeys((r.task, r.setting, r.protocol, r.pool) for r in runs):
        chosen = [r for r in runs if (r.task, r.setting, r.protocol, r.pool) == key]
        page.add(f"{key[0]}: {key[1]}, {key[2]}", *_of_task(chosen, key[3]))
    results = Results(newest)
    for figure, (title, draw) in DRAWINGS.items():
        found = results.figure(figure)
        if found:
            page.add(title, *draw(found))
    return page


def _of_task(records: Sequence[Record], pool: str) -> list[Markup]:
    headline = "harmonic_mean" if records[0].setting == "gzsl" else "per_class_accuracy"
    ranked = sorted(records, key=lambda record: -float(record.scores.get(headline, 0)))
    scores = ["unseen", "seen", "harmonic_mean", "ausuc"] if headline == "harmonic_mean" else [headline, "top5"]
    rows = [
        [
            record.method,
            _given(record),
            *(percent(float(record.scores[s])) if s in record.scores else "–" for s in scores),
            _interval(record),
            f"{record.seconds:.1f}",
            record.chosen,
        ]
        for record in ranked
    ]
    best = {record.method: float(record.scores.get(headline, 0)) for record in reversed(ranked)}
    order = sorted(best, key=lambda method: -best[method])
    chart = bar_chart(
        order, [[best[m] for m in order]], headline.replace("_", " "), text=percent, says="Best run by method"
    )
    columns = ["method", "features", *(s.replace("_", " ") for s in scores), "95 % interval", "seconds", "chosen"]
    return [
        paragraph(f"The pool: {pool}. The best run of each method:"),
        figure_with(chart, "Hover for names; intervals are in the table."),
        table(columns, rows, left=2),
    ]


def _given(record: Record) -> str:
    whiten = record.params.get("whiten")
    return "plain" if whiten is False else "whitened" if whiten else ""


def _interval(record: Record) -> str:
    interval = record.scores.get("interval")
    return f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}" if isinstance(interval, list) else "–"
