"""RESEARCH: reproduce the paper: run the plan, append records, build the page. Recorded runs are not repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from superproto.baselines.registry import make_model, parameters_of
from superproto.errors import UserError
from superproto.experiments.paper.figures import DRAWINGS
from superproto.experiments.paper.jobs import run_paper
from superproto.experiments.paper.measurements import EMBEDDED
from superproto.experiments.paper.tables import (
    ablation_tables,
    accuracy_table,
    data_sets_table,
    direction_tables,
    generalized_table,
)
from superproto.experiments.plans import Plan, read_plan
from superproto.experiments.records import Record, Results
from superproto.experiments.runner import Step
from superproto.files import PathLike, check_writable
from superproto.reporting.page import Page

TABLES = (2, 3, 4, 5, 6)
FIGURES = tuple(DRAWINGS)
_DRAWN_FROM = {"super-prototypes": "portrait"}


def reproduce_paper(
    folder: PathLike,
    records: PathLike,
    *,
    tables: Iterable[int] = TABLES,
    figures: Iterable[str] = FIGURES,
    fresh: bool = False,
    plan: Plan | None = None,
    processes: int = 1,
    step: Step = lambda text: None,
) -> Page:
    """Run what the plan needs on the data in `folder`, and build the page of these tables and figures.

    `fresh` first deletes the records of these runs. If a fresh run is interrupted, resume it without `fresh`.
    `processes` is the number of processes, and `step` receives lines of progress.
    """
    plan = plan or read_plan()
    tables, figures = set(tables), list(figures)
    _check(folder, records, tables, figures)
    wanted = {_DRAWN_FROM.get(name, name) for name in figures} | ({"sizes"} if 2 in tables else set())
    kept = run_paper(plan, folder, records, tables, wanted, fresh=fresh, processes=processes, step=step)
    return build_page(plan, kept, tables, figures)


def build_page(plan: Plan, records: Iterable[Record], tables: Iterable[int], figures: Iterable[str]) -> Page:
    """Build the page from records."""
    return Page("paper.html", summarize_paper(plan, list(records), set(tables), list(figures)))


def summarize_paper(plan: Plan, records: list[Record], tables: set[int], figures: list[str]) -> dict[str, Any]:
    """Return the numbers, tables and figures of the page by name; only the requested tables."""
    results = Results(records)
    sections = []
    for name in figures:
        found = _titled(plan, results.figure(_DRAWN_FROM.get(name, name)))
        sections.append(DRAWINGS[name].section(name, found))
    return {
        "numbers": _numbers(plan, results),
        "missing": [f"{data.title} ({data.features})" for data in plan.data if data.name not in results.tasks()],
        "tables": _tables(plan, results, tables),
        "figures": sections,
        "footer": _made_by(records),
    }


def _tables(plan: Plan, results: Results, numbers: set[int]) -> dict[int, Any]:
    """Return the tables by number; table 6 has several parts."""
    planned = {table.number: table for table in plan.tables}
    makers: dict[int, Callable[[], Any]] = {
        2: lambda: data_sets_table(plan, results),
        3: lambda: accuracy_table(plan, results, planned[3]),
        4: lambda: accuracy_table(plan, results, planned[4]),
        5: lambda: generalized_table(plan, results, planned[5]),
        6: lambda: {"ablations": ablation_tables(plan, results), "directions": direction_tables(plan, results)},
    }
    return {number: make() for number, make in makers.items() if number in numbers}


def _numbers(plan: Plan, results: Results) -> list[tuple[str, str]]:
    """Return HPL's accuracy on each available data set, with a caption."""
    pairs = []
    for data in plan.data:
        zsl, gzsl = results.score(data.name, "hpl"), results.score(data.name, "hpl", setting="gzsl")
        if zsl is not None:
            general = "" if gzsl is None else f"; generalized H {100 * gzsl.mean:.1f} %"
            pairs.append((f"{100 * zsl.mean:.1f} %", f"{data.title}: HPL(), unseen classes{general}"))
    return pairs


def _check(folder: PathLike, records: PathLike, tables: set[int], figures: list[str]) -> None:
    if not Path(folder).is_dir():
        raise UserError(f"{folder} is not a folder. Give the folder of packs and xlsa17 folders with --data.")
    unknown = [str(number) for number in tables if number not in TABLES] or [f for f in figures if f not in FIGURES]
    if unknown:
        known = f"tables {', '.join(map(str, TABLES))}; figures {', '.join(FIGURES)}"
        raise UserError(f"'{unknown[0]}' is not a table or figure of the plan. Known: {known}.")
    check_writable(records)


def _titled(plan: Plan, found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the measurements by the titles of their data sets, in the plan's order."""
    named = {data.title: found[data.name] for data in plan.data if data.name in found}
    return named | {name: content for name, content in found.items() if name in EMBEDDED}


def _made_by(records: list[Record]) -> str:
    if not records:
        return ""
    versions = ", ".join(f"{name} {version}" for name, version in records[-1].versions.items())
    seconds = sum(record.seconds for record in records)
    made = f"From {len(records)} records, {seconds / 60:.0f} minutes of computing; {versions}."
    return f"{made} Default parameters: {_params()}."


def _params() -> str:
    chosen = parameters_of(make_model("hpl"))
    return ", ".join(f"{name}={value}" for name, value in chosen.items())
