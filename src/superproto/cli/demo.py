"""The verb `demo`: label digits that have no labeled example, print the scores, and write a report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from superproto.cli import terminal
from superproto.cli.app import HelpPanel, app
from superproto.cli.options import OpenPage

if TYPE_CHECKING:
    from superproto.reporting.digits_demo import Demo


@app.command("demo", rich_help_panel=HelpPanel.START)
def demo_verb(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for report.html; created if missing.", file_okay=False)
    ] = Path("superproto-demo"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Skip the average over all 120 choices of unseen digits.")
    ] = False,
    open_page: OpenPage = False,
    explore: Annotated[
        bool, typer.Option("--explore", help="Instead of a report, open a page on which you review the labels.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", help="With --explore: the port. 0: any free port.", min=0, max=65535)
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="With --explore: open the page in a browser.")
    ] = True,
) -> None:
    """Recognize handwritten digits that have no labeled example.

    The labels of the digits 3, 6 and 7 are hidden; the model has only a
    description of each. It labels their pictures. The command prints the scores
    and writes a report that opens in a browser. It needs no data.

    \b
    Example:  superproto demo
              superproto demo --explore
    """
    if explore:
        _explore_digits(output, port, browser)
        return
    from superproto.files import write_whole
    from superproto.reporting.digits_demo import build_demo_page, prototypes_picture, run_demo
    from superproto.reporting.page import standalone_svg

    output.mkdir(parents=True, exist_ok=True)
    with _counter("all choices of unseen digits", 0 if quick else 120) as tick:
        found = run_demo(every=not quick, jobs=os.cpu_count() or 1, tick=tick)
    _show_demo(found)
    path = build_demo_page(found).write(output / "report.html")
    with write_whole(output / "demo.svg", text=True) as handle:
        handle.write(standalone_svg(prototypes_picture(found)))
    terminal.show("\nNext, your own data: superproto pack --help, then superproto fit --help")
    terminal.show_page(path, open_page)


def _explore_digits(output: Path, port: int, browser: bool) -> None:
    """Serve the page on a run of digits. The digits are written on the first call only."""
    from superproto.cli.explore import serve_page
    from superproto.errors import UserError
    from superproto.explorer.digits_run import keep_digits_run

    try:
        import PIL  # noqa: F401
    except ImportError:
        raise UserError("The page needs some packages: pip install 'superproto[pictures]'") from None
    with terminal.progress("writing the digits"):
        run = keep_digits_run(output)
    serve_page(run, port, browser)


def _show_demo(found: Demo) -> None:
    from superproto.metrics import confusion

    task = found.task
    names = [str(digit) for digit in task.unseen_classes]
    terminal.show(f"Unseen digits {', '.join(names)}: {int(task.asked.sum())} pictures, no label, only descriptions.\n")
    rows = [
        [
            "inductive: labeled digits only",
            *_scores(found.accuracy(found.inductive), [c.inductive for c in found.choices]),
        ],
        [
            "transductive: also unlabeled pictures",
            *_scores(found.accuracy(found.transductive), [c.transductive for c in found.choices]),
        ],
    ]
    averaged = [f"mean of all {len(found.choices)} choices", "standard deviation"] if found.choices else []
    terminal.show_table(["per-class accuracy, %", f"unseen {', '.join(names)}", *averaged], rows)
    _, counts = confusion(task.expected, found.transductive.labels, task.unseen_classes)
    body = [[name, *(str(count) for count in row)] for name, row in zip(names, counts)]
    terminal.show_table(["digit", *(f"labeled {name}" for name in names)], body, title="Transductive confusion matrix")


def _scores(accuracy: float, everywhere: list[float]) -> list[str]:
    import numpy as np

    spread = [float(np.mean(everywhere)), float(np.std(everywhere))] if everywhere else []
    return [f"{100 * value:.1f}" for value in (accuracy, *spread)]


@contextmanager
def _counter(text: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error and yield the function that advances it; no bar outside a terminal."""
    if not sys.stderr.isatty() or not total:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda steps: bar.advance(task, steps)
