"""The verb `research docs`: write the numbers in README and docs from records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from superproto.cli import terminal
from superproto.cli.app import research_app
from superproto.errors import UserError

if TYPE_CHECKING:
    from superproto.experiments.generated_docs import RecordedResults


@research_app.command("docs")
def docs_verb(
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PAGE",
            help="The page to rewrite, or a folder with README.md and docs. Repeatable.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if a number differs from the records.")
    ] = False,
    records: Annotated[Path, typer.Option("--records", metavar="FILE", help="The runs of `research paper`.")] = Path(
        "benchmarks/records.jsonl"
    ),
    leaderboard: Annotated[
        Path, typer.Option("--leaderboard", metavar="FILE", help="The runs of `research leaderboard`.")
    ] = Path("benchmarks/leaderboard.jsonl"),
    speed: Annotated[Path, typer.Option("--speed", metavar="FILE", help="The times of `research speed`.")] = Path(
        "benchmarks/speed.jsonl"
    ),
) -> None:
    """Write the numbers in README and docs from records, or check that they are up to date.

    Generated text is between <!-- generated:NAME --> and <!-- /generated:NAME -->.
    With --check, the pages are those of --output, or of the current folder.

    \b
    Example:  superproto research docs --check
              superproto research docs --output .
    """
    if not output and not check:
        raise UserError("Give the pages to rewrite with --output (--output . for all of a checkout), or --check.")
    from superproto.experiments.generated_docs import refresh, stale

    pages = _pages(output or [Path()])
    results = _read_sources(records, leaderboard, speed)
    if not check:
        changed = refresh(pages, results)
        terminal.show(f"Changed: {', '.join(map(str, changed)) or 'nothing'}.")
        return
    old = stale(pages, results)
    if old:
        names = ", ".join(map(str, old))
        raise UserError(f"{names}: generated blocks are stale. Run: superproto research docs --output .")
    terminal.show(f"{len(pages)} pages agree with the records.")


def _pages(given: list[Path]) -> list[Path]:
    """Return the given files, and the files with generated blocks of the given folders."""
    from superproto.experiments.generated_docs import marked_files

    pages = [page for path in given for page in (marked_files(path) if path.is_dir() else [path])]
    if not pages:
        where = ", ".join(map(str, given))
        raise UserError(f"No page in {where} has generated blocks. Name a checkout or pages with --output.")
    return pages


def _read_sources(records: Path, leaderboard: Path, speed: Path) -> RecordedResults:
    """Read the records behind the blocks. A missing file counts as empty; records or leaderboard must exist."""
    from superproto.experiments.generated_docs import read_results

    if not records.exists() and not leaderboard.exists():
        raise UserError(f"Neither {records} nor {leaderboard} exists. Run this in a checkout, or give --records.")
    return read_results(
        records,
        leaderboard,
        speed,
        parts=records.with_name("parts.jsonl"),
        held_out=records.with_name("parts_held_out.jsonl"),
        perturbed=records.with_name("parts_perturbed.jsonl"),
        robustness=records.with_name("robustness.jsonl"),
        constants=records.with_name("constants.jsonl"),
        texts=records.with_name("texts.jsonl"),
    )
