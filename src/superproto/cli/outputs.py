"""Protect files from the outputs of every verb: no input is replaced, and no file of another kind by mistake.

:func:`guarded` wraps a verb. Parameters with the names in ``_WRITTEN`` are outputs; all other paths are inputs. So a
new verb is protected without further code.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from superproto.errors import UserError

_WRITTEN = ("output", "record", "plot", "checkpoint")
_APPENDED = {"evaluate.record", "compare.record", "ablation.output", "robustness.output", "speed.output"}
_BY_VERB = {
    "fit.output": "model",
    "pack.output": "pack",
    "embed.output": "file of features",
    "describe.output": "file of class descriptions",
    "tune.output": "result of tune",
    "report.output": "page",
    "predict.output": "table of labels",
    "label.output": "table of labels",
    "fit.checkpoint": "checkpoint",
} | dict.fromkeys(_APPENDED, "file of records")
_BY_ENDING = {
    ".html": "page", ".svg": "picture", ".npz": "archive", ".parquet": "Parquet file", ".json": "JSON file",
    ".jsonl": "file of records",
}  # fmt: skip
# Of verbs whose output is text unless its ending says otherwise, and how such texts start.
_TEXT_OF_VERB = {
    "attributes.output": "table of attributes",
    "leaderboard.output": "leaderboard",
    "export.output": "table of checked labels",
}
_TEXT_STARTS = {
    b"id,label,probability,margin,runner_up": "table of labels",
    b"id,label,doubt,source": "table of checked labels",
    b"name,column,auc,correlation": "table of attributes",
    b"setting,features,data,method,": "leaderboard",
    **{mark + setting: "leaderboard" for mark in (b"## ", b"% ") for setting in (b"ZSL, ", b"GZSL, ")},
}
_LARGEST_JSON = 2**24
Force = Annotated[
    bool, typer.Option("--force", help="Replace an existing output of another kind. Inputs are never replaced.")
]


def guarded(verb: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option --force to the function of a verb, and call it only if its outputs may be written."""
    hints = get_type_hints(function, include_extras=True)
    paths = {name for name, hint in hints.items() if "Path" in str(hint)}
    written = [name for name in _WRITTEN if name in paths]
    if not written:
        return function

    @functools.wraps(function)
    def guard(*, force: bool = False, **given: Any) -> Any:
        check_outputs(verb, {name: given.get(name) for name in paths}, force)
        return function(**given)

    own = [part.replace(annotation=hints[name]) for name, part in inspect.signature(function).parameters.items()]
    option = inspect.Parameter("force", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Force)
    guard.__signature__ = inspect.Signature([*own, option])  # type: ignore[attr-defined]
    guard.__annotations__ = {**hints, "force": Force}
    del guard.__wrapped__  # type: ignore[attr-defined]
    return guard


def check_outputs(verb: str, paths: Mapping[str, Any], force: bool) -> None:
    """Refuse outputs that are inputs, outputs that are one file, and files of another kind unless ``force``."""
    outputs = [(name, path) for name in _WRITTEN for path in _each(paths.get(name))]
    inputs = [path for name, given in paths.items() if name not in _WRITTEN for path in _each(given)]
    for number, (name, path) in enumerate(outputs):
        for other in [*inputs, *(earlier for _, earlier in outputs[:number])]:
            if _is_same(path, other):
                raise UserError(f"{path} is used twice here, and would be replaced. Give --{name} another name.")
        if os.path.isfile(path) and os.path.getsize(path):
            inside = next((folder for folder in inputs if os.path.isdir(folder) and _lies_in(path, folder)), None)
            _check_kind(f"{verb}.{name}", path, inside, force)


def _check_kind(place: str, path: Path, inside: Path | None, force: bool) -> None:
    wanted, found = _wanted(place, path.suffix.lower()), kind_of(path)
    if found == wanted:
        return
    if inside is not None:
        raise UserError(f"{path} is a {found} in {inside}, which is read here. Give another name.")
    if place in _APPENDED:
        raise UserError(f"{path} is a {found}, not a file of records. Give an empty or a new file.")
    if not force and place != "fit.checkpoint":
        raise UserError(f"{path} exists and is a {found}, not a {wanted}. Give another name, or --force to replace it.")


def _wanted(place: str, ending: str) -> str:
    """The kind of file that a verb writes."""
    if place in ("predict.output", "label.output") and ending == ".parquet":
        return _BY_ENDING[ending]
    if place == "export.output" and ending == ".jsonl":
        # Its events are lines of JSON, and no records.
        return _BY_ENDING[".json"]
    return _BY_VERB.get(place, _BY_ENDING.get(ending, _TEXT_OF_VERB.get(place, "text file")))


def kind_of(path: Path) -> str:
    """Return the kind of a file by its first bytes; of an archive, by the names in it."""
    with path.open("rb") as handle:
        start = handle.read(2**16)
    if start[8:9] == b"{" and b"\0" in start[:8]:
        marks = {b'"superproto-checkpoint"': "checkpoint", b'"superproto"': "model"}
        return next((kind for mark, kind in marks.items() if mark in start), "safetensors file")
    if start[:2] == b"PK":
        return _kind_of_archive(path)
    if start[:4] == b"PAR1":
        return "Parquet file"
    text = start.lstrip()
    if text[:14].lower() == b"<!doctype html" or text[:5].lower() == b"<html":
        return "page"
    if text[:4] == b"<svg" or text[:5] == b"<?xml":
        return "picture"
    if text[:1] == b"{":
        return _kind_of_json(path)
    known = next((kind for mark, kind in _TEXT_STARTS.items() if text.startswith(mark)), "text file")
    return "binary file" if b"\0" in start else known


def _kind_of_archive(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return "archive"
    if "features.npy" in names:
        return "pack" if "labels.npy" in names else "file of features"
    return "file of class descriptions" if {"att.npy", "class_names.npy"} <= names else "archive"


def _kind_of_json(path: Path) -> str:
    with path.open("rb") as handle:
        line = handle.readline(_LARGEST_JSON)
        whole = line + handle.read(_LARGEST_JSON)
    for text, marks, kind in (
        (line, {"task", "method", "scores", "versions"}, "file of records"),
        (whole, {"method", "params", "folds"}, "result of tune"),
    ):
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(content, dict) and marks <= set(content):
            return kind
    return "JSON file"


def _each(given: Any) -> Iterator[Path]:
    for path in given if isinstance(given, list | tuple) else [given]:
        if isinstance(path, Path):
            yield path


def _is_same(output: Path, other: Path) -> bool:
    """Tell whether both paths are one regular file, existing or not."""
    try:
        if os.path.exists(output) and os.path.exists(other):
            return os.path.isfile(output) and os.path.samefile(output, other)
        return not os.path.exists(output) and os.path.realpath(output) == os.path.realpath(other)
    except (OSError, ValueError):
        return False


def _lies_in(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(folder)) in Path(os.path.realpath(path)).parents
