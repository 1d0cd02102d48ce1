"""The verb about speed: `bench`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from superproto.cli import terminal
from superproto.cli.app import app
from superproto.cli.options import AsJson
from superproto.errors import UserError

if TYPE_CHECKING:
    from superproto.experiments.speed.entries import Entry


@app.command()
def bench(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of the data packs.")] = Path("."),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="JSON lines to append the entries to.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="STUDY", help="This study; repeatable.")] = None,
    large: Annotated[
        Path | None,
        typer.Option("--large", metavar="DIR", help="ImageNet's size instead: a folder with 5 GB of room for it."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="SVG", help="Draw the study growth into this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how long a fit takes, beside other computations in the same run.

    \b
    Example:  superproto bench --data packs -o speed.jsonl
    """
    from superproto.experiments.records import check_writable
    from superproto.experiments.speed import STUDIES

    unknown = [name for name in only or () if name not in STUDIES]
    if unknown:
        raise UserError(f"'{unknown[0]}' is no study. Choose from {', '.join(STUDIES)}.")
    for path in (output, plot):
        if path is not None:
            check_writable(path)
    done = 0
    try:
        for entry in _entries(data, only, large):
            _keep(entry, output, plot)
            done += 1
            if as_json:
                terminal.show_json(entry)
            else:
                _show(entry)
    except KeyboardInterrupt:
        where = "" if output is None else f" in {output}"
        print(f"Stopped: {done} studies are done{where}; the one that was running is lost.", file=sys.stderr)
        raise


def _entries(data: Path, only: list[str] | None, large: Path | None) -> Iterator[Entry]:
    if large is None:
        from superproto.experiments.speed import STUDIES
        from superproto.experiments.speed import bench as run

        names = list(only or STUDIES)
        entries = run(data, names)
        for number, name in enumerate(names, start=1):
            print(f"study {number} of {len(names)}: {name}", file=sys.stderr, flush=True)
            yield next(entries)
        return
    from superproto.experiments.speed.large import bench_large

    yield bench_large(large)


def _keep(entry: Entry, output: Path | None, plot: Path | None) -> None:
    from superproto.experiments.speed.entries import write_entry
    from superproto.experiments.speed.views import write_growth_chart

    if output is not None:
        write_entry(output, entry)
    if plot is not None and "curves" in entry:
        write_growth_chart(plot, entry)


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
