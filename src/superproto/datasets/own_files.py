"""LOAD: make a pack from the user's files: features, a table of labels, a table of class descriptions.

Labels are a CSV with the columns `id,label` and optionally `split`. An empty label marks an unlabeled sample. `split`
is one of three words. `train` is the default of a labeled sample. `val` is a labeled sample whose class is for choosing
parameters. `test` is treated as unlabeled; its label is used for scoring only. Classes are a CSV whose first column is
the name, or JSON {name: numbers}. The numbers are a list, several lists, or {attribute: number}.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from superproto.datasets.feature_files import csv_rows, is_header, is_number, read_features
from superproto.datasets.packs import Pack, write_pack
from superproto.datasets.row_ids import match_ids
from superproto.datasets.safe_files.npz import read_npz
from superproto.errors import UserError
from superproto.files import PathLike, existing_file
from superproto.samples.chunks import Array

_SPLITS = ("train", "val", "test")
# Columns that `predict` and `label` write after id and label.
_PREDICTED = ["probability", "margin", "runner_up"]


class Classes(NamedTuple):
    """Class names (C,), descriptions (C, k), and the attributes' names (k,) or None."""

    names: Array
    semantics: Array
    attributes: Array | None


def make_pack(
    features: PathLike,
    labels: PathLike,
    classes: PathLike,
    output: PathLike,
    *,
    several: str = "average",
    unseen: Collection[str] = (),
) -> Pack:
    """Read the three files and write the pack to `output`.

    Parameters
    ----------
    features, labels, classes : str or path
        The three files; see the module.
    output : str or path
        The pack to write. No suffix is added.
    several : {"average", "keep"}, default="average"
        How to combine several vectors of one class. "keep" concatenates them; every class then needs the same number
        of vectors, in the same order.
    unseen : collection of str
        Classes to treat as unseen: the labels of their samples are used for scoring only.

    Returns
    -------
    Pack
    """
    described = read_classes(classes, several=several)
    samples = read_features(features)
    ids, names, parts = _read_labels(existing_file(labels))
    order = match_ids(ids, samples.ids, len(samples.X), Path(labels))
    pack = pack_arrays(
        samples.X,
        names[order],
        described.semantics,
        described.names,
        split=parts[order],
        unseen=unseen,
        name=Path(output).stem,
        ids=ids[order] if samples.ids is None else samples.ids,
        paths=samples.paths,
        attribute_names=described.attributes,
    )
    write_pack(output, pack)
    return pack


def pack_arrays(
    X: npt.ArrayLike,
    labels: Sequence[str] | Array,
    semantics: npt.ArrayLike,
    class_names: Sequence[str] | Array,
    *,
    split: Sequence[str] | Array | None = None,
    unseen: Collection[str] = (),
    name: str = "own data",
    ids: Array | None = None,
    paths: Array | None = None,
    attribute_names: Array | None = None,
) -> Pack:
    """Make a pack from arrays.

    Parameters
    ----------
    X : (N, d)
        Features.
    labels : (N,)
        The class name of each sample; "" marks an unlabeled sample.
    semantics, class_names : (C, k) and (C,)
        The description and the name of each class.
    split : (N,), optional
        "train", "val" or "test" for each sample; see the module.
    unseen : collection of str
        Classes to treat as unseen: the labels of their samples are used for scoring only.
    name : str
        The name of the data set.
    ids, paths : (N,), optional
        The id of each sample, and its picture file relative to the folder given to `report --images`.
    attribute_names : (k,), optional

    Returns
    -------
    Pack
    """
    names = np.asarray(class_names).astype(str)
    numbers = _numbered(np.asarray(labels).astype(str), names)
    parts = np.full(len(numbers), "") if split is None else np.asarray(split).astype(str)
    parts = np.where(parts == "", np.where(numbers < 0, "test", "train"), parts)
    parts = np.where(np.isin(numbers, _numbered(np.array(sorted(unseen), dtype=str), names)), "test", parts)
    wrong = np.flatnonzero(~np.isin(parts, _SPLITS) | ((numbers < 0) & (parts != "test")))
    if len(wrong):
        raise UserError(f"sample {wrong[0]} has split '{parts[wrong[0]]}'. Give train, val or test; unlabeled: test.")
    return Pack(
        name=name,
        features=np.asarray(X),
        labels=numbers,
        semantics=np.asarray(semantics),
        class_names=names,
        splits=_splits(numbers, parts),
        ids=ids,
        paths=paths,
        attribute_names=attribute_names,
    )


