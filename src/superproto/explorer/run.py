"""KEEP: what a run consists of, so that a page can be opened on it: samples, classes, features, the model.

A run is a folder. `run.db` has a line for each sample and class, `features.npy` the features, `semantics.npy` the class
vectors, `model.safetensors` the first model. Samples are known by a key: the hash of a picture's content, or the id
of a row without a picture. Answers of a person are kept under that key, so that they survive renamed files.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from superproto.datasets.safe_files.npz import map_npy
from superproto.errors import UserError
from superproto.files import PathLike, write_whole
from superproto.pictures.run_folder import lock_folder
from superproto.samples.chunks import Array

if TYPE_CHECKING:
    from superproto.datasets.task import Task
    from superproto.pictures.labeling import PictureTask

DATABASE, MODEL = "run.db", "model.safetensors"
_FORMAT = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS samples (row INTEGER PRIMARY KEY, id TEXT, key TEXT, given INTEGER);
CREATE INDEX IF NOT EXISTS samples_by_key ON samples (key);
CREATE TABLE IF NOT EXISTS classes (number INTEGER PRIMARY KEY, name TEXT, description TEXT);
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT);
"""


@dataclass(frozen=True)
class RunContent:
    """What :func:`keep_run` writes.

    X : (N, d) features; given : (N,) class of a labeled sample, -1 else; candidates : "unseen" or "all";
    photos : the folder of the pictures, which the ids are paths below, or None; keys : (N,), None: the ids.
    """

    name: str
    X: Array
    ids: Sequence[str]
    given: Array
    class_names: Sequence[str]
    semantics: Array
    candidates: str = "unseen"
    keys: Sequence[str] | None = None
    descriptions: Sequence[str] | None = None
    attributes: Sequence[str] | None = None
    photos: Path | None = None


@dataclass(frozen=True)
class OpenRun:
    """A run that is opened: arrays in memory or mapped, texts of samples in the database."""

    folder: Path
    name: str
    signature: str
    candidates: str
    photos: Path | None
    class_names: list[str]
    descriptions: list[str]
    attributes: list[str] | None
    X: Array
    given: Array
    semantics: Array
    lock: IO[str]

    @cached_property
    def asked(self) -> Array:
        """(N,) the samples that had no label when the run began."""
        return np.asarray(self.given < 0)

    @cached_property
    def seen(self) -> Array:
        """(C,) the classes that had a labeled sample when the run began."""
        return np.isin(np.arange(len(self.class_names)), self.given)

    @cached_property
    def possible(self) -> Array:
        """(C,) the classes that a sample without a label may have, as far as was known when the run began."""
        unseen = ~self.seen
        return np.ones_like(unseen) if self.candidates == "all" or not unseen.any() else unseen


def keep_picture_run(folder: Path, task: PictureTask) -> None:
    """Note in a run's folder what `label` fitted, so that a page can be opened on it."""
    attributes = task.classes.attributes
    keep_run(
        folder,
        RunContent(
            name=task.photos.resolve().name or "pictures",
            X=task.embedded.features,
            ids=task.embedded.ids,
            keys=task.embedded.contents,
            given=task.labels,
            class_names=task.classes.names.tolist(),
            semantics=task.classes.semantics,
            candidates=task.candidates,
            descriptions=getattr(task.classes, "texts", None),
            attributes=None if attributes is None else [str(name) for name in attributes],
            photos=task.photos,
        ),
    )


def keep_task_run(folder: Path, task: Task, photos: Path | None = None) -> bool:
    """The same of any task; whether the folder held it already. ``photos``: the folder that the task's paths are in."""
    rows = np.arange(len(task.X)) if task.rows is None else task.rows
    return keep_run(
        folder,
        RunContent(
            name=task.name,
            X=task.X,
            ids=[str(name) for name in (rows if task.paths is None else task.paths)],
            given=task.y,
            class_names=[str(name) for name in task.class_names],
            semantics=task.semantics,
            candidates=task.candidates,
            # Packs have no names of attributes.
            attributes=[f"attribute {number}" for number in range(1, task.semantics.shape[1] + 1)],
            photos=photos,
        ),
    )


def keep_run(folder: Path, content: RunContent) -> bool:
    """Write samples, classes and arrays into the folder; whether they were there already, and nothing changed."""
    folder.mkdir(parents=True, exist_ok=True)
    signature = _signature(content)
    database = open_database(folder)
    try:
        # An older version of the tables, or none: written as if it were new.
        if read_settings(database).get("signature") == signature:
            _write_settings(database, {"photos": _absolute(content.photos), "name": content.name})
            return True
        for name, array in (("features.npy", content.X), ("semantics.npy", content.semantics)):
            with write_whole(folder / name) as handle:
                np.save(handle, np.ascontiguousarray(array), allow_pickle=False)
        _write_tables(database, content, signature)
        return False
    finally:
        database.close()


