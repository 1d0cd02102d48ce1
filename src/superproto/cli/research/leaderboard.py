"""The verb `research leaderboard`: show the leaderboard, export it, and run missing combinations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from superproto.cli import terminal
from superproto.cli.app import research_app
from superproto.cli.options import DataFolder, OpenPage, Setting, check_output
from superproto.cli.research.checkout import records_file
from superproto.errors import UserError

if TYPE_CHECKING:
    from superproto.experiments.leaderboard.ranking import Leaderboard
    from superproto.experiments.plans import LeaderboardPlan


@research_app.command("leaderboard")
def leaderboard_verb(
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write .html, .md, .tex or .csv. Repeatable."),
    ] = None,
    settings: Annotated[
        list[Setting] | None, typer.Option("--setting", help="Show this setting only. Repeatable.")
    ] = None,
    packs: Annotated[
        list[str] | None, typer.Option("--pack", metavar="NAME", help="Show or run this data set only. Repeatable.")
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            "--features", metavar="KIND", help="Show or run these features only: whitened or raw. Repeatable."
        ),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records",
            metavar="FILE",
            help="The recorded runs; --run appends to it. Default in a checkout: benchmarks/leaderboard.jsonl.",
        ),
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="First run the combinations that are not recorded.")] = False,
    data: DataFolder = Path("data"),
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", metavar="NAME", help="With --run: this method only. Repeatable."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="With --run: repeat recorded runs, with the parameters chosen before.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="With --run: the maximum number of seeds per method.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Use this plan instead of the built-in one.")
    ] = None,
    own: Annotated[
        list[Path] | None,
        typer.Option("--own", metavar="PACK", help="Use your own pack instead of the plan's data sets. Repeatable."),
    ] = None,
    open_page: OpenPage = False,
) -> None:
    """Compare every method on every data set.

    The table marks the best method of each column, and those that do not differ
    significantly from it (paired bootstrap, 95 %). Without --output it is
    printed. --run takes hours; after an interruption, run the command again to
    resume.

    \b
    Example:  superproto research leaderboard --setting zsl --features whitened
              superproto research leaderboard -o leaderboard.html -o leaderboard.csv
              superproto research leaderboard --run --data packs --records leaderboard.jsonl
              superproto research leaderboard --run --own mine.npz --records mine.jsonl
                  -m eszsl -m hpl
    """
    from superproto.experiments.leaderboard.own_packs import only_own_packs, only_recorded_methods
    from superproto.experiments.leaderboard.ranking import build_leaderboard
    from superproto.experiments.plans import FEATURES, SETTINGS, read_leaderboard_plan
    from superproto.experiments.records import read_records

    chosen = read_leaderboard_plan(plan)
    if own:
        chosen, data = only_own_packs(chosen, own), Path()
    _check(chosen, packs or [], features or [], methods or [], output or [])
    if own and records is None:
        raise UserError("Runs of your own packs need a separate file of records. Give --records FILE.")
    known = records_file(records, "leaderboard.jsonl", shipped=not run)
    if run:
        check_output(known)
        only: dict[str, Sequence[str]] = {"methods": methods or (), "data": packs or (), "features": features or ()}
        terminal.show(f"{_run_missing(chosen, data, known, only, again, seeds)} new runs.")
    if not known.exists():
        raise UserError(f"{known} does not exist. Give --records, or make it with --run --data DIR.")
    found = read_records(known)
    if own:
        chosen = only_recorded_methods(chosen, found)
    if not found and known.stat().st_size:
        raise UserError(f"{known} holds no record. Give a file that --run wrote.")
    leaderboard = build_leaderboard(
        chosen,
        found,
        settings=[setting.value for setting in settings] if settings else SETTINGS,
        features=features or FEATURES,
        data=packs or (),
    )
    for path in output or ():
        _write(leaderboard, path, open_page)
    if not output:
        _show(leaderboard)


def _run_missing(
    plan: LeaderboardPlan, data: Path, records: Path, only: dict[str, Sequence[str]], again: bool, seeds: int | None
) -> int:
    """Run what the records lack. Return the number of new runs."""
    from superproto.experiments.leaderboard.jobs import run_leaderboard, run_references

    step = terminal.steps()
    shorter = replace(plan, seeds=min(seeds or plan.seeds, plan.seeds))
    new = run_leaderboard(shorter, data, records, **only, again=again, step=step)
    return new + (0 if any(only.values()) else run_references(plan, data, records, step))


def _check(
    plan: LeaderboardPlan, packs: list[str], features: list[str], methods: list[str], output: list[Path]
) -> None:
    """Raise for wrong options before anything is read or run."""
    from superproto.baselines.registry import nearest
    from superproto.experiments.leaderboard.views import EXPORTS
    from superproto.experiments.plans import FEATURES

    names = [entry.name for entry in plan.data]
    for value, known, what in (
        *((pack, names, "data set") for pack in packs),
        *((kind, list(FEATURES), "kind of features") for kind in features),
        *((method, list(plan.methods), "method") for method in methods),
    ):
        if value not in known:
            raise UserError(f"the plan has no {what} '{value}'. {nearest(value, known)}")
    for path in output:
        if path.suffix not in (".html", *EXPORTS):
            raise UserError(f"{path} ends in '{path.suffix}'. Give a name that ends in .html, {', '.join(EXPORTS)}.")
        check_output(path)


def _write(leaderboard: Leaderboard, path: Path, open_page: bool) -> None:
    from superproto.experiments.leaderboard.views import EXPORTS, build_leaderboard_page
    from superproto.files import write_whole

    if path.suffix == ".html":
        terminal.show_page(build_leaderboard_page(leaderboard).write(path), open_page)
        return
    with write_whole(path, text=True) as handle:
        handle.write(EXPORTS[path.suffix](leaderboard))
    terminal.show(f"Wrote {terminal.place(path)}.")


def _show(leaderboard: Leaderboard) -> None:
    from superproto.experiments.leaderboard.views import LEVEL, cell_text, mean_calibrated, mean_score, title_of

    for setting, features in leaderboard.kinds():
        columns = leaderboard.columns(setting, features)
        extra = ["mean", *(["mean H calibrated"] if setting == "gzsl" else [])]
        rows = []
        for method in leaderboard.ranked(setting, features):
            cells = [leaderboard.cells[column][method] for column in columns]
            texts = [f"{cell_text(c)}{' *' if c.best else f' {LEVEL}' if c.level else ''}" for c in cells]
            rows.append([method, *texts, *[mean_score(cells), mean_calibrated(cells)][: len(extra)]])
        heading = ["method", *(column.data.title for column in columns), *extra]
        terminal.show_table(heading, rows, title=title_of(setting, features))
    terminal.show(f"* best of its column; {LEVEL} does not differ significantly from the best (paired bootstrap, 95 %)")
