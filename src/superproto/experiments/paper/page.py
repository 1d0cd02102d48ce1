"""The paper from one command: run the plan, keep records, build the page. What is recorded is not run again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

from superproto.baselines.registry import make_model, parameters_of
from superproto.errors import UserError
from superproto.experiments.paper.figures import DRAWINGS
from superproto.experiments.paper.jobs import Job, jobs_of, process_jobs
from superproto.experiments.paper.measures import EMBEDDED
from superproto.experiments.paper.plan import Plan, Shelf, read_plan
from superproto.experiments.paper.results import Results
from superproto.experiments.paper.tables import (
    ablation_tables,
    accuracy_table,
    data_sets_table,
    direction_tables,
    generalized_table,
)
from superproto.experiments.records import Record, check_writable, read_records
from superproto.files import PathLike, write_whole
from superproto.reporting.page import Page

TABLES = (2, 3, 4, 5, 6)
FIGURES = tuple(DRAWINGS)
_DRAWN_FROM = {"super-prototypes": "portrait"}
PaperStep = Callable[[str], None]


def reproduce_paper(
    folder: PathLike,
    records: PathLike,
    *,
    tables: Iterable[int] = TABLES,
    figures: Iterable[str] = FIGURES,
    fresh: bool = False,
    plan: Plan | None = None,
    processes: int = 1,
    step: PaperStep = lambda text: None,
) -> Page:
    """Run what the plan asks for on the data in `folder`, and build the page of these tables and figures.

    `fresh` forgets what is recorded of it first, so that a fresh run that was interrupted goes on without `fresh`.
    """
    plan = plan or read_plan()
    tables, figures = set(tables), list(figures)
    _check(folder, records, tables, figures)
    found = [shelf for data in plan.data if (shelf := Shelf(data, Path(folder))).at_hand]
    shelves: list[Shelf | None] = [None, *sorted(found, key=Shelf.size, reverse=True)]
    wanted = {_DRAWN_FROM.get(name, name) for name in figures} | ({"sizes"} if 2 in tables else set())
    asked = [(shelf, job) for shelf in shelves for job in jobs_of(plan, shelf, tables, wanted)]
    kept = read_records(records) if Path(records).exists() else []
    if fresh:
        kept = _forget(Path(records), kept, {key for shelf, job in asked for key in job.keys(shelf)})
    known = {record.key for record in kept}
    pending = [left for shelf, job in asked if (left := job.without(known, shelf)) is not None]
    for text, made in _with_progress(process_jobs(plan, Path(folder), pending, Path(records), processes), pending):
        step(text)
        kept += made
    current = {shelf.data.name: shelf.digests() for shelf in found}
    return build_page(plan, _current(kept, current), tables, figures)


def build_page(plan: Plan, records: Iterable[Record], tables: Iterable[int], figures: Iterable[str]) -> Page:
    """The page, from records alone."""
    return Page("paper.html", summarize_paper(plan, list(records), set(tables), list(figures)))


def summarize_paper(plan: Plan, records: list[Record], tables: set[int], figures: list[str]) -> dict[str, Any]:
    """Numbers, tables and figures of the page; of the tables only those that are asked for."""
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
    """The tables by number; the sixth is several."""
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
    """HPL's accuracy on each data set at hand, and what it is."""
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
    strange = [str(number) for number in tables if number not in TABLES] or [f for f in figures if f not in FIGURES]
    if strange:
        known = f"tables {', '.join(map(str, TABLES))}; figures {', '.join(FIGURES)}"
        raise UserError(f"'{strange[0]}' is no table or figure of the plan. Known: {known}.")
    check_writable(records)


def _current(records: list[Record], digests: dict[str, set[str]]) -> list[Record]:
    """Records of the data as they are now: of a data set that is at hand, another version's numbers do not count."""
    return [record for record in records if record.task not in digests or record.data in digests[record.task]]


def _titled(plan: Plan, found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Figures' contents under the titles of their data sets, in the plan's order."""
    named = {data.title: found[data.name] for data in plan.data if data.name in found}
    return named | {name: content for name, content in found.items() if name in EMBEDDED}


def _forget(path: Path, records: list[Record], keys: set[str]) -> list[Record]:
    """Leave only the other records in the file, the newest of each run."""
    others = {record.key: record for record in records if record.key not in keys}
    with write_whole(path, text=True) as handle:
        handle.writelines(json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in others.values())
    return list(others.values())


def _with_progress(done: Iterable[tuple[Job, list[Record]]], pending: list[Job]) -> Iterator[tuple[str, list[Record]]]:
    """The records of each job, and what to tell of it: how far the plan is, and how long the rest may take."""
    start = perf_counter()
    for number, (job, made) in enumerate(done, start=1):
        left = (perf_counter() - start) / number * (len(pending) - number) / 60
        seconds = sum(record.seconds for record in made)
        yield f"{number} of {len(pending)}, about {left:.0f} min left  {job.says}, {seconds:.1f} s", made


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
