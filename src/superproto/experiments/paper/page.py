"""The paper from one command: run the plan, keep records, build the page. What is recorded is not run again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from superproto.baselines.registry import make_model, parameters_of
from superproto.errors import UserError
from superproto.experiments.paper.drawings import DRAWINGS
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
from superproto.experiments.records import Record, Results, check_writable
from superproto.experiments.runner import Step
from superproto.files import PathLike
from superproto.reporting.page import Page, note_paragraph, paragraph, tiles

TABLES = (2, 3, 4, 5, 6)
FIGURES = tuple(DRAWINGS)
_DRAWN_FROM = {"super-prototypes": "portrait"}
_FEATURES = (
    "Plain features have length 1; whitened ones are also divided by the spread within labeled classes, after square "
    "roots where no feature is negative."
)


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
    """Run what the plan asks for on the data in `folder`, and build the page of these tables and figures.

    `fresh` forgets what is recorded of it first, so that a fresh run that was interrupted goes on without `fresh`.
    """
    plan = plan or read_plan()
    tables, figures = set(tables), list(figures)
    _check(folder, records, tables, figures)
    wanted = {_DRAWN_FROM.get(name, name) for name in figures} | ({"sizes"} if 2 in tables else set())
    kept = run_paper(plan, folder, records, tables, wanted, fresh=fresh, processes=processes, step=step)
    return build_page(plan, kept, tables, figures)


def build_page(plan: Plan, records: Iterable[Record], tables: Iterable[int], figures: Iterable[str]) -> Page:
    """The page, from records alone."""
    records, tables = list(records), set(tables)
    results = Results(records)
    page = Page(
        "Hierarchical prototype learning, reproduced",
        "Every table and figure of Zhang, Gui, Zhu, Zhao and Liu (IEEE TMM 2020) that the data at hand allow, measured "
        "by superproto beside what the paper reports, and some that the paper does not have.",
        footer=_made_by(records),
    )
    page.add("In short", *_summary(plan, results))
    _add_tables(page, plan, results, tables)
    for name in figures:
        title, draw = DRAWINGS[name]
        found = _titled(plan, results.figure(_DRAWN_FROM.get(name, name)))
        if found or name == "framework":
            page.add(title, *draw(found))
        else:
            page.add(title, note_paragraph("Not measured: no data set that this figure needs is at hand."))
    return page


def _add_tables(page: Page, plan: Plan, results: Results, tables: set[int]) -> None:
    by_number = {table.number: table for table in plan.tables}
    if 2 in tables:
        page.add("Table II: the data sets", data_sets_table(plan, results))
    if 3 in tables:
        says = f"Per-class accuracy of standard ZSL. ImageNet's published figures are top-5. {_FEATURES}"
        page.add("Table III: ZSL, standard splits", paragraph(says), accuracy_table(plan, results, by_number[3]))
    if 4 in tables:
        says = f"Per-class accuracy of standard ZSL. Published figures: ResNet-101 features. {_FEATURES}"
        page.add("Table IV: ZSL, proposed splits", paragraph(says), accuracy_table(plan, results, by_number[4]))
    if 5 in tables:
        says = "U, S: per-class accuracy on unseen and on seen classes, all being candidates; H (bold): harmonic mean."
        page.add("Table V: generalized ZSL", paragraph(says), generalized_table(plan, results, by_number[5]))
    if 6 in tables:
        page.add("Table VI: ablations", ablation_tables(plan, results), *direction_tables(plan, results))


def _summary(plan: Plan, results: Results) -> list[Any]:
    pairs = []
    for data in plan.data:
        zsl, gzsl = results.score(data.name, "hpl"), results.score(data.name, "hpl", setting="gzsl")
        if zsl is not None:
            general = "" if gzsl is None else f"; generalized H {100 * gzsl.mean:.1f} %"
            pairs.append((f"{100 * zsl.mean:.1f} %", f"{data.title}: HPL(), unseen classes{general}"))
    missing = [f"{data.title} ({data.features})" for data in plan.data if data.name not in results.tasks()]
    blocks: list[Any] = [tiles(*pairs)] if pairs else []
    if missing:
        blocks.append(
            note_paragraph(
                f"No data at hand for {', '.join(missing)}. Put its xlsa17 folder into --data and run again."
            )
        )
    return blocks


def _check(folder: PathLike, records: PathLike, tables: set[int], figures: list[str]) -> None:
    if not Path(folder).is_dir():
        raise UserError(f"{folder} is not a folder. Give the folder of packs and xlsa17 folders with --data.")
    strange = [str(number) for number in tables if number not in TABLES] or [f for f in figures if f not in FIGURES]
    if strange:
        known = f"tables {', '.join(map(str, TABLES))}; figures {', '.join(FIGURES)}"
        raise UserError(f"'{strange[0]}' is no table or figure of the plan. Known: {known}.")
    check_writable(records)


def _titled(plan: Plan, found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Figures' contents under the titles of their data sets, in the plan's order."""
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
