"""The verb `report`: write a page about a fitted model, or about a file of records."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superproto.cli import terminal
from superproto.cli.app import HelpPanel, app
from superproto.cli.options import OpenPage, Protocol, ProtocolOption, Setting, SettingOption, check_output
from superproto.errors import UserError
from superproto.files import existing_file

if TYPE_CHECKING:
    from superproto.datasets.task import Task
    from superproto.reporting.page import Page


@app.command("report", rich_help_panel=HelpPanel.MODEL)
def report_verb(
    source: Annotated[
        Path, typer.Argument(metavar="MODEL_OR_RECORDS", help="A model that `fit` wrote, or records of `evaluate`.")
    ],
    pack: Annotated[
        Path | None,
        typer.Option("--pack", metavar="PACK", help="The data set of the fit. The report then shows its samples."),
    ] = None,
    setting: SettingOption = Setting.zsl,
    protocol: ProtocolOption = Protocol.ps,
    images: Annotated[
        Path | None, typer.Option("--images", metavar="DIR", help="The folder that contains the images of PACK.")
    ] = None,
    params: Annotated[
        Path | None, typer.Option("--params", metavar="FILE", help="The result of `tune`, to show it in the report.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    open_page: OpenPage = False,
) -> None:
    """Write an HTML page about a fitted model, readable without a network.

    The page shows how the unlabeled samples were labeled, which labels are
    uncertain, and what the model learned about each class. For a file of
    records, written by `evaluate --record`, it is a table of runs.

    \b
    Example:  superproto fit birds.npz -o birds.model
              superproto report birds.model --pack birds.npz
    """
    check_output(output, source, pack, params)
    _check_images(images, pack)
    with terminal.progress(f"reading {source.name}"):
        page = report_on(source, pack, setting=setting.value, protocol=protocol.value, images=images, params=params)
    terminal.show_page(page.write(output), open_page)


def _check_images(images: Path | None, pack: Path | None) -> None:
    if images is None:
        return
    if pack is None:
        raise UserError(f"--images {images} needs --pack, which says which sample is in which file. Give both.")
    if not images.is_dir():
        raise UserError(f"--images {images} is no folder. Give the folder that the image paths of {pack} start from.")


def report_on(
    source: str | os.PathLike[str],
    pack: str | os.PathLike[str] | None = None,
    *,
    setting: str = "zsl",
    protocol: str = "ps",
    images: Path | None = None,
    params: Path | None = None,
) -> Page:
    """Build the page of a model file or of a file of records.

    With the data set of the fit, the page of a model also shows single samples.
    """
    path = existing_file(source)
    if _holds_records(path):
        return _records_page(path)
    from superproto.baselines.registry import load_model
    from superproto.datasets.loading import read_source, to_task
    from superproto.reporting.model_report import build_report

    model = load_model(path)
    tuned = None if params is None else _tuned(params)
    if pack is None:
        return build_report(model, tuned=tuned, files=(shlex.quote(str(source)), None))
    found = read_source(pack)
    task = to_task(found, setting, protocol)
    if list(map(str, model.classes_)) != list(map(str, task.class_names)):
        raise UserError(f"{path} and {pack} have different classes. Give the data set that the model was fitted on.")
    _check_setting(model, setting, path)
    if images is not None and not _has_pictures(images, task):
        terminal.note(
            f"{images} has none of the files that {pack} names for its unlabeled samples, so the report shows no "
            "pictures. Give --images the folder that these paths start from."
        )
    names = None if found.attribute_names is None else [str(name) for name in found.attribute_names]
    files = (shlex.quote(str(source)), shlex.quote(str(pack)))
    called = None if found.ids is None else found.names_of_samples
    return build_report(
        model, task, images=images, tuned=tuned, attribute_names=names, files=files, sample_names=called
    )


def _has_pictures(images: Path, task: Task) -> bool:
    """Whether the file of an unlabeled sample is in the folder."""
    paths = (
        [] if task.paths is None else [*task.paths[task.asked], *(() if task.paths_later is None else task.paths_later)]
    )
    return any((images / str(path)).is_file() for path in paths)


def _check_setting(model: Any, setting: str, path: Path) -> None:
    from superproto.reporting.model_report import fitted_setting

    fitted = fitted_setting(model)
    if fitted != setting:
        raise UserError(f"{path} was fitted for the setting {fitted}, not {setting}. Give --setting {fitted}.")


def _records_page(path: Path) -> Page:
    from superproto.experiments.records import read_records
    from superproto.experiments.records_report import build_from_records

    records = read_records(path)
    if not records:
        raise UserError(f"{path} holds no record. Make some with: superproto evaluate PACK --record {path}")
    return build_from_records(records, path.name)


def _holds_records(path: Path) -> bool:
    """Tell records from a model: records start with a brace, a model with an 8-byte length that contains zeros."""
    with path.open("rb") as handle:
        start = handle.read(8)
    return b"\0" not in start and start.lstrip()[:1] in (b"{", b"")


def _tuned(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(existing_file(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise UserError(f"{path} is not JSON. Give the file that `superproto tune` wrote.") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} holds no parameters. Give the file that `superproto tune` wrote.")
    return content
