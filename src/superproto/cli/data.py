"""Verbs about data: `pack` makes a data set of one's own files, `info` says what is inside one."""

from __future__ import annotations

from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import screen
from .app import app
from .options import AsJson, Attributes, PackPath

if TYPE_CHECKING:
    from superproto.datasets import Description


class Several(str, Enum):
    average = "average"
    keep = "keep"


@app.command()
def pack(
    features: Annotated[
        Path, typer.Option("--features", help="One row per sample: npy, npz, csv, parquet or safetensors.")
    ],
    labels: Annotated[
        Path, typer.Option("--labels", help="CSV with id,label and if wanted split; an empty label is to be found.")
    ],
    classes: Annotated[
        Path, typer.Option("--classes", help="CSV (name first, then numbers) or JSON: one description per class.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The pack to write.")],
    several: Annotated[
        Several, typer.Option("--several", help="Several vectors for a class: average them, or keep them side by side.")
    ] = Several.average,
    unseen: Annotated[
        list[str] | None,
        typer.Option(
            "--unseen", metavar="CLASS", help="A class to ask about; its labels serve scoring alone. Repeatable."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a pack of your own arrays: features, a table of labels, a table of class descriptions.

    \b
    Example:  superproto pack --features x.npy --labels y.csv
                  --classes attributes.csv -o animals.npz
    y.csv:           id,label      attributes.csv:  name,stripes,hooves
                     0,horse                        horse,0,1
                     1,                             zebra,1,1
    """
    from superproto.datasets import describe, make_pack

    with screen.progress(f"packing {features.name}"):
        make_pack(features, labels, classes, output, several=several.value, unseen=unseen or ())
        found = describe(output)
    if as_json:
        screen.show_json({"pack": output, **asdict(found)})
    else:
        _show(found)
        screen.show(f"Wrote {output}.")


@app.command()
def info(path: PackPath, attributes: Attributes = "att", as_json: AsJson = False) -> None:
    """Say what is inside a data set, what looks wrong with it, and whether its splits leak.

    \b
    Example:  superproto info cub.npz
    """
    from superproto.datasets import describe

    with screen.progress(f"reading {path.name}"):
        found = describe(path, attributes=attributes)
    if as_json:
        screen.show_json(asdict(found))
    else:
        _show(found)


def _show(found: Description) -> None:
    screen.show(found.name)
    card = found.card
    about = () if card is None else (f"{card.source} ({card.license})", card.citation)
    for title, lines in (
        ("inside", found.facts),
        ("card", about),
        ("leak check", found.leaks),
        ("looks odd", found.warnings),
        ("unusable", found.faults),
    ):
        for line in lines:
            screen.show(f"  {title:<11} {line}")
            title = ""
