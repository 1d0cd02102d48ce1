"""The verb `research speed`: measure the time and the memory of a fit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from superproto.cli import terminal
from superproto.cli.app import research_app
from superproto.cli.options import AsJson, DataFolder, check_output
from superproto.errors import UserError

if TYPE_CHECKING:
    from superproto.experiments.records import Entry


@research_app.command("speed")
def speed_verb(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The JSON lines file to append the measurements to."),
    ] = None,
    data: DataFolder = Path("data"),
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="STUDY", help="This study only. Repeatable.")
    ] = None,
    large: Annotated[
        Path | None,
        typer.Option(
            "--large", metavar="DIR", help="Fit a task of ImageNet's size instead; DIR needs 5 GB of free space."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="SVG", help="Draw the chart of the study growth into this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how long a fit takes, compared with other computations in the same run.

    The measurements are printed; --output also writes them to a file. After
    Ctrl-C, finished studies are kept.

    \b
    Example:  superproto research speed --data packs -o speed.jsonl
              superproto research speed --only growth --plot growth.svg
    """
    from superproto.experiments.speed import STUDIES
    from superproto.experiments.speed.views import write_growth_chart

    unknown = [name for name in only or () if name not in STUDIES]
    if unknown:
        raise UserError(f"'{unknown[0]}' is not a study. Choose from {', '.join(STUDIES)}.")
    check_output(output)
    check_output(plot)
    done = 0
    try:
        for entry in _entries(data, only, large, output):
            if plot is not None and "curves" in entry:
                write_growth_chart(plot, entry)
            done += 1
            if as_json:
                terminal.show_json(entry)
            else:
                _show(entry)
    except KeyboardInterrupt:
        where = "" if output is None else f" in {output}"
        print(f"Stopped: {done} studies are finished{where}; the interrupted one is lost.", file=sys.stderr)
        raise


def _entries(data: Path, only: list[str] | None, large: Path | None, output: Path | None) -> Iterator[Entry]:
    """Run the studies. Each entry is written to the output before the next study begins."""
    from superproto.experiments.speed import STUDIES, bench_large
    from superproto.experiments.speed import bench as run

    names = list(only or STUDIES)

    def announce(name: str) -> None:
        print(f"study {names.index(name) + 1} of {len(names)}: {name}", file=sys.stderr, flush=True)

    return run(data, names, output, announce) if large is None else bench_large(large, output)


def _show(entry: Entry) -> None:
    sizes = ", ".join(f"{value} {name}" for name, value in entry["sizes"].items())
    rows = [[name, f"{value:.3g} s"] for name, value in entry.get("seconds", {}).items()]
    rows += [[f"floor: {name}", f"{value:.3g} s"] for name, value in entry.get("floor", {}).items()]
    rows += [[name, f"{value / 1e6:.0f} MB"] for name, value in entry.get("bytes", {}).items()]
    rows += [[name, f"{value:.3g}"] for name, value in entry.get("ratios", {}).items()]
    rows += [[f"visits: {name}", f"{value:g}"] for name, value in entry.get("visits_per_iteration", {}).items()]
    rows += [[f"grows with {name} as ^", f"{value:.2f}"] for name, value in entry.get("exponents", {}).items()]
    rows += [[name, "kept" if value else "MISSED"] for name, value in entry.get("kept", {}).items()]
    terminal.show_table([entry["study"], "measured"], rows, title=f"{entry['study']}: {sizes}")
