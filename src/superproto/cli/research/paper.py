"""Research verbs: paper and docs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from superproto.cli import terminal
from superproto.cli.app import app


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
    from superproto.experiments.paper.page import FIGURES, TABLES, reproduce_paper

    partly = bool(tables or figures)
    page = reproduce_paper(
        data,
        records or (Path("benchmarks") if Path("benchmarks").is_dir() else Path()) / "records.jsonl",
        tables=tables or (() if partly else TABLES),
        figures=figures or (() if partly else FIGURES),
        fresh=fresh,
        processes=jobs or min(4, os.cpu_count() or 1),
        step=terminal.steps(),
    )
    terminal.show(f"Report: {page.write(output)}")


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
    from superproto.errors import UserError
    from superproto.experiments.generated_docs import marked_files, read_results, refresh, stale

    chosen = files or marked_files(Path())
    if not chosen:
        raise UserError("No file here has generated blocks. Run this where README.md is, or name files.")
    if not records.exists() and not zoo.exists():
        raise UserError(f"Neither {records} nor {zoo} exists. Give --records or --zoo.")
    results = read_results(
        records,
        zoo,
        speed,
        parts=records.with_name("parts.jsonl"),
        held_out=records.with_name("parts_held_out.jsonl"),
        robustness=records.with_name("robustness.jsonl"),
    )
    if check:
        old = stale(chosen, results)
        if old:
            raise UserError(f"{', '.join(map(str, old))}: generated blocks are stale. Run: superproto tables")
        terminal.show(f"{len(chosen)} files agree with {len(results.records) + len(results.leaderboard)} records.")
    else:
        changed = refresh(chosen, results)
        terminal.show(f"Changed: {', '.join(map(str, changed)) or 'nothing'}.")
