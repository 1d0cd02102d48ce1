"""The verbs about pictures: `embed`, `describe` and `label`, which does both and fits a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superproto.cli import terminal
from superproto.cli.app import HelpPanel, app
from superproto.cli.options import AsJson, check_output
from superproto.errors import UserError

if TYPE_CHECKING:
    from superproto.pictures.embedding import EmbeddedFolder, EmbeddingProgress
    from superproto.pictures.forecast import AccuracyForecast
    from superproto.pictures.labeling import PictureTask

_SECONDS_BETWEEN_LINES = 5.0
_MOST_LISTED = 10


class PicturePool(str, Enum):
    any = "any"
    new = "new"


Photos = Annotated[Path, typer.Argument(metavar="PHOTOS", help="The folder that holds the pictures, at any depth.")]
EncoderOption = Annotated[
    str,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="efficientnet-lite0, -lite1, -lite2, onnx:FILE; with their packages open_clip:NAME, timm:NAME, hf:NAME.",
    ),
]
RunOption = Annotated[
    Path | None,
    typer.Option("--run", metavar="DIR", help="The folder that keeps features between runs.  [PHOTOS/.superproto]"),
]


@app.command("embed", rich_help_panel=HelpPanel.DATA)
def embed_verb(
    photos: Photos,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The .npz to write: features and ids.  [RUN/features.npz]"),
    ] = None,
    encoder: EncoderOption = "efficientnet-lite0",
    run: RunOption = None,
    as_json: AsJson = False,
) -> None:
    """Turn a folder of pictures into features.

    A second run computes new pictures only, also after an interruption. Files
    that are no pictures are left out and listed. The pictures stay as they are.

    \b
    Example:  superproto embed photos -o features.npz
    """
    from superproto.pictures.embedding import RUN_FOLDER, embed_folder, write_embedded

    check_output(output)
    embedded = embed_folder(photos, encoder=encoder, run=run, progress=_progress_lines())
    place = output or (photos / RUN_FOLDER if run is None else run) / "features.npz"
    write_embedded(place, embedded)
    if as_json:
        found = {"features": place, "pictures": len(embedded.ids), "computed": embedded.computed}
        skipped = [entry._asdict() for entry in embedded.skipped]
        terminal.show_json({**found, "skipped": skipped, "copies": embedded.copies, "near_copies": embedded.near})
        return
    _show_skipped(embedded)
    size = f"{len(embedded.ids)} pictures, {embedded.features.shape[1]} features each"
    terminal.show(f"Wrote {place}: {size}; {embedded.computed} were new.")


@app.command("describe", rich_help_panel=HelpPanel.DATA)
def describe_verb(
    classes: Annotated[
        Path | None,
        typer.Argument(metavar="CLASSES", help="CSV: name,number,... or name,description.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The .npz to write: class vectors and names.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="NAME", help="Embed words with the text side of this encoder.  [MiniLM]"),
    ] = None,
    template: Annotated[
        bool, typer.Option("--template", help="Print a questionnaire to fill in, a line for each class.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Turn a table of classes into class vectors.

    Numbers are attributes. Words are embedded, without the name of the class:
    say what one sees, such as colors, shapes and parts.

    \b
    Example:  superproto describe classes.csv -o semantics.npz
              superproto describe classes.csv --template > questions.csv
    """
    from superproto.pictures.descriptions import describe_classes, questionnaire, write_semantics
    from superproto.pictures.encoders import open_encoder

    if template:
        print(questionnaire(classes), end="")
        return
    if classes is None or output is None:
        raise UserError("Give the table of classes and --output FILE, or --template. See: superproto describe --help")
    check_output(output, classes)
    opened = None if encoder is None else open_encoder(encoder)
    if encoder is not None and not hasattr(opened, "embed_texts"):
        raise UserError(
            f"The encoder {encoder} has no text side. Leave --encoder out, or give open_clip:NAME or hf:NAME."
        )
    described = describe_classes(classes, encoder=opened)
    write_semantics(output, described)
    for line in described.notes:
        terminal.note(line)
    n_classes, width = described.semantics.shape
    if as_json:
        terminal.show_json({"semantics": output, "classes": n_classes, "numbers": width, "kind": described.kind})
        return
    made = {"attributes": "attributes", "sentences": "numbers from words", "names": "numbers from the name alone"}
    terminal.show(f"Wrote {output}: {n_classes} classes, {width} {made[described.kind]} each.")


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
    from superproto.pictures.labeling import read_picture_task

    check_output(output, classes)
    place = photos / RUN_FOLDER if run is None else run
    task = read_picture_task(photos, classes, pool=pool.value, encoder=encoder, run=place, progress=_progress_lines())
    for line in task.warnings:
        terminal.note(_printable(line))
    model, expected = _fit_or_reopen(task, place, quiet=as_json)
    keep_picture_run(place, task)
    labels = output or place / "labels.csv"
    report = _write_results(task, model, place, labels)
    if as_json:
        terminal.show_json(_as_dict(task, model, expected, labels, report))
        return
    _show_classes(task, model)
    _show_skipped(task.embedded)
    terminal.show(f"Labels: {labels}")
    terminal.show(f"Report: {report}")
    terminal.show(f"Next: answer a few questions about them: superproto explore {place if run else photos}")


