"""LOAD: make a task of a data set: which rows are labeled, which are unlabeled, and which classes are candidates."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from superproto.datasets.cards import differences, recognize
from superproto.datasets.feature_files import check_no_pictures
from superproto.datasets.packs import Pack, checked, read_pack, repaired
from superproto.datasets.pools import part_of_each_class
from superproto.datasets.task import Task
from superproto.datasets.xlsa17 import read_folder
from superproto.errors import UserError
from superproto.samples.chunks import Array

_VALIDATION_SEED = 0


def load(
    path: str | os.PathLike[str],
    *,
    setting: str = "zsl",
    protocol: str = "ps",
    split: str = "test",
    attributes: str = "att",
) -> Task:
    """Load a pack (.npz) or an xlsa17 folder as a task.

    Parameters
    ----------
    path : str or path
        The pack, or the folder.
    setting : {"zsl", "gzsl"}, default="zsl"
        With "zsl" the unlabeled samples are test samples of unseen classes, which are the candidates. With "gzsl" they
        are test samples of seen and unseen classes, and all classes are candidates.
    protocol : {"ps", "ss"}, default="ps"
        The proposed split of Xian et al. (2018), or the standard split.
    split : {"test", "val"}, default="test"
        With "val" the train classes are the seen ones and the val classes the unseen ones; other classes are omitted.
    attributes : {"att", "original_att"}, default="att"
        The array of the class descriptions.

    Returns
    -------
    Task
    """
    for name, value, known in (
        ("setting", setting, ("zsl", "gzsl")),
        ("protocol", protocol, ("ps", "ss")),
        ("split", split, ("test", "val")),
    ):
        if value not in known:
            raise UserError(f"{name}={value!r} is not known. Give {known[0]!r} or {known[1]!r}.")
    return to_task(read_source(path, attributes=attributes), setting, protocol, split)


def read_source(path: str | os.PathLike[str], *, attributes: str = "att") -> Pack:
    """Read a pack or an xlsa17 folder without checking its content."""
    check_no_pictures(Path(path))
    if os.path.isdir(path):
        return read_folder(path, attributes=attributes)
    if Path(path).name in ("res101.mat", "att_splits.mat"):
        raise UserError(f"{path} is one file of an xlsa17 folder. Give the folder.")
    return read_pack(path, attributes=attributes)


def to_task(pack: Pack, setting: str = "zsl", protocol: str = "ps", split: str = "test") -> Task:
    """Check a pack and make a task of it. Parameters are those of :func:`load`."""
    splits, _, remarks = repaired(pack.splits)
    pack = checked(replace(pack, splits=splits))
    notes = (*summary(pack, protocol), *(pack.notes or remarks))
    if split == "val":
        task = _validation(pack, setting, protocol)
    else:
        labeled, unlabeled = _test_rows(pack, setting, protocol)
        task = replace(_task(pack, labeled, unlabeled, setting), validation_classes=_validation_classes(pack, protocol))
    task = replace(task, protocol=protocol if split == "test" else f"{protocol} validation", name=pack.name)
    return replace(task, notes=(*notes, *_counts(task)))


def summary(pack: Pack, protocol: str) -> Iterator[str]:
    """Yield the sizes of a data set, and how it differs from its card."""
    n, d = pack.features.shape
    classes, attributes = pack.semantics.shape
    yield f"{n} samples of {d} features ({pack.features.dtype}), {classes} classes with {attributes} attributes."
    card = recognize(pack.class_names.tolist(), classes, attributes, n)
    if card is None or pack.notes:
        return
    start = "ss_" if protocol == "ss" else ""
    trainval, seen, unseen = (
        len(pack.splits.get(name, ())) for name in (f"{start}trainval", f"{start}test_seen", f"{start}test_unseen")
    )
    different = list(differences(card, n, classes, attributes, (trainval, seen, unseen), protocol))
    yield f"Looks like {card.name} ({card.title})" + (
        ", but differs from its card." if different else ", as on its card."
    )
    yield from different


def _counts(task: Task) -> Iterator[str]:
    # Without an unseen class the seen ones are the candidates.
    candidates = len(task.semantics) if task.candidates == "all" else len(task.unseen_classes) or len(task.semantics)
    labeled = f"{int((~task.asked).sum())} labeled samples of {len(task.seen_classes)} seen classes"
    yield f"{labeled}; {int(task.asked.sum())} to be labeled among {candidates} candidates."
    absent = np.setdiff1d(task.unseen_classes, task.truth)
    if task.truth_known and len(absent):
        yield f"{len(absent)} unseen classes without a sample (first: '{task.class_names[absent[0]]}') stay candidates."
    unknown = int((task.expected < 0).sum())
    if unknown:
        yield f"The true class of {unknown} samples is unknown: they can be labeled, but not scored."


def _test_rows(pack: Pack, setting: str, protocol: str) -> tuple[Array, Array]:
    if protocol == "ss":
        if "ss_trainval" not in pack.splits or "ss_test_unseen" not in pack.splits:
            raise UserError(
                f"{pack.name} has no standard split (ss_trainval_loc, ss_test_unseen_loc). Use protocol='ps'."
            )
        if setting == "gzsl":
            raise UserError("The standard split has no test samples of seen classes. Use protocol='ps' with 'gzsl'.")
        return pack.splits["ss_trainval"], pack.splits["ss_test_unseen"]
    labeled, unlabeled = pack.splits["trainval"], pack.splits["test_unseen"]
    if setting == "zsl":
        return labeled, unlabeled
    seen = pack.splits.get("test_seen", np.empty(0, np.int64))
    if not len(seen) and (pack.labels[unlabeled] >= 0).any():
        raise UserError(f"{pack.name} has no test samples of seen classes (test_seen_loc). Use the setting zsl.")
    return labeled, np.concatenate([seen, unlabeled])


def _validation(pack: Pack, setting: str, protocol: str) -> Task:
    hidden = _validation_classes(pack, protocol)
    if hidden is None:
        raise UserError(
            f"{pack.name} has no train_loc and val_loc with different classes ({protocol}). Use task.folds(n)."
        )
    labeled, unlabeled = pack.splits["train"], pack.splits["val"]
    if setting == "gzsl":
        rng = np.random.default_rng(_VALIDATION_SEED)
        moved = part_of_each_class(pack.labels[labeled], 0.2, rng, leave=1)
        labeled, unlabeled = np.delete(labeled, moved), np.concatenate([labeled[moved], unlabeled])
    task = _task(pack, labeled, unlabeled, setting)
    return task.restricted(np.union1d(pack.classes_of("train"), hidden))


def _validation_classes(pack: Pack, protocol: str) -> Array | None:
    """Return the classes that the data set reserves for choosing parameters, or None if train and val share classes."""
    if protocol == "ss" or not len(pack.splits.get("train", ())) or not len(pack.splits.get("val", ())):
        return None
    hidden = pack.classes_of("val")
    return None if np.isin(hidden, pack.classes_of("train")).any() else hidden


def _task(pack: Pack, labeled: Array, unlabeled: Array, setting: str) -> Task:
    rows = np.concatenate([labeled, unlabeled])
    y = pack.labels[rows].copy()
    y[len(labeled) :] = -1
    called = pack.ids if pack.paths is None else pack.paths
    return Task(
        X=pack.features[rows],
        y=y,
        semantics=pack.semantics,
        class_names=pack.class_names,
        truth=pack.labels[rows],
        candidates="unseen" if setting == "zsl" else "all",
        setting=setting,
        pool="unseen" if setting == "zsl" else "mixed",
        paths=None if called is None else called[rows],
        rows=rows,
    )
