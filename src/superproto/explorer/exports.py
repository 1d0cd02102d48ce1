"""WRITE: what holds about the samples, in the formats of other tools. Nothing is moved, and nothing is replaced."""

from __future__ import annotations

import io
import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from superproto.errors import UserError
from superproto.estimator.label_table import csv_cell
from superproto.explorer.events import event_line
from superproto.explorer.refit import NO_ANSWER
from superproto.explorer.session import Session
from superproto.explorer.thumbnails import picture_path
from superproto.explorer.views import STATES, row_states, shown_doubt
from superproto.files import write_whole
from superproto.pictures.images import Unusable

# The endings of the formats that are one file.
FILES = {"csv": ".csv", "parquet": ".parquet", "label-studio": ".json", "fiftyone": ".json", "events": ".jsonl"}
FORMATS = (*FILES, "imagefolder")
_COLUMNS = ("id", "label", "doubt", "source")
_SOURCE = {"open": "model", "skipped": "model", "answered": "person", "none": "none of these", "given": "given"}


class ExportLine(NamedTuple):
    """A sample: id, class name (None: none of these), chance that the label is wrong, and who said it."""

    row: int
    id: str
    label: str | None
    doubt: float
    source: str


class LinkPlan(NamedTuple):
    """The links of an image folder: (from, to) each, how many for each class, and files that are not there."""

    links: list[tuple[Path, Path]]
    classes: dict[str, int]
    missing: int


def export_lines(session: Session, given: bool = False) -> Iterator[ExportLine]:
    """The samples that were to be labeled, in order; ``given``: those with a label from the beginning too."""
    names = session.run.class_names
    with session.lock:
        labels, states, answers = session.labels(), row_states(session), session.answers.copy()
    for row in range(len(labels)):
        if given or session.run.asked[row] or answers[row] != NO_ANSWER:
            label = names[labels[row]] if labels[row] >= 0 else None
            source = _SOURCE[STATES[states[row]]]
            yield ExportLine(row, session.ids([row])[0], label, shown_doubt(session, row), source)


def export_bytes(session: Session, kind: str) -> bytes:
    """A file of this format."""
    if kind == "parquet":
        return _parquet(session)
    if kind == "events":
        return "".join(f"{event_line(event)}\n" for event in session.log.all()).encode("utf-8", "backslashreplace")
    if kind == "csv":
        lines = (_csv_line(line) for line in export_lines(session))
        return "".join([",".join(_COLUMNS) + "\n", *lines]).encode("utf-8", "backslashreplace")
    made = _label_studio(session) if kind == "label-studio" else _fiftyone(session)
    return json.dumps(made, ensure_ascii=True, indent=1).encode()


def export_file(session: Session, kind: str, path: Path) -> None:
    """Write a file of this format, whole or not at all."""
    content = export_bytes(session, kind)
    with write_whole(path) as handle:
        handle.write(content)


def plan_links(session: Session, target: Path) -> LinkPlan:
    """The links that :func:`make_links` would make: a folder for each class, a link for each picture."""
    links, classes, missing = [], Counter[str](), 0
    folders = _folder_names(session.run.class_names)
    for line in export_lines(session, given=True):
        if line.label is None:
            continue
        try:
            source = picture_path(session, line.row)
        except Unusable:
            missing += 1
            continue
        if not source.is_file():
            missing += 1
            continue
        folder = folders[line.label]
        classes[folder] += 1
        links.append((target / folder / f"{line.row:07d}-{_file_name(source.name)}", source))
    return LinkPlan(links, dict(sorted(classes.items())), missing)


def make_links(plan: LinkPlan, target: Path) -> None:
    """Make the links of a plan in a new or empty folder."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"{target} is there already and not empty. Give a new folder.")
    for link, source in plan.links:
        link.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.symlink(source, link)
        except OSError as error:
            raise UserError(f"{link} cannot be made: {error.strerror}. Choose a place that allows links.") from None


def check_link_folder(session: Session, target: Path) -> None:
    """Refuse a place where the next `label` would take the links for pictures."""
    photos = session.run.photos
    if photos is None:
        raise UserError("The run has no pictures to link to. Export csv instead.")
    inside = Path(os.path.realpath(target))
    root = Path(os.path.realpath(photos))
    if inside.is_relative_to(root) and not any(part.startswith(".") for part in inside.relative_to(root).parts):
        raise UserError(f"{target} is inside the folder of pictures. Give a folder elsewhere.")


def link_into_run(session: Session, dry_run: bool) -> dict[str, Any]:
    """The image folder inside the folder of the run: what it would hold, or, without ``dry_run``, made."""
    target = session.run.folder / "exports" / time.strftime("imagefolder-%Y%m%d-%H%M%S")
    check_link_folder(session, target)
    plan = plan_links(session, target)
    if not dry_run:
        make_links(plan, target)
    where = target.relative_to(session.run.folder).as_posix()
    return {"links": len(plan.links), "classes": len(plan.classes), "missing": plan.missing, "folder": where}


def _csv_line(line: ExportLine) -> str:
    cells = (line.id, line.label or "", f"{line.doubt:.6f}", line.source)
    return ",".join(csv_cell(cell) for cell in cells) + "\n"


def _parquet(session: Session) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UserError("Parquet needs a package: pip install 'superproto[frames]'. CSV needs none.") from None
    lines = list(export_lines(session))
    table = pyarrow.table({name: [getattr(line, name) for line in lines] for name in _COLUMNS})
    memory = io.BytesIO()
    pyarrow.parquet.write_table(table, memory)
    return memory.getvalue()


def _label_studio(session: Session) -> list[dict[str, Any]]:
    """Tasks with predictions of the model and annotations of the person, for Choices "class" of Image "image"."""
    tasks = []
    for line in export_lines(session):
        data = {"image": f"/data/local-files/?d={line.id}", "id": line.id}
        result = [_choice(line.label)] if line.label is not None else []
        if line.source == "model":
            said = {"predictions": [{"model_version": f"fit {session.record.number}", "score": 1 - line.doubt,
                                     "result": result}]}  # fmt: skip
        else:
            said = {"annotations": [{"result": result, "was_cancelled": False}]}
        tasks.append({"data": data, **said})
    return tasks


def _choice(label: str) -> dict[str, Any]:
    return {"from_name": "class", "to_name": "image", "type": "choices", "value": {"choices": [label]}}


def _fiftyone(session: Session) -> dict[str, Any]:
    """labels.json of FiftyOneImageClassificationDataset: the path without its ending -> label and confidence."""
    labels = {
        os.path.splitext(line.id)[0]: None
        if line.label is None
        else {"label": line.label, "confidence": round(1 - line.doubt, 6), "attributes": {"source": line.source}}
        for line in export_lines(session)
    }
    return {"classes": None, "labels": labels}


def _folder_names(classes: list[str]) -> dict[str, str]:
    """A name for each class that every file system takes, all different."""
    taken: set[str] = set()
    names = {}
    for number, name in enumerate(classes):
        plain = re.sub(r"[^\w .()+-]", "_", name).strip(" .")[:80] or "class"
        plain = plain if plain.casefold() not in taken else f"{plain} {number}"
        taken.add(plain.casefold())
        names[name] = plain
    return names


def _file_name(name: str) -> str:
    stem, ending = os.path.splitext(name)
    return stem.encode("utf-8", "replace")[:150].decode("utf-8", "ignore") + ending