def _fit_or_reopen(task: PictureTask, place: Path, quiet: bool) -> tuple[Any, AccuracyForecast | None]:
    """The model and the forecast; those of an earlier run where pictures, folders and classes are the same."""
    from superproto.baselines.registry import load_model
    from superproto.pictures.fit_record import fit_signature, read_fit_record, write_fit_record
    from superproto.pictures.labeling import fit_picture_task, forecast_task

    signature, path = fit_signature(task), place / "model.safetensors"
    known, expected = read_fit_record(place, signature)
    known = known and path.exists()
    if not known:
        with terminal.progress("labeling left-out classes for a forecast"):
            expected = forecast_task(task)
    if not quiet:
        _show_forecast(task, expected)
    if not known:
        with terminal.progress(f"labeling {int((task.labels < 0).sum())} pictures"):
            fit_picture_task(task).save(path)
        write_fit_record(place, signature, expected)
    return load_model(path), expected


def _write_results(task: PictureTask, model: Any, place: Path, labels: Path) -> Path:
    """Labels and report; the path of the report."""
    from superproto.pictures.labeling import as_task, write_picture_labels
    from superproto.reporting.model_report import build_report

    write_picture_labels(labels, task, model)
    attributes = task.classes.attributes
    named = None if attributes is None else [str(name) for name in attributes]
    page = build_report(model, as_task(task), images=task.photos, attribute_names=named)
    return Path(page.write(place / "report.html"))


def _show_forecast(task: PictureTask, expected: AccuracyForecast | None) -> None:
    seen = task.seen
    asked = int((task.labels < 0).sum())
    terminal.show(
        f"{len(task.labels) - asked} sorted pictures of {int(seen.sum())} classes, {asked} unsorted ones, "
        f"{int((~seen).sum())} classes without an example."
    )
    if expected is not None:
        terminal.show(
            f"Forecast: {expected.accuracy:.0%} right for classes without an example (chance: {expected.chance:.0%}). "
            f"Measured on {expected.n_left_out} sorted classes at a time, labeled as if they had no example."
        )
    elif not seen.all():
        terminal.show("Forecast: none. It needs six classes with sorted pictures and two without.")


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
            f"No cluster of pictures fits the description of {_listed(lost)}. All labels of these may be wrong: "
            "describe them better, or sort a few of their pictures."
        )


def _show_skipped(embedded: EmbeddedFolder) -> None:
    if embedded.skipped:
        counts = Counter(entry.reason for entry in embedded.skipped)
        number = len(embedded.skipped)
        terminal.show(f"{number} file{'s were' if number > 1 else ' was'} left out:")
        for reason, count in counts.most_common(_MOST_LISTED):
            example = next(entry.path for entry in embedded.skipped if entry.reason == reason)
            more = f" and {count - 1} more" if count > 1 else ""
            terminal.show(f"  {_printable(terminal.one_line(example))}{more}: {reason}.")
        if len(counts) > _MOST_LISTED:
            terminal.show(f"  and {len(counts) - _MOST_LISTED} further reasons; --json lists them all.")
    if embedded.copies:
        terminal.show(
            f"{len(embedded.copies)} pictures are there several times, such as {_listed(embedded.copies[0])}."
        )
    if embedded.near:
        terminal.show(f"{len(embedded.near)} pairs look nearly the same, such as {_listed(embedded.near[0])}.")


def _as_dict(task: PictureTask, model: Any, expected: Any, labels: Path, report: Path) -> dict[str, Any]:
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


def _printable(text: str) -> str:
    """Names of files may hold signs that would steer the terminal."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _listed(names: Any, most: int = 3) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _progress_lines() -> Callable[[EmbeddingProgress], None]:
    """A line on standard error every few seconds."""
    import sys
    from time import perf_counter

    told = perf_counter()

    def tell(state: EmbeddingProgress) -> None:
        nonlocal told
        if perf_counter() - told >= _SECONDS_BETWEEN_LINES and state.done < state.total:
            told = perf_counter()
            speed = f"{state.rate:.0f} a second, about {state.seconds_left:.0f} s left"
            print(f"{state.done} of {state.total} pictures, {speed}", file=sys.stderr, flush=True)

    return tell
