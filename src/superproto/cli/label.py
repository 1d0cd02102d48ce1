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
    print_progress_lines,
    show_skipped,
)

if TYPE_CHECKING:
    from superproto.estimator.forecast import Forecast
    from superproto.pictures.labeling import PictureTask


class PicturePool(str, Enum):
    any = "any"
    new = "new"


@app.command("label", rich_help_panel=HelpPanel.MODEL)
def label_verb(
    photos: Photos,
    classes: Annotated[
        Path, typer.Option("--classes", metavar="FILE", help="CSV: name,number,... or name,description; JSON; .npz.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="LABELS", help="The CSV to write.  [RUN/labels.csv]")
    ] = None,
    pool: Annotated[
        PicturePool,
        typer.Option("--pool", help="any: a picture may be of every class. new: of classes without a folder only."),
    ] = PicturePool.any,
    encoder: EncoderOption = "efficientnet-lite0",
    run: RunOption = None,
    as_json: AsJson = False,
) -> None:
    """Label the pictures of a folder, also with classes of which there is no example.

    Sub-folders that are named as classes hold examples. All other pictures are
    labeled. Nothing is moved or changed. A second run continues the first.

    \b
    Example:  superproto label photos --classes classes.csv -o labels.csv
    """
    from superproto.explorer.run import keep_picture_run
    from superproto.pictures.embedding import RUN_FOLDER
    from superproto.pictures.labeling import forecast_of, read_picture_task

    check_output(output, classes)
    place = photos / RUN_FOLDER if run is None else run
    task = read_picture_task(
        photos, classes, pool=pool.value, encoder=encoder, run=place, progress=print_progress_lines()
    )
    for line in task.warnings:
        terminal.note(line)
    if not as_json:
        _show_counts(task)
    model = _fit_or_reopen(task, place)
    keep_picture_run(place, task)
    expected, labels = forecast_of(task, model), output or place / "labels.csv"
    report = _write_results(task, model, place, labels)
    if as_json:
        terminal.show_json(_as_dict(task, model, expected, labels, report))
        return
    _show_forecast(task, expected)
    _show_classes(task, model)
    show_skipped(task.embedded)
    terminal.show(f"Labels: {terminal.place(labels)}")
    terminal.show_page(report)
    opened = shlex.quote(str(place if run else photos))
    terminal.show(f"Next: answer a few questions about them: superproto explore {opened}")


def _fit_or_reopen(task: PictureTask, place: Path) -> Any:
    """The model; that of an earlier run where pictures, folders and classes are the same."""
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
    return load_model(place / MODEL_FILE)


def _write_results(task: PictureTask, model: Any, place: Path, labels: Path) -> Path:
    """Labels, in the folder of the run and where the user wants them, and the report; the path of the report."""
    from superproto.pictures.labeling import as_task, write_picture_labels
    from superproto.reporting.model_report import build_report

    for path in {place / "labels.csv", labels}:
        write_picture_labels(path, task, model)
    attributes = task.classes.attributes
    named = None if attributes is None else [str(name) for name in attributes]
    page = build_report(
        model, as_task(task), images=task.photos, attribute_names=named, files=("model.safetensors", None)
    )
    return Path(page.write(place / "report.html"))


def _show_counts(task: PictureTask) -> None:
    seen, asked = task.seen, int((task.labels < 0).sum())
    terminal.show(
        f"{len(task.labels) - asked} sorted pictures of {int(seen.sum())} classes, {asked} unsorted ones, "
        f"{int((~seen).sum())} classes without an example."
    )


def _show_forecast(task: PictureTask, expected: Forecast | None) -> None:
    if expected is not None:
        terminal.show(
            f"Forecast: {expected.accuracy:.0%} right for classes without an example (chance: {expected.chance:.0%}). "
            "Measured on sorted classes, labeled as if they had no example."
        )
    elif not task.seen.all():
        terminal.show("Forecast: none. It needs four classes with enough sorted pictures and two without.")


def _show_classes(task: PictureTask, model: Any) -> None:
    from superproto.pictures.labeling import summarize_classes

    lines = summarize_classes(task, model)
    rows = [
        [line.name, str(line.sorted), str(line.found), f"{line.doubt:.0%}" if line.found else "", "yes" * line.lost]
        for line in lines
        if line.found or not line.sorted
    ]
    terminal.show_table(["class", "sorted", "labeled", "mean doubt", "no cluster fits"], rows)
    lost = [line.name for line in lines if line.lost]
    if lost:
        terminal.show(
            f"No cluster of pictures fits the description of {listed(lost)}. All labels of these may be wrong: "
            "describe them better, or sort a few of their pictures."
        )


def _as_dict(task: PictureTask, model: Any, expected: Forecast | None, labels: Path, report: Path) -> dict[str, Any]:
    from superproto.pictures.labeling import summarize_classes

    return {
        "labels": labels,
        "report": report,
        "forecast": None if expected is None else expected._asdict(),
        "classes": [line._asdict() for line in summarize_classes(task, model)],
        "skipped": [entry._asdict() for entry in task.embedded.skipped],
        "copies": task.embedded.copies,
        "near_copies": task.embedded.near,
        "warnings": task.warnings,
    }
