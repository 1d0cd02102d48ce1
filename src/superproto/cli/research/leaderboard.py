"""The verb about the zoo: `leaderboard` shows it, exports it, and runs what is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from superproto.cli import terminal
from superproto.cli.app import app
from superproto.cli.options import Setting
from superproto.errors import UserError

if TYPE_CHECKING:
    from superproto.experiments.leaderboard.plan import ZooPlan
    from superproto.experiments.leaderboard.ranking import Board


@app.command()
def leaderboard(
    settings: Annotated[list[Setting] | None, typer.Option("--setting", help="zsl or gzsl only. Repeatable.")] = None,
    packs: Annotated[
        list[str] | None, typer.Option("--pack", metavar="NAME", help="This data set only. Repeatable.")
    ] = None,
    features: Annotated[
        list[str] | None, typer.Option("--features", metavar="KIND", help="whitened or raw only. Repeatable.")
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write .html, .md, .tex or .csv. Repeatable."),
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="First run what is not recorded yet.")] = False,
    methods: Annotated[
        list[str] | None, typer.Option("--method", "-m", metavar="NAME", help="--run this method only. Repeatable.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="--run what is recorded too; choices of parameters stay.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="--run at most so many seeds of a method for now.")
    ] = None,
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of the packs, for --run.")] = Path("data"),
    records: Annotated[Path, typer.Option("--records", metavar="FILE", help="The records of the board.")] = Path(
        "benchmarks/zoo.jsonl"
    ),
    plan: Annotated[Path | None, typer.Option("--plan", metavar="FILE", help="Another plan than zoo.toml.")] = None,
) -> None:
    """Show every method on every data set: the best of each column, and those that cannot be told from it.

    \b
    Example:  superproto leaderboard --setting zsl --features whitened
              superproto leaderboard -o board.html -o board.csv
              superproto leaderboard --run --data packs
    """
    from superproto.experiments.leaderboard.plan import FEATURES, SETTINGS, read_zoo_plan
    from superproto.experiments.leaderboard.ranking import board_of
    from superproto.experiments.leaderboard.run import run_plan, run_references
    from superproto.experiments.records import read_records

    chosen = read_zoo_plan(plan)
    _check(chosen, packs or [], features or [], methods or [], output or [])
    if run:
        step = terminal.steps()
        only = {"methods": methods or (), "data": packs or (), "features": features or ()}
        shorter = replace(chosen, seeds=min(seeds or chosen.seeds, chosen.seeds))
        new = run_plan(shorter, data, records, **only, again=again, step=step)
        new += 0 if any(only.values()) else run_references(chosen, data, records, step)
        terminal.show(f"{new} new runs.")
    if not records.exists():
        raise UserError(f"{records} does not exist. Give --records, or make it with --run --data DIR.")
    board = board_of(
        chosen,
        read_records(records),
        settings=[setting.value for setting in settings] if settings else SETTINGS,
        features=features or FEATURES,
        data=packs or (),
    )
    for path in output or ():
        _write(board, path)
    if not output:
        _show(board)


def _check(plan: ZooPlan, packs: list[str], features: list[str], methods: list[str], output: list[Path]) -> None:
    """Whatever can be wrong with the options is said before anything is read or run."""
    from superproto.baselines.registry import nearest
    from superproto.experiments.leaderboard.plan import FEATURES
    from superproto.experiments.leaderboard.views import EXPORTS

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
            raise UserError(f"{path}: how to write it follows from its end: .html, {', '.join(EXPORTS)}.")


def _write(board: Board, path: Path) -> None:
    from superproto.experiments.leaderboard.views import EXPORTS, build_leaderboard_page
    from superproto.files import write_whole

    if path.suffix == ".html":
        build_leaderboard_page(board).write(path)
    else:
        with write_whole(path, text=True) as handle:
            handle.write(EXPORTS[path.suffix](board))
    terminal.show(f"Written: {path}")


def _show(board: Board) -> None:
    from superproto.experiments.leaderboard.views import LEVEL, cell_text, title_of

    for setting, features in board.kinds():
        columns = board.columns(setting, features)
        rows = []
        for method in board.ranked(setting, features):
            cells = [board.cells[column][method] for column in columns]
            texts = [f"{cell_text(c)}{' *' if c.best else f' {LEVEL}' if c.level else ''}" for c in cells]
            rows.append([method, *texts])
        terminal.show_table(
            ["method", *(column.data.title for column in columns)], rows, title=title_of(setting, features)
        )
    terminal.show(f"* best of its column; {LEVEL} cannot be told from the best (paired bootstrap, 95 %)")
