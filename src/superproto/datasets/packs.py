"""LOAD: the pack, a data set as one .npz file. Rows are samples, indices start at 0, and nothing is pickled.

Required arrays: features (N, d), labels (N,) with row numbers of att or -1 for unknown, att (C, k), trainval_loc,
test_unseen_loc. Optional: class_names, train_loc, val_loc, test_seen_loc, ss_trainval_loc, ss_test_unseen_loc,
image_files; in packs made from the user's files also ids and attribute_names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from superproto.datasets.safe_files.npz import is_npz, read_npz
from superproto.errors import UserError
from superproto.files import existing_file, write_whole
from superproto.samples.chunks import Array

SPLITS = ("trainval", "train", "val", "test_seen", "test_unseen", "ss_trainval", "ss_test_unseen")
_TEXTS = ("class_names", "image_files", "ids", "attribute_names")


@dataclass(frozen=True, eq=False)
class Pack:
    """A data set: every sample, every class, and the row numbers of each split."""

    name: str
    features: Array
    labels: Array
    semantics: Array
    class_names: Array
    splits: Mapping[str, Array]
    paths: Array | None = None
    ids: Array | None = None
    attribute_names: Array | None = None
    notes: tuple[str, ...] = field(default=())

    def classes_of(self, split: str) -> Array:
        """Return the classes of the samples of a split whose class is known."""
        labels = self.labels[self.splits[split]]
        return np.unique(labels[labels >= 0])

    @property
    def names_of_samples(self) -> Array:
        """The name of each sample in a table: its id, its file, or its row number."""
        if self.ids is not None:
            return self.ids
        return np.arange(len(self.features)).astype(str) if self.paths is None else self.paths


def read_pack(path: str | os.PathLike[str], *, attributes: str = "att") -> Pack:
    """Read a pack without checking it. `attributes` is the name of the array of class descriptions."""
    path = existing_file(path)
    if not is_npz(path):
        raise UserError(f"{path} is not a pack (.npz). Make one of your own arrays with: superproto pack.")
    arrays = read_npz(path, {"features", "labels", attributes, *_TEXTS, *(f"{split}_loc" for split in SPLITS)})
    missing = [
        key for key in ("features", "labels", attributes, "trainval_loc", "test_unseen_loc") if key not in arrays
    ]
    if missing:
        raise UserError(
            f"{path} has no array '{missing[0]}', which a pack needs (it has: {', '.join(arrays) or 'none'}). "
            "Make a pack of features, labels and classes with: superproto pack."
        )
    try:
        return _assembled(path.stem, arrays, arrays[attributes])
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _assembled(name: str, arrays: Mapping[str, Array], semantics: Array) -> Pack:
    splits = {split: indices(arrays[f"{split}_loc"], f"{split}_loc") for split in SPLITS if f"{split}_loc" in arrays}
    texts = {key: arrays[key].astype(str) if key in arrays else None for key in _TEXTS}
    classes = texts["class_names"]
    return Pack(
        name=name,
        features=arrays["features"],
        labels=indices(arrays["labels"], "labels"),
        semantics=semantics,
        class_names=np.arange(len(semantics)).astype(str) if classes is None and semantics.ndim else _text(classes),
        splits=splits,
        paths=texts["image_files"],
        ids=texts["ids"],
        attribute_names=texts["attribute_names"],
    )


def write_pack(path: str | os.PathLike[str], pack: Pack) -> None:
    """Check the pack as reading it would, and write it atomically."""
    pack = checked(pack)
    arrays = {"features": pack.features, "labels": pack.labels, "att": pack.semantics, "class_names": pack.class_names}
    arrays |= {f"{split}_loc": rows for split, rows in pack.splits.items()}
    extra = {"image_files": pack.paths, "ids": pack.ids, "attribute_names": pack.attribute_names}
    arrays |= {key: array for key, array in extra.items() if array is not None}
    with write_whole(path) as handle:
        np.savez_compressed(handle, **arrays)  # type: ignore[arg-type]


def indices(numbers: Array, name: str) -> npt.NDArray[np.int64]:
    """Convert whole numbers to (n,) int64. MATLAB stores them as (n, 1), as doubles, or as uint16 (0 - 1 is 65535)."""
    flat = numbers.reshape(-1) if (numbers.ndim == 2 and 1 in numbers.shape) or not numbers.size else numbers
    if flat.ndim != 1 or flat.dtype.kind not in "iuf":
        raise UserError(f"{name} has shape {numbers.shape} and type {numbers.dtype}. Give whole numbers, one per row.")
    if flat.dtype.kind == "f" and not (np.isfinite(flat).all() and (flat == np.floor(flat)).all()):
        raise UserError(f"{name} has numbers that are not whole.")
    if flat.size and np.abs(flat.astype(float)).max() > 2**53:
        raise UserError(f"{name} has the number {flat[np.abs(flat.astype(float)).argmax()]}, which cannot be a row.")
    return flat.astype(np.int64)


def checked(pack: Pack) -> Pack:
    """Return the pack, or raise the first of its faults."""
    for fault in faults(pack):
        raise UserError(f"{pack.name}: {fault}")
    return pack


def faults(pack: Pack) -> Iterator[str]:
    """Yield what makes a pack unusable, one sentence each. A check runs only if the earlier ones found nothing."""
    found = False
    for check in (_faults_of_shape, _faults_of_numbers, _faults_of_rows, _faults_of_classes):
        for fault in check(pack):
            found = True
            yield fault
        if found:
            return


def _faults_of_shape(pack: Pack) -> Iterator[str]:
    for name, array in (("features", pack.features), ("att", pack.semantics)):
        if array.ndim != 2 or not array.size or array.dtype.kind not in "biuf":
            yield f"{name} has shape {array.shape} and type {array.dtype}. Give a table of numbers, one row each."
            return
    per_sample = (("labels", pack.labels), ("image_files", pack.paths), ("ids", pack.ids))
    for name, texts in per_sample:
        if texts is not None and texts.shape != (len(pack.features),):
            yield f"{name} has shape {texts.shape}, but features has {len(pack.features)} rows."
    if pack.class_names.shape != (len(pack.semantics),):
        yield f"class_names has shape {pack.class_names.shape}, but att has {len(pack.semantics)} rows."
    if pack.attribute_names is not None and pack.attribute_names.shape != (pack.semantics.shape[1],):
        yield f"attribute_names has shape {pack.attribute_names.shape}, but att has {pack.semantics.shape[1]} columns."


def _faults_of_numbers(pack: Pack) -> Iterator[str]:
    bad = np.flatnonzero(~np.isfinite(pack.features).all(axis=1))
    if len(bad):
        yield f"features has NaN or infinity in {len(bad)} rows (first: row {bad[0]}). Drop or correct them."
    bad = np.flatnonzero(~np.isfinite(pack.semantics).all(axis=1))
    if len(bad):
        yield f"att has NaN or infinity for class '{pack.class_names[bad[0]]}'. Drop the class, or fill it in."
    values, counts = np.unique(pack.class_names, return_counts=True)
    if len(values) < len(pack.class_names):
        yield f"the class name '{values[counts.argmax()]}' occurs {counts.max()} times. Give each class one row."


def _faults_of_rows(pack: Pack) -> Iterator[str]:
    n, classes = len(pack.features), len(pack.semantics)
    if pack.labels.min() < -1 or pack.labels.max() >= classes:
        wrong = pack.labels[(pack.labels < -1) | (pack.labels >= classes)][0]
        yield f"labels has class {wrong}, but att has {classes} rows (classes 0 to {classes - 1})."
    for split, rows in pack.splits.items():
        wrong = rows[(rows < 0) | (rows >= n)]
        if len(wrong):
            yield f"{split}_loc has row {wrong[0]}, but features has {n} rows (0 to {n - 1})."
        elif len(np.unique(rows)) < len(rows):
            values, counts = np.unique(rows, return_counts=True)
            yield f"{split}_loc lists row {values[counts.argmax()]} {counts.max()} times."


def _faults_of_classes(pack: Pack) -> Iterator[str]:
    if not len(pack.splits["trainval"]) and not len(pack.splits["test_unseen"]):
        yield "trainval_loc and test_unseen_loc are both empty. There is nothing to learn from or to label."
    for split in ("trainval", "train", "val", "test_seen", "ss_trainval"):
        unknown = int((pack.labels[pack.splits.get(split, [])] < 0).sum())
        if unknown:
            yield f"{unknown} rows of {split}_loc have no label (-1). Only test_unseen_loc may be unlabeled."
    for seen, unseen in (("trainval", "test_unseen"), ("ss_trainval", "ss_test_unseen"), ("trainval", "test_seen")):
        if seen not in pack.splits or unseen not in pack.splits:
            continue
        rows = np.intersect1d(pack.splits[seen], pack.splits[unseen])
        if len(rows):
            yield f"{len(rows)} rows are both in {seen}_loc and in {unseen}_loc (first: row {rows[0]})."
        elif unseen != "test_seen" and len(both := np.intersect1d(pack.classes_of(seen), pack.classes_of(unseen))):
            yield f"class '{pack.class_names[both[0]]}' is both seen ({seen}_loc) and unseen ({unseen}_loc)."
        elif unseen == "test_seen" and len(odd := np.setdiff1d(pack.classes_of(unseen), pack.classes_of(seen))):
            yield f"class '{pack.class_names[odd[0]]}' is in test_seen_loc, but {seen}_loc has no sample of it."


def repaired(splits: Mapping[str, Array]) -> tuple[dict[str, Array], str | None, tuple[str, ...]]:
    """Return the splits with train and val inside trainval, the version of the splits, and notes about it.

    In version 1 of the proposed splits train ∪ val = trainval ∪ test_seen, so parameters would be chosen on test
    samples of GZSL. The intersection with trainval is exactly version 2.
    """
    corrected = dict(splits)
    if "train" not in corrected or "val" not in corrected:
        return corrected, None, ("No train_loc and val_loc: parameters are chosen on folds of the seen classes.",)
    both = np.union1d(corrected["train"], corrected["val"])
    outside = np.setdiff1d(both, corrected["trainval"])
    for name in ("train", "val"):
        corrected[name] = corrected[name][np.isin(corrected[name], corrected["trainval"])]
    left_out = len(np.setdiff1d(corrected["trainval"], both))
    short = (f"{left_out} rows of trainval_loc are in neither train_loc nor val_loc.",) if left_out else ()
    if not len(outside):
        return corrected, "v2", ("Split version 2: train_loc and val_loc lie inside trainval_loc.", *short)
    leak = int(np.isin(outside, corrected.get("test_seen", [])).sum())
    note = (
        f"Split version 1: train_loc and val_loc held {len(outside)} rows outside trainval_loc, {leak} of them in "
        "test_seen_loc. Repaired by intersection with trainval_loc."
    )
    return corrected, "v1", (note, *short)


def _text(array: Array | None) -> Array:
    return np.empty(0, str) if array is None else array