def read_classes(path: PathLike, *, several: str = "average", missing: bool = False) -> Classes:
    """Read class descriptions from a CSV, JSON or .npz file.

    A CSV has the name first, then numbers; its first line may have the names of the attributes. ``several``: see
    :func:`make_pack`. With ``missing``, a missing number is NaN; otherwise it is an error.
    """
    if several not in ("average", "keep"):
        raise UserError(f"several={several!r} is not known. Give 'average' or 'keep'.")
    path = existing_file(path)
    readers = {".json": _classes_json, ".npz": _classes_npz}
    rows, attributes = readers.get(path.suffix.lower(), _classes_csv)(path)
    if not rows:
        raise UserError(f"{path} describes no class.")
    vectors: dict[str, list[list[float]]] = {}
    width = len(rows[0][1])
    if not any(vector for _, vector in rows):
        raise UserError(
            f"{path} has names of classes but no numbers. Describe each class by numbers. To label pictures by class "
            f"names write: superproto label PHOTOS --classes {path} -o LABELS.csv"
        )
    for name, vector in rows:
        if len(vector) != width or not width:
            raise UserError(f"{path}: class '{name}' has {len(vector)} numbers, '{rows[0][0]}' has {width}.")
        if np.isinf(vector).any() or (np.isnan(vector).any() and not missing):
            raise UserError(f"{path}: class '{name}' has NaN or infinity. Drop the class, or fill it in.")
        if not name.strip():
            raise UserError(f"{path}: a class has no name. Give each class a name: an empty label means unlabeled.")
        vectors.setdefault(name, []).append(vector)
    if several == "average":
        table = np.array([np.mean(own, axis=0) for own in vectors.values()])
    else:
        counts = {name: len(own) for name, own in vectors.items()}
        odd = next((name for name, count in counts.items() if count != counts[rows[0][0]]), None)
        if odd is not None:
            raise UserError(
                f"{path}: class '{odd}' has {counts[odd]} vectors, '{rows[0][0]}' has {counts[rows[0][0]]}. "
                "To keep them, give each class the same number of vectors; or average them."
            )
        table = np.array([np.concatenate(own) for own in vectors.values()])
    kept = attributes if attributes and len(attributes) == table.shape[1] else None
    return Classes(np.array(list(vectors)), table, None if kept is None else np.array(kept))


def read_labels(path: PathLike, names: Array, n_samples: int, known_ids: Array | None = None) -> Array:
    """Read a table of labels. Return the class name of each sample (N,), or None if unlabeled or in split test.

    :func:`superproto.datasets.row_ids.match_ids` matches lines to samples.
    """
    ids, labels, parts = _read_labels(existing_file(path))
    order = match_ids(ids, known_ids, n_samples, Path(path))
    numbers = _numbered(labels[order], names)
    known = (numbers >= 0) & (parts[order] != "test")
    found = np.full(n_samples, None, dtype=object)
    found[known] = names[numbers[known]]
    return found


def _classes_csv(path: Path) -> tuple[list[tuple[str, list[float]]], list[str] | None]:
    lines = list(csv_rows(path))
    header = lines.pop(0) if lines and len(lines[0]) > 1 and is_header(lines[0], lines[1:], path) else None
    for line in lines:
        wrong = next((cell for cell in line[1:] if not is_number(cell)), None)
        if wrong is not None:
            raise UserError(f"{path}: class '{line[0]}' has '{wrong}', which is not a number.")
    rows = [(line[0].strip(), [float(cell or "nan") for cell in line[1:]]) for line in lines]
    return rows, None if header is None else header[1:]


def _classes_npz(path: Path) -> tuple[list[tuple[str, list[float]]], list[str] | None]:
    arrays = read_npz(path, {"att", "class_names", "attribute_names"})
    if not {"att", "class_names"} <= set(arrays) or arrays["att"].ndim != 2:
        raise UserError(f"{path} has no arrays 'att' and 'class_names'. Make it with: superproto describe CLASSES.csv")
    named = arrays.get("attribute_names")
    rows = list(zip(arrays["class_names"].astype(str).tolist(), arrays["att"].astype(float).tolist()))
    return rows, None if named is None else named.astype(str).tolist()


