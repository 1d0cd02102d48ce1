"""LOAD: class vectors from a table of classes: numbers are attributes, words are embedded."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superproto.datasets import read_classes
from superproto.datasets.feature_files import csv_rows, is_number
from superproto.errors import UserError
from superproto.files import PathLike, existing_file, write_whole
from superproto.pictures.encoders import PictureEncoder
from superproto.pictures.sentences import embed_sentences
from superproto.samples.chunks import Array

QUESTIONS = ("color", "shape", "size", "parts", "pattern", "where found")
# Titles of the first and the second column, by which a header is known.
_NAME_COLUMNS = frozenset(
    ["", "id", "name", "names", "class", "classes", "class_name", "class name", "label", "labels", "species",
     "category", "kind", "type", "taxon", "breed", "title", "concept", "item"]
)  # fmt: skip
_TEXT_COLUMNS = frozenset(
    ["description", "descriptions", "desc", "text", "texts", "sentence", "sentences", "words", "caption", "prompt",
     "appearance", "looks", "look", "details", "notes", "colour", "colors", "colours"]
)  # fmt: skip
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
_NAMES_ALONE = (
    "{file} has names only, so the names are embedded. Expect low accuracy: a name says little about what is visible. "
    "Attributes in numbers work best, then a sentence about what is visible. "
    "Print a questionnaire to fill in with: superproto describe {file} --template"
)


class DescribedClasses(NamedTuple):
    """Class vectors and their origin.

    names : (C,); semantics : (C, k) class vectors; attributes : (k,) names of the attributes, or None; kind :
    "attributes", "sentences" or "names"; notes : what the user should know; texts : the embedded texts, or None.
    """

    names: Array
    semantics: Array
    attributes: Array | None
    kind: str
    notes: list[str]
    texts: list[str] | None = None


def describe_classes(path: PathLike, *, encoder: PictureEncoder | None = None) -> DescribedClasses:
    """Class vectors from CSV (name first), JSON ({name: numbers or text}) or a file of :func:`write_semantics`.

    Columns of numbers are attributes. Columns of words are embedded without the name: by `encoder` if it embeds texts,
    else by MiniLM.
    """
    path = existing_file(path)
    if path.suffix.lower() == ".npz":
        return _from_npz(path)
    table = _read_table(path)
    if table is None:
        return _attributes(path)
    names, texts, kind, notes = table
    if kind == "names":
        notes = [_NAMES_ALONE.format(file=path.name), *notes]
    read = getattr(encoder, "embed_texts", embed_sentences)
    return DescribedClasses(np.array(names), np.asarray(read(texts)), None, kind, notes, texts)


def write_semantics(path: PathLike, described: DescribedClasses) -> None:
    """Write the arrays `att`, `class_names` and, for attributes, `attribute_names`."""
    arrays: dict[str, Any] = {"att": described.semantics, "class_names": described.names}
    if described.attributes is not None:
        arrays["attribute_names"] = described.attributes
    with write_whole(path) as handle:
        np.savez(handle, **arrays)


def questionnaire(path: PathLike | None) -> str:
    """A CSV to fill in: one line per class of the table, one column per question."""
    names = ["northern cardinal"] if path is None else _class_names(existing_file(path))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", *QUESTIONS])
    writer.writerows([name, *[""] * len(QUESTIONS)] for name in names)
    return text.getvalue()


def _class_names(path: Path) -> list[str]:
    if path.suffix.lower() == ".json":
        return list(_read_json(path))
    lines = _read_lines(path)[1]
    return list(dict.fromkeys(line[0] for line in lines))


class _Words(NamedTuple):
    """Names of classes, what to embed of each, "sentences" or "names", and notes for the user."""

    names: list[str]
    texts: list[str]
    kind: str
    notes: list[str]


def _read_table(path: Path) -> _Words | None:
    """The words of a table; None where it has numbers."""
    if path.suffix.lower() == ".json":
        content = _read_json(path)
        if not all(isinstance(value, str) for value in content.values()):
            return None
        header, lines = ["name", "description"], [[name, text] for name, text in content.items()]
    else:
        header, lines = _read_lines(path)
    width = max(len(line) for line in lines)
    columns = [[line[j] if j < len(line) else "" for line in lines] for j in range(width)]
    notes = [] if header else [_no_header(path, lines[0])]
    if width == 1 or not any(cell for column in columns[1:] for cell in column):
        return _Words(columns[0], columns[0], "names", notes)
    filled = [j for j in range(1, width) if any(columns[j])]
    numeric = [j for j in filled if all(is_number(cell) for cell in columns[j])]
    if len(numeric) == len(filled):
        return None
    for j in filled:
        _check_column(path, header[j] if j < len(header) else f"column {j + 1}", columns[0], columns[j], j in numeric)
    return _Words(columns[0], [_joined(header, line) for line in _with_text(path, lines)], "sentences", notes)


def _no_header(path: Path, first: Sequence[str]) -> str:
    return (
        f"{path.name} has no header, so {first[0]!r} in its first line is taken as a class. "
        "If it is the title of a column, change it to: name"
    )


def _check_column(path: Path, title: str, names: Sequence[str], cells: Sequence[str], numeric: bool) -> None:
    """A column of words has no numbers, or few; one stray word must not turn attributes into text."""
    if numeric:
        raise UserError(f"{path}: '{title}' has numbers beside columns of words. Write it in words, or leave it out.")
    words = [(name, cell) for name, cell in zip(names, cells) if not is_number(cell)]
    n_numbers = sum(bool(cell) and is_number(cell) for cell in cells)
    if n_numbers > len(words):
        name, cell = words[0]
        raise UserError(
            f"{path}: '{title}' of class '{name}' is '{cell}', but {n_numbers} other classes have a number there. "
            "Give a number, or leave the cell empty where it is not known."
        )


def _with_text(path: Path, lines: list[list[str]]) -> list[list[str]]:
    empty = [line[0] for line in lines if not any(line[1:])]
    if empty:
        more = f" (nor have {len(empty) - 1} more)" if len(empty) > 1 else ""
        raise UserError(f"{path}: '{empty[0]}' has no description{more}. Describe each class, or none.")
    return lines


def _joined(header: Sequence[str], line: Sequence[str]) -> str:
    """One column as it is; several columns as "title: text" each."""
    if len(line) == 2:
        return line[1]
    titles = [*header, *[""] * len(line)]
    said = [f"{title}: {cell}" if title else cell for title, cell in zip(titles[1:], line[1:]) if cell]
    return ". ".join(said)


def _read_lines(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header, if there is one, and the lines; each class once."""
    if path.suffix.lower() in _SPREADSHEETS:
        raise UserError(f"{path} is a spreadsheet. Save it as CSV (UTF-8), and give that file.")
    lines = [[cell.strip() for cell in line] for line in csv_rows(path)]
    lines = [line for line in lines if any(line)]
    header = lines.pop(0) if lines and _is_header(lines[0]) else []
    if not lines:
        raise UserError(f"{path} describes no class. Give one line per class: its name, then numbers or words.")
    nameless = next((line for line in lines if not line[0]), None)
    if nameless is not None:
        raise UserError(f"{path}: a line has no class name ({', '.join(nameless)[:60]}). The name comes first.")
    names = [line[0] for line in lines]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None and not all(is_number(cell) for line in lines for cell in line[1:]):
        raise UserError(f"{path}: '{twice}' is described twice. Give one line per class.")
    return header, lines


