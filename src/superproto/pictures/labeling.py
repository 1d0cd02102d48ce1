"""FIT: label a folder of pictures: embed them, describe the classes, read labels from folder names, fit a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superproto.datasets.feature_files import Features
from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.estimator.forecast import Forecast
from superproto.estimator.label_table import write_labels
from superproto.files import PathLike
from superproto.hpl.estimator import HPL
from superproto.hpl.user_warnings import LOST
from superproto.pictures.class_folders import label_by_folder
from superproto.pictures.descriptions import DescribedClasses, describe_classes
from superproto.pictures.embedding import EmbeddedFolder, ReportProgress, embed_folder
from superproto.pictures.encoders import DEFAULT_ENCODER, PictureEncoder, open_encoder
from superproto.samples.chunks import Array


class PictureTask(NamedTuple):
    """Pictures with features, classes with descriptions, and the labels that are given.

    labels : (N,) row of the class, or -1 where the picture is to be labeled; copied : (N,) whether the label comes
    from a copy in the folder of a class; pool : "any" or "new".
    """

    photos: Path
    embedded: EmbeddedFolder
    classes: DescribedClasses
    labels: Array
    copied: Array
    pool: str
    warnings: list[str]

    @property
    def candidates(self) -> str:
        """The estimator's `candidates`: "all" for the pool "any", "unseen" for "new"."""
        return "all" if self.pool == "any" else "unseen"

    @property
    def seen(self) -> Array:
        """(C,) whether a class has sorted pictures."""
        return np.isin(np.arange(len(self.classes.names)), self.labels)


class ClassSummary(NamedTuple):
    """Result for a class: examples, pictures with this label, their mean uncertainty (`doubt`), and whether its
    description matches no cluster (`lost`)."""

    name: str
    sorted: int
    found: int
    doubt: float
    lost: bool


def label_folder(photos: PathLike, classes: PathLike, *, pool: str = "any", **options: Any) -> tuple[PictureTask, HPL]:
    """Label the unsorted pictures of a folder. Returns the task and the fitted model.

    `model.transduction_` has a class name for each picture, in the order of `task.embedded.ids`. The options are those
    of :func:`read_picture_task`.
    """
    task = read_picture_task(photos, classes, pool=pool, **options)
    return task, fit_picture_task(task)


def read_picture_task(
    photos: PathLike,
    classes: PathLike,
    *,
    pool: str = "any",
    encoder: str = DEFAULT_ENCODER,
    run: PathLike | None = None,
    progress: ReportProgress | None = None,
) -> PictureTask:
    """Embed the pictures, describe the classes, and read labels from folder names.

    pool : "any": an unsorted picture may belong to any class; "new": only to classes without a folder.
    """
    if pool not in ("any", "new"):
        raise UserError(f"--pool {pool} is not known. Give any or new.")
    opened = open_encoder(encoder)
    described = describe_classes(classes, encoder=opened)
    embedded = embed_folder(photos, encoder=opened, run=run, progress=progress)
    found = label_by_folder(embedded.ids, embedded.contents, described.names.tolist())
    number = {name: row for row, name in enumerate(described.names.tolist())}
    labels = np.array([-1 if label is None else number[label] for label in found.labels])
    warnings = [*described.notes, *found.warnings]
    task = PictureTask(Path(photos), embedded, described, labels, np.array(found.copied, bool), pool, warnings)
    _check(task, opened)
    return task


def fit_picture_task(task: PictureTask) -> HPL:
    """Fit the default model. Its `transduction_` has a class name for each picture."""
    names = task.classes.names.astype(object)
    y = np.array([None if label < 0 else names[label] for label in task.labels], dtype=object)
    model = HPL(candidates=task.candidates, random_state=0)
    return model.fit(_rows(task), y, semantics=task.classes.semantics, class_names=task.classes.names)


def forecast_of(task: PictureTask, model: HPL) -> Forecast | None:
    """Expected accuracy on classes without examples. None if every class has examples, or too few have any."""
    return None if task.seen.all() or not np.isfinite(model.forecast_.accuracy) else model.forecast_


def write_picture_labels(path: PathLike, task: PictureTask, model: HPL) -> int:
    """Write the label of each unsorted picture, in the order of the paths. Returns the number of rows.

    A copy of an example has its label, with probability 1.
    """
    asked = np.flatnonzero((task.labels < 0) | task.copied)
    ids = np.array([task.embedded.ids[row] for row in asked], dtype=object)
    names = task.classes.names.tolist()
    given = np.array([names[label] if label >= 0 else None for label in task.labels[asked].tolist()], dtype=object)
    return write_labels(path, model, Features(_rows(task)[asked], ids), given=given).rows


def summarize_classes(task: PictureTask, model: HPL) -> list[ClassSummary]:
    """A summary of each class, in the order of the table."""
    asked = task.labels < 0
    lines = []
    for row, name in enumerate(task.classes.names.tolist()):
        own = asked & (np.asarray(model.transduction_) == name)
        doubt = float(model.doubt_[own].mean()) if own.any() else float("nan")
        lost = bool(model.class_doubt_[row] > LOST and not task.seen[row])
        lines.append(ClassSummary(name, int((task.labels == row).sum()), int(own.sum()), doubt, lost))
    return lines


def as_task(task: PictureTask) -> Task:
    """The task in the form that reports take. The true labels of unsorted pictures are unknown."""
    return Task(
        X=_rows(task),
        y=task.labels,
        semantics=task.classes.semantics,
        class_names=task.classes.names,
        truth=task.labels,
        candidates=task.candidates,
        setting="gzsl" if task.pool == "any" else "zsl",
        pool="mixed" if task.pool == "any" else "unseen",
        name=task.photos.resolve().name or "pictures",
        paths=np.array(task.embedded.ids, dtype=object),
    )


def _rows(task: PictureTask) -> Array:
    return task.embedded.features.astype(np.float32)


def _check(task: PictureTask, encoder: PictureEncoder) -> None:
    """Refuse, before the fit, a task with nothing to label or nothing to learn from."""
    seen, photos = task.seen, task.photos
    if not (task.labels < 0).any():
        raise UserError(f"Every picture of {photos} is in a folder with the name of a class. Nothing is left to label.")
    if task.pool == "new" and seen.all():
        raise UserError("Every class has examples, so --pool new leaves no class to choose. Give --pool any.")
    shared = hasattr(encoder, "embed_texts") and task.classes.kind != "attributes"
    if seen.sum() < 2 and not shared:
        listed = ", ".join(repr(name) for name in task.classes.names[:3].tolist())
        raise UserError(
            f"{int(seen.sum())} of {len(seen)} classes have a folder in {photos}, and at least two are needed. Sort "
            f"some pictures into folders with the names of their classes (such as {listed}). No example is needed with "
            "an encoder that embeds texts too (open_clip:NAME, hf:NAME) and classes described in words."
        )
