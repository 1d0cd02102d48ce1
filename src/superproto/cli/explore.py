"""The verbs `explore` and `export`: check labels on a local page, and write what holds."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from superproto.cli import terminal
from superproto.cli.app import HelpPanel, app
from superproto.cli.options import AsJson, Setting, SettingOption, check_output
from superproto.errors import UserError

if TYPE_CHECKING:
    from superproto.explorer.session import Session

RunPath = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", help="The folder that `label` left (PHOTOS or PHOTOS/.superproto), or a pack (.npz)."
    ),
]


class ExportFormat(str, Enum):
    csv = "csv"
    parquet = "parquet"
    imagefolder = "imagefolder"
    label_studio = "label-studio"
    fiftyone = "fiftyone"
    events = "events"


@app.command("explore", rich_help_panel=HelpPanel.MODEL)
def explore_verb(
    run: RunPath,
    port: Annotated[
        int, typer.Option("--port", help="The port on this machine; 0: any that is free.", min=0, max=65535)
    ] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--run", metavar="DIR", help="With a pack: the folder for the run.  [PACK with .explore for .npz]"
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", metavar="MODEL", help="With a pack: a model that `fit` wrote.  [a new fit of hpl]"),
    ] = None,
    images: Annotated[
        Path | None, typer.Option("--images", metavar="DIR", help="With a pack: the folder of its pictures.")
    ] = None,
    setting: SettingOption = Setting.zsl,
) -> None:
    """Check the labels of a run on a page in the browser, answer questions, refit.

    The page asks the questions that help most: first about whole clusters, then
    about the most doubtful pictures. Each answer is stored at once. Only this
    machine can open the page, at the address that is printed. Ctrl-C closes it.

    \b
    Example:  superproto label photos --classes classes.csv
              superproto explore photos
              superproto explore birds.npz --images photos
    """
    place = run
    if run.is_file():
        place = _run_of_pack(run, folder, model, images, setting)
    elif folder or model or images:
        raise UserError(f"--run, --model and --images are for packs, but {run} is no pack (.npz). Leave them out.")
    serve_page(place, port, browser)


def serve_page(place: Path, port: int = 0, browser: bool = True) -> None:
    """Serve the page of a run until Ctrl-C; one line with the address is printed."""
    session = _session(place)
    try:
        from superproto.explorer.server import serve_session
    except ImportError:
        session.close()
        raise UserError("The page needs two packages: pip install 'superproto[pictures]'") from None

    def ready(address: str) -> None:
        terminal.flush_notes()
        print(address, flush=True)
        if browser:
            import webbrowser

            webbrowser.open(address)

    try:
        serve_session(session, port, ready)
    except KeyboardInterrupt:
        terminal.note("The page is closed. Every answer is kept.")
    finally:
        session.close()


@app.command("export", rich_help_panel=HelpPanel.MODEL)
def export_verb(
    run: RunPath,
    kind: Annotated[ExportFormat, typer.Option("--format", help="What to write.")] = ExportFormat.csv,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The file, or for imagefolder the folder, to write."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="imagefolder: only count the links that would be made.")
    ] = False,
    merge: Annotated[
        list[Path] | None,
        typer.Option(
            "--merge", metavar="EVENTS", help="First add the events that another person exported. Repeatable."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the labels of a run: your answers, and the model's where you gave none.

    imagefolder makes a folder for each class with links to the pictures;
    --dry-run only counts them. --merge adds what another person exported as
    events. Pictures are matched by their content; the later answer holds.

    \b
    Example:  superproto export photos -o labels.csv
              superproto export photos --format imagefolder -o sorted --dry-run
              superproto export photos --merge ann.jsonl -o labels.csv
    """
    from superproto.explorer.events import read_events

    if output is None and not merge and not dry_run:
        raise UserError("Give --output: the file (for imagefolder the folder) to write.")
    if kind is not ExportFormat.imagefolder:
        check_output(output)
    others = [event for path in merge or () for event in read_events(path)]
    session = _session(run)
    try:
        found = {"merged": session.merge(others)} if merge else {}
        written = _write(session, kind, output, dry_run) if output is not None or dry_run else {}
    finally:
        session.close()
    _tell({**found, **written}, output, dry_run, as_json)


def _session(place: Path) -> Session:
    from superproto.explorer.run import open_run
    from superproto.explorer.session import Session

    run = open_run(place)
    try:
        return Session(run)
    except BaseException:
        run.lock.close()
        raise


def _write(session: Session, kind: ExportFormat, output: Path | None, dry_run: bool) -> dict[str, int]:
    from superproto.explorer import exports

    if kind is ExportFormat.imagefolder:
        target = output or session.run.folder / "exports" / "imagefolder"
        exports.check_link_folder(session, target)
        plan = exports.plan_links(session, target)
        if not dry_run:
            exports.make_links(plan, target)
        return {"links": len(plan.links), "classes": len(plan.classes), "missing": plan.missing}
    if output is None:
        raise UserError(f"--dry-run is for imagefolder. Give --output to write {kind.value}.")
    exports.export_file(session, kind.value, output)
    return {"lines": session.log.last_count() if kind is ExportFormat.events else int(session.run.asked.sum())}


def _tell(found: dict[str, int], output: Path | None, dry_run: bool, as_json: bool) -> None:
    if as_json:
        terminal.show_json({"output": output, **found})
        return
    if "merged" in found:
        terminal.show(f"{found['merged']} new events were added.")
    if "links" in found:
        done = "would be made" if dry_run else "were made"
        terminal.show(f"{found['links']} links for {found['classes']} classes {done}.")
        if found["missing"]:
            terminal.show(f"{found['missing']} pictures are not where they were and are left out.")
    if output is not None and "lines" in found:
        terminal.show(f"Wrote {terminal.place(output)}: {found['lines']} lines.")


def _run_of_pack(pack: Path, folder: Path | None, model: Path | None, images: Path | None, setting: Setting) -> Path:
    """The folder of a run for a pack, with a model; an earlier one of the same pack is used again."""
    from superproto.datasets import load
    from superproto.evaluation.training import fit_task
    from superproto.explorer.refit import open_model
    from superproto.explorer.run import MODEL, keep_task_run

    if images is not None and not images.is_dir():
        raise UserError(f"--images {images} is no folder. Give the folder that the ids of the pack are paths in.")
    place = folder or pack.with_suffix(".explore")
    task = load(pack, setting=setting.value)
    if not task.asked.any():
        raise UserError(f"{pack} has no unlabeled rows: there is nothing to check.")
    known = keep_task_run(place, task, images) and (place / MODEL).is_file()
    if model is not None:
        open_model(model).save(place / MODEL)
    elif not known:
        with terminal.progress(f"labeling {int(task.asked.sum())} rows"):
            fit_task(task, rejection=False).save(place / MODEL)
    return place