def _is_header(line: list[str]) -> bool:
    """Whether a line names the columns, by common titles of the first or the second one."""
    second = line[1].lower() if len(line) > 1 else ""
    return line[0].lower() in _NAME_COLUMNS or second in (*_TEXT_COLUMNS, *QUESTIONS)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}).") from None
    if not isinstance(content, dict) or not content:
        raise UserError(f"{path} must be a JSON object that maps each class name to its numbers or text.")
    return content


def _attributes(path: Path) -> DescribedClasses:
    found = read_classes(path, missing=True)
    names, semantics, attributes = found.names, np.array(found.semantics, dtype=float), found.attributes
    missing = np.isnan(semantics)
    notes: list[str] = []
    if missing.all(axis=1).any():
        raise UserError(
            f"{path}: '{names[missing.all(axis=1)][0]}' has no numbers. Describe the class, or remove its line."
        )
    unused = missing.all(axis=0)
    if unused.any():
        notes.append(f"Columns of {path.name} without any number are left out: {int(unused.sum())}.")
        semantics, missing = semantics[:, ~unused], missing[:, ~unused]
        attributes = None if attributes is None else attributes[~unused]
    if missing.any():
        semantics = np.where(missing, np.nanmean(semantics, axis=0), semantics)
        notes.append(
            f"{int(missing.sum())} of {missing.size} numbers in {path.name} are missing. "
            "Each is replaced by the mean of its attribute over the other classes."
        )
    return DescribedClasses(names, semantics, attributes, "attributes", notes)


def _from_npz(path: Path) -> DescribedClasses:
    names, semantics, attributes = read_classes(path)
    return DescribedClasses(names, semantics, attributes, "sentences" if attributes is None else "attributes", [])
