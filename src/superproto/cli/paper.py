"""Verbs that show: `demo` on the embedded digits, `reproduce` for the paper, `report` for one's own fit, `tables`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import screen
from .app import app
from .options import Protocol, ProtocolOption, Setting, SettingOption

if TYPE_CHECKING:
    from superproto.demo import Demo


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for report.html; made if missing.", file_okay=False)
    ] = Path("superproto-demo"),
    quick: Annotated[bool, typer.Option("--quick", help="Leave out the average over all 120 choices.")] = False,
) -> None:
    """Recognize digits that were never shown: fit, score, and leave a report to open.

    \b
    Example:  superproto demo
    """
    from superproto.demo import run
    from superproto.demo_page import build, prototypes_picture
    from superproto.files import write_whole
    from superproto.page import standalone_svg

    output.mkdir(parents=True, exist_ok=True)
    with _counter("all choices of unseen digits", 0 if quick else 120) as tick:
        found = run(every=not quick, jobs=os.cpu_count() or 1, tick=tick)
    _show_demo(found)
    path = build(found).write(output / "report.html")
    with write_whole(output / "demo.svg", text=True) as handle:
        handle.write(standalone_svg(prototypes_picture(found)))
    screen.show(f"\nReport: {path}")


@app.command()
def reproduce(
    data: Annotated[Path, typer.Option("--data", help="Folder of packs and xlsa17 folders.")] = Path("data"),
    tables: Annotated[
        list[int] | None, typer.Option("--table", help="2 to 6: this table only. Repeatable.", min=2, max=6)
    ] = None,
    figures: Annotated[
        list[str] | None, typer.Option("--figure", metavar="NAME", help="This figure only, as convergence. Repeatable.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run everything again, recorded or not.")] = False,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records",
            metavar="FILE",
            help="Where runs are recorded, and read back from; if not given, records.jsonl in benchmarks/ or here.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", help="Processes; the cores, but at most 4, if not given.", min=1),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
) -> None:
    """Repeat the paper's tables and figures on the data at hand; resumes where it stopped.

    \b
    Example:  superproto reproduce --data ../shared/data
              superproto reproduce --data ../shared/data --table 4 --figure convergence
    """
    from superproto.reproduce import FIGURES, TABLES, reproduce

    partly = bool(tables or figures)
    page = reproduce(
        data,
        records or (Path("benchmarks") if Path("benchmarks").is_dir() else Path()) / "records.jsonl",
        tables=tables or (() if partly else TABLES),
        figures=figures or (() if partly else FIGURES),
        fresh=fresh,
        processes=jobs or min(4, os.cpu_count() or 1),
        step=screen.steps(),
    )
    screen.show(f"Report: {page.write(output)}")


@app.command()
def report(
    source: Annotated[Path, typer.Argument(metavar="MODEL_OR_RECORDS", help="A model file, or a file of records.")],
    pack: Annotated[
        Path | None, typer.Option("--pack", metavar="PACK", help="The data set it was fitted on: adds every sample.")
    ] = None,
    setting: SettingOption = Setting.zsl,
    protocol: ProtocolOption = Protocol.ps,
    images: Annotated[
        Path | None, typer.Option("--images", metavar="DIR", help="Folder that the pack's image paths start from.")
    ] = None,
    params: Annotated[
        Path | None, typer.Option("--params", metavar="FILE", help="What `tune` wrote: shown with its folds.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
) -> None:
    """Show one's own fit: how the pool was labeled, which labels to doubt, what each class was taken to look like.

    \b
    Example:  superproto fit birds.npz -o birds.model
              superproto report birds.model --pack birds.npz
    """
    from superproto.report_file import report_on

    with screen.progress(f"reading {source.name}"):
        page = report_on(source, pack, setting=setting.value, protocol=protocol.value, images=images, params=params)
    screen.show(f"Report: {page.write(output)}")


@app.command()
def tables(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="README.md and docs with generated blocks, if none given."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Change nothing; fail where a block is stale.")] = False,
    records: Annotated[
        Path, typer.Option("--records", metavar="FILE", help="The records that the numbers come from.")
    ] = Path("benchmarks/records.jsonl"),
    speed: Annotated[
        Path, typer.Option("--speed", metavar="FILE", help="The entries of the bench that times come from.")
    ] = Path("benchmarks/speed.jsonl"),
    zoo: Annotated[Path, typer.Option("--zoo", metavar="FILE", help="The records of the leaderboard.")] = Path(
        "benchmarks/zoo.jsonl"
    ),
) -> None:
    """Write the numbers between `generated` markers from records, or check that they are up to date.

    \b
    Example:  superproto tables --check
    """
    from superproto.bench.entries import last_entries
    from superproto.errors import UserError
    from superproto.generated import marked_files, refresh, stale
    from superproto.leaderboard.blocks import Standing
    from superproto.records import read

    chosen = files or marked_files(Path())
    if not chosen:
        raise UserError("No file here has generated blocks. Run this where README.md is, or name files.")
    if not records.exists() and not zoo.exists():
        raise UserError(f"Neither {records} nor {zoo} exists. Give --records or --zoo.")
    known, board = (read(path) if path.exists() else [] for path in (records, zoo))
    times, standing = last_entries(speed), Standing(board)
    if check:
        old = stale(chosen, known, times, standing)
        if old:
            raise UserError(f"{', '.join(map(str, old))}: generated blocks are stale. Run: superproto tables")
        screen.show(f"{len(chosen)} files agree with {len(known) + len(board)} records.")
    else:
        changed = refresh(chosen, known, times, standing)
        screen.show(f"Changed: {', '.join(map(str, changed)) or 'nothing'}.")


def _show_demo(found: Demo) -> None:
    from superproto.metrics import confusion

    task = found.task
    names = [str(digit) for digit in task.unseen_classes]
    screen.show(f"Unseen digits {', '.join(names)}: {int(task.asked.sum())} pictures, no label, only descriptions.\n")
    rows = [
        [
            "inductive: labeled digits alone",
            *_scores(found.accuracy(found.inductive), [c.inductive for c in found.choices]),
        ],
        [
            "transductive: unlabeled pictures too",
            *_scores(found.accuracy(found.transductive), [c.transductive for c in found.choices]),
        ],
    ]
    averaged = [f"mean of all {len(found.choices)} choices", "standard deviation"] if found.choices else []
    screen.show_table(["per-class accuracy, %", f"unseen {', '.join(names)}", *averaged], rows)
    _, counts = confusion(task.expected, found.transductive.labels, task.unseen_classes)
    body = [[name, *(str(count) for count in row)] for name, row in zip(names, counts)]
    screen.show_table(["digit", *(f"called {name}" for name in names)], body, title="Transductive confusion")


def _scores(accuracy: float, everywhere: list[float]) -> list[str]:
    import numpy as np

    spread = [float(np.mean(everywhere)), float(np.std(everywhere))] if everywhere else []
    return [f"{100 * value:.1f}" for value in (accuracy, *spread)]


@contextmanager
def _counter(text: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error; calling what it yields moves it. Nothing where nobody watches."""
    if not sys.stderr.isatty() or not total:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda steps: bar.advance(task, steps)
