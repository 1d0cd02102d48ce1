"""The verb `label`: a folder of pictures and a table of classes become labels, a model and a report."""

from __future__ import annotations

import shlex
import warnings
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superproto.cli import terminal
from superproto.cli.app import HelpPanel, app
from superproto.cli.options import AsJson, check_output
from superproto.cli.pictures import (
    EncoderOption,
    Photos,
    RunOption,
    listed,
    number_of,
    print_progress_lines,
    show_skipped,
)

if TYPE_CHECKING:
    from superproto.estimator.forecast import Forecast
    from superproto.pictures.fit_record import FitRecord
    from superproto.pictures.labeling import PictureTask

# Below this forecast the command says how to describe classes better.
_LOW_FORECAST = 0.5


class PicturePool(str, Enum):
    any = "any"
    new = "new"


@app.command("label", rich_help_panel=HelpPanel.MODEL)
def label_verb(
    photos: Photos,
    classes: Annotated[
        Path,
        typer.Option(
            "--classes", metavar="FILE", help="Table of classes: CSV (name,number,... or name,description), JSON, .npz."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="LABELS", help="The CSV to write.  [RUN/labels.csv]")
    ] = None,
    pool: Annotated[
        PicturePool,
        typer.Option(
            "--pool", help="Classes an unsorted picture may have. any: all. new: only those without a folder."
        ),
    ] = PicturePool.any,
    encoder: EncoderOption = "efficientnet-lite0",
    run: RunOption = None,
    as_json: AsJson = False,
) -> None:
    """Label the pictures of a folder, including classes without any example.

    Sub-folders with the name of a class hold its examples. All other pictures
    are labeled. Your pictures are never moved or changed. Run the same command
    again to continue after an interruption.

    \b
    Example:  superproto label photos --classes classes.csv -o labels.csv
    """
    from superproto.explorer.run import keep_picture_run
    from superproto.pictures.embedding import RUN_FOLDER
    from superproto.pictures.labeling import forecast_of, read_picture_task, write_picture_labels

    check_output(output, classes)
    place = photos / RUN_FOLDER if run is None else run
    task = read_picture_task(
        photos, classes, pool=pool.value, encoder=encoder, run=place, progress=print_progress_lines()
    )
    for line in task.warnings:
        terminal.note(line)
    if not as_json:
        _show_counts(task)
    model, record = _fit_or_reopen(task, place)
    keep_picture_run(place, task)
    expected, labels = forecast_of(task, model), output or place / "labels.csv"
    for path in {place / "labels.csv", labels}:
        write_picture_labels(path, task, model)
    report, verdict = _write_report(task, model, record, place)
    if as_json:
        terminal.show_json({"labels": labels, "report": report, "verdict": verdict, **_as_dict(task, model, expected)})
        return
    _show_forecast(task, expected)
    _show_classes(task, model)
    show_skipped(task.embedded)
    terminal.show(verdict)
    terminal.show(f"Labels: {terminal.place(labels)}")
    terminal.show_page(report)
    opened = shlex.quote(str(place if run else photos))
    terminal.show(f"Next: check the labels and answer a few questions: superproto explore {opened}")


def _fit_or_reopen(task: PictureTask, place: Path) -> tuple[Any, FitRecord]:
    """The fitted model and its record. The model of an earlier run is reused if the task is the same."""
    from superproto.baselines.registry import load_model
    from superproto.pictures.fit_record import MODEL_FILE, FitRecord, fit_signature, read_fit_record, write_fit_record
    from superproto.pictures.labeling import fit_picture_task

    signature = fit_signature(task)
    record = read_fit_record(place, signature)
    if record is None:
        with (
            terminal.progress(f"labeling {int((task.labels < 0).sum())} pictures"),
            warnings.catch_warnings(record=True) as told,
        ):
            warnings.simplefilter("always")
            model = fit_picture_task(task)
        record = FitRecord(signature, [str(warning.message) for warning in told])
        write_fit_record(place, record, model)
    for line in record.notes:
        terminal.note(line)
    return load_model(place / MODEL_FILE), record


def _write_report(task: PictureTask, model: Any, record: FitRecord, place: Path) -> tuple[Path, str]:
    """Write the report unless it is there already. Returns its path and the first sentence of its verdict."""
    from superproto.pictures.fit_record import REPORT_FILE, has_report, note_report
    from superproto.pictures.labeling import as_task
    from superproto.reporting.model_report import build_report

    report = place / REPORT_FILE
    if has_report(place, record, task):
        return report, record.verdict
    attributes = task.classes.attributes
    named = None if attributes is None else [str(name) for name in attributes]
    page = build_report(
        model, as_task(task), images=task.photos, attribute_names=named, files=("model.safetensors", None)
    )
    page.write(report)
    verdict = str(page.content["verdict"][0])
    note_report(place, record, task, verdict)
    return report, verdict


def _show_counts(task: PictureTask) -> None:
    seen, copied = task.seen, int(task.copied.sum())
    asked = int((task.labels < 0).sum()) + copied
    same = f" ({copied} of them copied from sorted ones)" if copied else ""
    terminal.show(
        f"{number_of(len(task.labels) - asked, 'sorted picture')} of {number_of(int(seen.sum()), 'class')}, "
        f"{asked} unsorted{same}, {number_of(int((~seen).sum()), 'class')} without an example."
    )


def _show_forecast(task: PictureTask, expected: Forecast | None) -> None:
    if expected is not None:
        terminal.show(
            f"Forecast: {expected.accuracy:.0%} correct for classes without an example "
            f"(chance: {expected.chance:.0%}). Measured on sorted classes that were labeled as if they had no example."
        )
        if expected.accuracy < _LOW_FORECAST:
            terminal.show(_low_forecast(task.classes.kind))
    elif not task.seen.all():
        terminal.show("Forecast: none. It needs four classes with enough sorted pictures and two classes without any.")


def _low_forecast(kind: str) -> str:
    numbers = (
        "" if kind == "attributes" else " Attributes in numbers, one column for each trait, work better than words."
    )
    return (
        "The forecast is low: the descriptions say too little about what the pictures show."
        f"{numbers} A few sorted pictures of each class help most."
    )


def _show_classes(task: PictureTask, model: Any) -> None:
    from superproto.pictures.labeling import summarize_classes

    lines = summarize_classes(task, model)
    rows = [
        [line.name, str(line.sorted), str(line.found), f"{line.doubt:.0%}" if line.found else "", "yes" * line.lost]
        for line in lines
        if line.found or not line.sorted
    ]
    terminal.show_table(["class", "sorted", "labeled", "mean uncertainty", "no matching cluster"], rows)
    lost = [line.name for line in lines if line.lost and line.found]
    if lost:
        terminal.show(
            f"The description matches no cluster of pictures for {listed(lost)}. All their labels may be wrong: "
            "improve the descriptions, or sort a few of their pictures."
        )
    empty = [line.name for line in lines if not line.found and not line.sorted]
    if empty:
        terminal.show(f"No picture was labeled {listed(empty)}. They may be absent, or their descriptions may not fit.")


def _as_dict(task: PictureTask, model: Any, expected: Forecast | None) -> dict[str, Any]:
    from superproto.pictures.labeling import summarize_classes

    return {
        "forecast": None if expected is None else expected._asdict(),
        "classes": [line._asdict() for line in summarize_classes(task, model)],
        "skipped": [entry._asdict() for entry in task.embedded.skipped],
        "copies": task.embedded.copies,
        "near_copies": task.embedded.near,
        "warnings": task.warnings,
    }
