"""The verb `research paper`: reproduce the tables and figures of the paper on one page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from superproto.cli import terminal
from superproto.cli.app import research_app
from superproto.cli.options import DataFolder, OpenPage, check_output
from superproto.cli.research.checkout import records_file


@research_app.command("paper")
def paper_verb(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PAGE", help="The page to write.")],
    data: DataFolder = Path("data"),
    tables: Annotated[
        list[int] | None,
        typer.Option("--table", metavar="N", help="This table only, 2 to 6. Repeatable.", min=2, max=6),
    ] = None,
    figures: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="NAME", help="This figure only, for example convergence. Repeatable."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Repeat runs that are recorded already.")] = False,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records",
            metavar="FILE",
            help="File of records: recorded runs are not repeated, new ones are appended. Default in a checkout: "
            "benchmarks/records.jsonl.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", help="Number of processes; by default one per core, at most 4.", min=1),
    ] = None,
    open_page: OpenPage = False,
) -> None:
    """Reproduce the tables and figures of the paper on the data sets in a folder.

    Data sets that the folder lacks are omitted. After an interruption, run the
    same command again to resume.

    \b
    Example:  superproto research paper --data packs -o paper.html
              superproto research paper --data packs --table 4
                  --figure convergence --records runs.jsonl -o paper.html
    """
    from superproto.experiments.paper.page import FIGURES, TABLES, reproduce_paper

    known = records_file(records, "records.jsonl")
    check_output(output, known)
    partly = bool(tables or figures)
    page = reproduce_paper(
        data,
        known,
        tables=tables or (() if partly else TABLES),
        figures=figures or (() if partly else FIGURES),
        fresh=fresh,
        processes=jobs or min(4, os.cpu_count() or 1),
        step=terminal.steps(),
    )
    terminal.show_page(page.write(output), open_page)
