"""The verb about speed: `bench`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from superproto.errors import UserError

from . import screen
from .app import app
from .options import AsJson

if TYPE_CHECKING:
    from superproto.bench import Entry


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
    from superproto.bench import STUDIES, write_entry
    from superproto.bench import bench as run
    from superproto.records import check_writable

    unknown = [name for name in only or () if name not in STUDIES]
    if unknown:
        raise UserError(f"'{unknown[0]}' is no study. Choose from {', '.join(STUDIES)}.")
    for path in (output, plot):
        if path is not None:
            check_writable(path)
    if large is not None:
        from superproto.large import bench_large

        entries = iter([bench_large(large)])
    else:
        entries = run(data, only)
    for entry in entries:
        if output is not None:
            write_entry(output, entry)
        if plot is not None and "curves" in entry:
            from superproto.growth_chart import write_growth_chart

            write_growth_chart(plot, entry)
        if as_json:
            screen.show_json(entry)
        else:
            _show(entry)


def _show(entry: Entry) -> None:
    sizes = ", ".join(f"{value} {name}" for name, value in entry["sizes"].items())
    rows = [[name, f"{value:.3g} s"] for name, value in entry.get("seconds", {}).items()]
    rows += [[name, f"{value / 1e6:.0f} MB"] for name, value in entry.get("bytes", {}).items()]
    rows += [[name, f"{value:.3g}"] for name, value in entry.get("ratios", {}).items()]
    rows += [[f"grows with {name} as ^", f"{value:.2f}"] for name, value in entry.get("exponents", {}).items()]
    rows += [[name, "kept" if value else "MISSED"] for name, value in entry.get("kept", {}).items()]
    screen.show_table([entry["study"], "measured"], rows, title=f"{entry['study']}: {sizes}")
