"""Verbs about data: `pack` converts the user's files to a data set; `info` and `attributes` describe a data set."""

from __future__ import annotations

from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from superproto.cli import terminal
from superproto.cli.app import HelpPanel, app
from superproto.cli.options import AsJson, Attributes, Method, PackPath, Seed, check_output
from superproto.errors import UserError

if TYPE_CHECKING:
    from superproto.datasets import Description
    from superproto.evaluation.attribute_visibility import Report


class Several(str, Enum):
    """What to do with several vectors of one class."""

    average = "average"
    keep = "keep"


@app.command("pack", rich_help_panel=HelpPanel.DATA)
def pack_verb(
    features: Annotated[
        Path,
        typer.Option("--features", help="Feature vectors, one row per sample: npy, npz, csv, parquet or safetensors."),
    ],
    labels: Annotated[
        Path,
        typer.Option(
            "--labels",
            help="CSV with the columns id,label and optionally split (train, val, test). Empty label: unlabeled.",
        ),
    ],
    classes: Annotated[
        Path,
        typer.Option(
            "--classes", help="One description for each class, seen or unseen: CSV (name, then numbers) or JSON."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The pack to write.")],
    several: Annotated[
        Several,
        typer.Option("--several", help="If a class has several vectors: average them, or keep them all as columns."),
    ] = Several.average,
    unseen: Annotated[
        list[str] | None,
        typer.Option(
            "--unseen",
            metavar="CLASS",
            help="Treat this class as unseen: its labels are used for scoring only. Repeatable.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Convert your own files to a pack, the data set that the other commands read.

    Input: features with one row per sample; a table with the class of each
    sample (leave a label empty if it is to be predicted); a table with one
    description for each class. Output: one .npz file.

    \b
    Example:  superproto pack --features x.npy --labels y.csv
                  --classes attributes.csv -o animals.npz
    y.csv:           id,label      attributes.csv:  name,stripes,hooves
                     0,horse                        horse,0,1
                     1,                             zebra,1,1
    """
    from superproto.datasets import describe, make_pack

    check_output(output, features, labels, classes)
    with terminal.progress(f"packing {features.name}"):
        make_pack(features, labels, classes, output, several=several.value, unseen=unseen or ())
        found = describe(output)
    if as_json:
        terminal.show_json({"pack": output, **asdict(found)})
    else:
        _show(found)
        terminal.show(f"Wrote {terminal.place(output)}.")


@app.command("info", rich_help_panel=HelpPanel.DATA)
def info_verb(path: PackPath, attributes: Attributes = "att", as_json: AsJson = False) -> None:
    """Describe a data set: its sizes, problems in its values, and samples shared by its splits.

    Use it on a new pack before fitting. Nothing is changed.

    \b
    Example:  superproto info cub.npz
    """
    from superproto.datasets import describe

    with terminal.progress(f"reading {path.name}"):
        found = describe(path, attributes=attributes)
    if as_json:
        terminal.show_json(asdict(found))
    else:
        _show(found)


@app.command("attributes", rich_help_panel=HelpPanel.DATA)
def attributes_verb(
    path: PackPath,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the table of all attributes as .html or .csv."),
    ] = None,
    method: Method = "prototypes",
    folds: Annotated[int, typer.Option("--folds", help="Number of class-disjoint validation tasks.", min=2)] = 3,
    seed: Seed = 0,
    descriptions: Attributes = "att",
    as_json: AsJson = False,
) -> None:
    """Measure how well each attribute can be predicted from the features.

    Attributes are predicted for classes that were not in the training data. An
    attribute that cannot be predicted does not help to recognize an unseen
    class. The result is a table of attributes, best predicted first.

    \b
    Example:  superproto attributes cub.npz -o attributes.html
    """
    from superproto.datasets.loading import read_source, to_task
    from superproto.evaluation.attribute_visibility import inspect_attributes
    from superproto.reporting.attribute_report import write_report

    if output is not None and output.suffix.lower() not in (".html", ".csv"):
        raise UserError(f"{output} ends in '{output.suffix}'. Give a name that ends in .html or .csv.")
    check_output(output, path)
    with terminal.progress(f"reading {path.name}"):
        pack = read_source(path, attributes=descriptions)
        task = to_task(pack)
    with terminal.progress(f"{task.semantics.shape[1]} attributes of {task.name}"):
        report = inspect_attributes(task, pack.attribute_names, method=method, folds=folds, seed=seed)
    if output is not None:
        write_report(output, report)
    if as_json:
        terminal.show_json(report.as_dict())
    else:
        _show_attributes(report, output)


def _show(found: Description) -> None:
    terminal.show(found.name)
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
            terminal.show(f"  {title:<11} {line}")
            title = ""


def _show_attributes(report: Report, output: Path | None) -> None:
    shown = 10
    rows = [[entry.name, f"{entry.auc:.3f}", f"{entry.correlation:+.3f}"] for entry in report.attributes]
    columns = ["attribute", "area under curve", "correlation"]
    if len(rows) <= 2 * shown or (output is None and len(rows) <= 100):
        terminal.show_table(columns, rows, title="Attributes predicted on held-out classes")
    else:
        terminal.show_table(columns, rows[:shown], title=f"The {shown} best predicted attributes, on held-out classes")
        terminal.show_table(columns, rows[-shown:], title=f"The {shown} worst predicted")
    for line in report.sentences():
        terminal.show(line)
    if output is not None:
        terminal.show(f"Wrote {terminal.place(output)}.")
