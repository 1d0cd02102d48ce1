"""LOAD: read the files of Xian et al. (2018): `res101.mat` (features) and `att_splits.mat` (descriptions and splits).

MATLAB's conventions are converted: columns become rows, (N, 1) becomes (N,), and row numbers start at 0 instead of 1.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from superproto.datasets.cards import differences, recognize
from superproto.datasets.packs import Pack, indices, repaired
from superproto.datasets.safe_files.matlab import read_mat
from superproto.errors import UserError
from superproto.samples.chunks import Array

_PS = ("trainval", "train", "val", "test_seen", "test_unseen")


@dataclass(frozen=True, eq=False)
class SplitFile:
    """The content of an `att_splits.mat`: descriptions (C, k), class names (C,), row numbers from 0; None if missing.

    `version` is "v1" for the splits of 2017, whose train and val parts overlap test_seen (repaired here), "v2" for
    corrected splits, and None without train and val parts. `notes` are remarks of the reader, one sentence each.
    """

    att: Array
    original_att: Array | None
    class_names: Array
    trainval_loc: Array
    test_unseen_loc: Array
    test_seen_loc: Array | None
    train_loc: Array | None
    val_loc: Array | None
    version: str | None
    notes: tuple[str, ...]

    def splits(self) -> dict[str, Array]:
        """Return the splits of the file by name."""
        return {split: rows for split in _PS if (rows := getattr(self, f"{split}_loc")) is not None}


def read_splits(path: str | os.PathLike[str]) -> SplitFile:
    """Read an `att_splits.mat` without the features."""
    path = Path(path)
    found = read_mat(path, {"att", "original_att", "allclasses_names", *(f"{split}_loc" for split in _PS)})
    for key in ("att", "trainval_loc", "test_unseen_loc"):
        if key not in found:
            raise UserError(
                f"{path} has no '{key}', which an att_splits.mat needs (it has: {', '.join(found) or 'none'})."
            )
    try:
        return _assembled(found)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _assembled(found: dict[str, Array]) -> SplitFile:
    names = found["allclasses_names"].reshape(-1) if "allclasses_names" in found else None
    tables = {key: _class_rows(found[key], names, key) for key in ("att", "original_att") if key in found}
    classes, attributes = tables["att"].shape
    rows = {split: from_one(found[f"{split}_loc"], f"{split}_loc") for split in _PS if f"{split}_loc" in found}
    corrected, version, remarks = repaired(rows)
    samples = 1 + max(int(part.max(initial=-1)) for part in rows.values())
    notes = [f"{classes} classes with {attributes} attributes; the splits name {samples} samples."]
    card = recognize(names, classes, attributes, samples)
    counts = tuple(len(corrected.get(split, ())) for split in ("trainval", "test_seen", "test_unseen"))
    if card:
        notes += [f"Looks like {card.name}.", *differences(card, None, classes, attributes, counts, "ps")]  # type: ignore[arg-type]
    original = tables.get("original_att")
    if original is not None:
        tables["original_att"], missing = _filled(original)
        if missing:
            notes.append(
                f"original_att lacks {missing} values (-1): filled with the attribute's mean over other classes."
            )
    if names is None:
        notes.append("No class names: numbers are used as names.")
    return SplitFile(
        **{"original_att": None} | tables,  # type: ignore[arg-type]
        class_names=np.arange(classes).astype(str) if names is None else names,
        **{f"{split}_loc": corrected.get(split) for split in _PS},  # type: ignore[arg-type]
        version=version,
        notes=(*notes, *remarks),
    )


def read_folder(path: str | os.PathLike[str], *, attributes: str = "att") -> Pack:
    """Read a folder with `res101.mat` and `att_splits.mat` as a pack; `ss_att_splits.mat` has the standard split."""
    folder = Path(path)
    for name in ("res101.mat", "att_splits.mat"):
        if not (folder / name).exists():
            raise UserError(f"{folder} has no {name}. An xlsa17 folder holds res101.mat beside att_splits.mat.")
    splits = read_splits(folder / "att_splits.mat")
    if attributes not in ("att", "original_att") or getattr(splits, attributes) is None:
        raise UserError(f"attributes={attributes!r} is not in {folder / 'att_splits.mat'}. Try attributes='att'.")
    rows = splits.splits()
    if (folder / "ss_att_splits.mat").exists():
        standard = read_splits(folder / "ss_att_splits.mat")
        rows |= {"ss_trainval": standard.trainval_loc, "ss_test_unseen": standard.test_unseen_loc}
    found = read_mat(folder / "res101.mat", {"features", "labels", "image_files"})
    try:
        features, labels = _samples(found)
    except UserError as error:
        raise UserError(f"{folder / 'res101.mat'}: {error}") from None
    files = found.get("image_files")
    return Pack(
        name=folder.resolve().name,
        features=features,
        labels=labels,
        semantics=getattr(splits, attributes),
        class_names=splits.class_names,
        splits=rows,
        paths=None if files is None or files.dtype.kind != "U" else files.reshape(-1),
        notes=splits.notes,
    )


def from_one(numbers: Array, name: str) -> npt.NDArray[np.int64]:
    """Convert row numbers that start at 1, as in MATLAB, to row numbers that start at 0."""
    rows = indices(numbers, name)
    if rows.size and rows.min() < 1:
        raise UserError(
            f"{name} has {rows.min()}, but MATLAB counts from 1. Was the file written with 0-based numbers?"
        )
    return rows - 1


def _samples(found: dict[str, Array]) -> tuple[Array, Array]:
    for key in ("features", "labels"):
        if key not in found:
            raise UserError(f"it has no '{key}'.")
    labels, table = from_one(found["labels"], "labels"), found["features"]
    if table.ndim != 2 or table.dtype.kind not in "iuf" or len(labels) not in table.shape:
        raise UserError(f"features has shape {table.shape}, but there are {len(labels)} labels. Columns are samples.")
    # Columns are samples, except in files written by a Python script.
    features = table.T if table.shape[1] == len(labels) else table
    with np.errstate(over="ignore"):  # what overflows becomes infinite, which the checks report by row
        return np.ascontiguousarray(features, dtype=np.float32), labels


def _class_rows(table: Array, names: Array | None, key: str) -> Array:
    """Return the table as (C, k). Columns are classes, except in files written by a Python script."""
    if table.ndim != 2 or not table.size or table.dtype.kind not in "biuf":
        raise UserError(
            f"{key} has shape {table.shape} and type {table.dtype}. It must be a table, one column per class."
        )
    if names is not None and len(names) not in table.shape:
        raise UserError(f"{key} has shape {table.shape}, but there are {len(names)} class names.")
    upright = names is not None and table.shape[1] != len(names)
    return np.ascontiguousarray(table if upright else table.T, dtype=np.float64)


def _filled(table: Array) -> tuple[Array, int]:
    """Replace -1, which marks a missing value on a scale of 0 to 100, by the attribute's mean over other classes."""
    missing = table == -1
    if not missing.any() or table[~missing].min(initial=0) < 0 or table.max() <= 1:
        return table, 0
    known = np.where(missing, 0, table).sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
    return np.where(missing, known, table), int(missing.sum())