def _classes_json(path: Path) -> tuple[list[tuple[str, list[float]]], list[str] | None]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}).") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} must be a JSON object: a class name, then its numbers, for each class.")
    rows, attributes = [], None
    for name, value in content.items():
        if isinstance(value, dict):
            attributes = attributes or list(value)
            if set(value) != set(attributes):
                raise UserError(f"{path}: class '{name}' has other attributes than the first class.")
            value = [value[attribute] for attribute in attributes]
        several = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
        for vector in several:
            # null is a missing number.
            vector = [np.nan if x is None else x for x in vector] if isinstance(vector, list) else vector
            numeric = isinstance(vector, list) and all(
                isinstance(x, int | float) and not abs(x) >= 1e300 for x in vector
            )
            if not numeric:
                raise UserError(f"{path}: class '{name}' must have a list of numbers, or several such lists.")
            rows.append((name, [float(x) for x in vector]))
    return rows, attributes


def _read_labels(path: Path) -> tuple[Array, Array, Array]:
    """Return ids, labels and splits, in the order of the file."""
    lines = [[cell.strip() for cell in line] for line in csv_rows(path)]
    if lines and lines[0][0].lower() == "label" and [cell.lower() for cell in lines[0][1:]] in ([], ["split"]):
        # A table without ids.
        lines = [["", *line] for line in lines]
        lines[0][0] = "id"
    if lines and [cell.lower() for cell in lines[0][:2]] == ["id", "label"]:
        extra = [cell.lower() for cell in lines.pop(0)[2:]]
        if extra == _PREDICTED:
            lines = [[_without_apostrophe(cell) for cell in line[:2]] for line in lines]
        elif extra not in ([], ["split"]):
            raise UserError(f"{path} has the column '{extra[0]}'. The columns must be id, label, and optionally split.")
    if not lines:
        raise UserError(
            f"{path} has no rows. Write one line for each sample: id,label. Leave the label empty to predict it."
        )
    wrong = next((line for line in lines if not 2 <= len(line) <= 3), None)
    if wrong is not None:
        raise UserError(f"{path}: each line is id,label or id,label,split; found {','.join(wrong)!r}.")
    table = np.array([[*line, ""][:3] for line in lines])
    return table[:, 0], table[:, 1], np.char.lower(table[:, 2])


def _without_apostrophe(cell: str) -> str:
    """Remove the apostrophe that `predict` and `label` put before text that a spreadsheet would run as a formula."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in tuple("=+-@\t\r") else cell


def _numbered(labels: Array, names: Array) -> Array:
    number = {"": -1, "-1": -1} | {name: i for i, name in enumerate(names.tolist())}
    unknown = next((label for label in labels.tolist() if label not in number), None)
    if unknown is not None:
        near = difflib.get_close_matches(unknown, names.tolist(), 1)
        hint = f" Did you mean '{near[0]}'?" if near else " Add its description to the classes."
        raise UserError(f"the label '{unknown}' is none of the {len(names)} classes.{hint}")
    return np.array([number[label] for label in labels.tolist()], dtype=np.int64)


def _splits(labels: Array, parts: Array) -> dict[str, Array]:
    """Return the rows of each split. A test sample is in test_seen if its class also has labeled samples."""
    labeled, tested = parts != "test", parts == "test"
    seen = np.isin(labels, labels[labeled])
    masks = {"trainval": labeled, "test_unseen": tested & ~seen, "test_seen": tested & seen}
    if (parts == "val").any():
        shared = np.intersect1d(labels[parts == "val"], labels[parts == "train"])
        if len(shared):
            raise UserError(f"class number {shared[0]} is in train and in val. Give each class to one of them.")
        masks |= {"train": parts == "train", "val": parts == "val"}
    return {split: np.flatnonzero(mask) for split, mask in masks.items() if mask.any() or split in _ALWAYS}


_ALWAYS = ("trainval", "test_unseen")