def open_run(place: PathLike) -> OpenRun:
    """The run in a folder, or in `.superproto` in a folder of pictures; nobody else may open it meanwhile."""
    folder = _run_folder(Path(place))
    try:
        lock = lock_folder(folder)
    except UserError:
        raise UserError(
            f"{folder} is in use by `superproto explore` or `superproto label`. End that first; the page exports too."
        ) from None
    try:
        return _read_run(folder, lock)
    except BaseException:
        lock.close()
        raise


def open_database(folder: Path) -> sqlite3.Connection:
    """The database of a run, with the tables of this module."""
    try:
        database = sqlite3.connect(folder / DATABASE, isolation_level=None, timeout=30, check_same_thread=False)
        database.execute("PRAGMA journal_mode=WAL")
        # A person's answer is on the disk when it is acknowledged.
        database.execute("PRAGMA synchronous=FULL")
        database.executescript(_TABLES)
    except sqlite3.Error as error:
        raise UserError(f"{folder / DATABASE} cannot be used ({error}). Is it the folder of a run?") from None
    return database


def read_settings(database: sqlite3.Connection) -> dict[str, Any]:
    """What was noted about the run."""
    return {name: json.loads(value) for name, value in database.execute("SELECT name, value FROM settings")}


def _run_folder(place: Path) -> Path:
    for folder in (place, place / ".superproto"):
        if (folder / DATABASE).is_file() and (folder / MODEL).is_file():
            return folder
    if not place.exists():
        raise UserError(f"{place} does not exist. Give the folder that `superproto label` left.")
    raise UserError(
        f"{place} is not the folder of a run: it has no {DATABASE} with a {MODEL}. Give what `superproto label` left "
        "(PHOTOS/.superproto), or a pack."
    )


def _read_run(folder: Path, lock: IO[str]) -> OpenRun:
    database = open_database(folder)
    try:
        settings = read_settings(database)
        if settings.get("format") != _FORMAT:
            raise UserError(f"{folder} is a run of another version. Run `superproto label` again: it takes seconds.")
        given = np.array([g for (g,) in database.execute("SELECT given FROM samples ORDER BY row")], dtype=np.int32)
        classes = list(database.execute("SELECT name, description FROM classes ORDER BY number"))
    finally:
        database.close()
    X, semantics = map_npy(folder / "features.npy"), np.array(map_npy(folder / "semantics.npy"))
    if len(X) != len(given) or len(semantics) != len(classes):
        raise UserError(
            f"{folder} is damaged: {len(X)} rows of features, but {len(given)} samples. Run `superproto label` again."
        )
    photos = settings.get("photos")
    return OpenRun(
        folder=folder, name=settings["name"], signature=settings["signature"], candidates=settings["candidates"],
        photos=None if photos is None else Path(photos), class_names=[name for name, _ in classes],
        descriptions=[text or "" for _, text in classes], attributes=settings["attributes"],
        X=X, given=given, semantics=semantics, lock=lock,
    )  # fmt: skip


def _write_tables(database: sqlite3.Connection, content: RunContent, signature: str) -> None:
    keys = content.ids if content.keys is None else content.keys
    texts = [""] * len(content.class_names) if content.descriptions is None else content.descriptions
    database.execute("BEGIN IMMEDIATE")
    database.execute("DELETE FROM samples")
    database.execute("DELETE FROM classes")
    samples: Iterable[Any] = zip(range(len(content.ids)), content.ids, keys, content.given.tolist())
    database.executemany("INSERT INTO samples VALUES (?, ?, ?, ?)", samples)
    database.executemany("INSERT INTO classes VALUES (?, ?, ?)", zip(range(len(texts)), content.class_names, texts))
    noted = {
        "format": _FORMAT,
        "name": content.name,
        "signature": signature,
        "candidates": content.candidates,
        "photos": _absolute(content.photos),
        "attributes": None if content.attributes is None else list(content.attributes),
    }
    _write_settings(database, noted)
    database.execute("COMMIT")


def _write_settings(database: sqlite3.Connection, noted: dict[str, Any]) -> None:
    lines = [(name, json.dumps(value)) for name, value in noted.items()]
    database.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", lines)


def _absolute(photos: Path | None) -> str | None:
    return None if photos is None else os.path.abspath(photos)


def _signature(content: RunContent) -> str:
    """A hash of all that decides which sample and which class a number means."""
    seal = hashlib.blake2b(f"{_FORMAT} {content.candidates}".encode(), digest_size=16)
    for array in (content.X, np.asarray(content.given, dtype=np.int64), content.semantics):
        seal.update(f"{array.dtype.str} {array.shape}".encode())
        seal.update(np.ascontiguousarray(array).data)
    named = [list(content.ids), list(content.keys or ()), list(content.class_names), list(content.descriptions or ())]
    seal.update(json.dumps(named).encode())
    return seal.hexdigest()
