"""REPORT: from a file on disk to its page, whether it holds a model or records."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .datasets.protocols import read, to_task
from .errors import UserError
from .files import existing_file
from .page import Page
from .persistence import load_model
from .record_page import build_from_records
from .records import read as read_records
from .report import build

__all__ = ["report_on"]


def report_on(
    source: str | os.PathLike[str],
    pack: str | os.PathLike[str] | None = None,
    *,
    setting: str = "zsl",
    protocol: str = "ps",
    images: Path | None = None,
    params: Path | None = None,
) -> Page:
    """The page of a model file (with its data set, sample by sample), or of a file of records."""
    path = existing_file(source)
    if _holds_records(path):
        records = read_records(path)
        if not records:
            raise UserError(f"{path} holds no record. Make some with: superproto evaluate PACK --record {path}")
        return build_from_records(records, path.name)
    model = load_model(path)
    tuned = None if params is None else _tuned(params)
    if pack is None:
        return build(model, tuned=tuned)
    found = read(pack)
    task = to_task(found, setting, protocol)
    if list(map(str, model.classes_)) != list(map(str, task.class_names)):
        raise UserError(f"{path} and {pack} have other classes. Give the data set that the model was fitted on.")
    general = bool(model.allowed_.all() and model.seen_classes_.any() and not model.seen_classes_.all())
    if general != (setting == "gzsl"):
        fitted = "gzsl" if general else "zsl"
        raise UserError(f"{path} was fitted for the setting {fitted}, not {setting}. Give --setting {fitted}.")
    names = None if found.attribute_names is None else [str(name) for name in found.attribute_names]
    return build(model, task, images=images, tuned=tuned, attribute_names=names)


def _holds_records(path: Path) -> bool:
    """Records start with a brace; a model starts with the length of its header, eight bytes with zeros among them."""
    with path.open("rb") as handle:
        start = handle.read(8)
    return b"\0" not in start and start.lstrip()[:1] in (b"{", b"")


def _tuned(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(existing_file(path).read_text(encoding="utf-8"))
    except ValueError:
        raise UserError(f"{path} is not JSON. Give the file that `superproto tune` wrote.") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} holds no parameters. Give the file that `superproto tune` wrote.")
    return content
