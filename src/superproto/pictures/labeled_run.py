"""READ: the task of `superproto label` in the folder of its run, written once and read back without an encoder.

The layout of the folder is described in :mod:`superproto.pictures.run_folder`.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from superproto.datasets.safe_files.npz import map_npy, read_npy
from superproto.errors import UserError
from superproto.files import PathLike, write_whole
from superproto.pictures.descriptions import DescribedClasses
from superproto.pictures.embedding import EmbeddedFolder
from superproto.pictures.labeling import PictureTask
from superproto.samples.chunks import Array

_TABLES = """
CREATE TABLE IF NOT EXISTS samples (row INTEGER PRIMARY KEY, id TEXT, content TEXT, given INTEGER);
CREATE TABLE IF NOT EXISTS classes (number INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT);
"""


def write_run(folder: Path, task: PictureTask) -> None:
    """Write the task into the folder of a run; a table that was there is replaced whole."""
    _write_array(folder / "features.npy", task.embedded.features)
    _write_array(folder / "semantics.npy", task.classes.semantics)
    given = [None if label < 0 else int(label) for label in task.labels]
    samples = zip(range(len(given)), task.embedded.ids, task.embedded.contents, given)
    settings = [(name, json.dumps(value)) for name, value in _settings(folder, task).items()]
    with _connected(folder) as database:
        database.executescript(_TABLES)
        database.execute("BEGIN IMMEDIATE")
        for table, rows in (
            ("samples", samples),
            ("classes", enumerate(task.classes.names.tolist())),
            ("settings", settings),
        ):
            database.execute(f"DELETE FROM {table}")
            places = ", ".join("?" * (4 if table == "samples" else 2))
            database.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
        database.execute("COMMIT")


def read_run(folder: PathLike) -> PictureTask:
    """The task of a run; its features are mapped from the disk.

    What was left out, copies and warnings are told when the pictures are embedded, and are empty here.
    """
    folder = Path(folder)
    if not (folder / "run.db").is_file() or not (folder / "features.npy").is_file():
        raise UserError(
            f"{folder} is not the folder of a labeled run. Make one with: superproto label PHOTOS --classes CLASSES.csv"
        )
    try:
        with _connected(folder) as database:
            samples = list(database.execute("SELECT id, content, given FROM samples ORDER BY row"))
            names = [name for (name,) in database.execute("SELECT name FROM classes ORDER BY number")]
            settings = {name: json.loads(value) for name, value in database.execute("SELECT * FROM settings")}
        ids, contents, given = (list(column) for column in zip(*samples))
        return _task(folder, (ids, contents, given), np.array(names), settings)
    except (sqlite3.Error, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{folder / 'run.db'} cannot be used ({error}). Run superproto label again.") from None


def _task(folder: Path, samples: tuple[list[Any], ...], names: Array, settings: dict[str, Any]) -> PictureTask:
    ids, contents, given = samples
    features, semantics = map_npy(folder / "features.npy"), read_npy(folder / "semantics.npy")
    labels = np.array([-1 if label is None else label for label in given])
    if len(features) != len(ids) or len(semantics) != len(names) or not -1 <= labels.min() <= labels.max() < len(names):
        raise UserError(f"The files of {folder} are not of one run. Run superproto label again.")
    outside = next((path for path in ids if PurePosixPath(path).is_absolute() or ".." in path.split("/")), None)
    if outside is not None:
        raise UserError(f"{folder / 'run.db'} names {outside!r}, which is not below the pictures. Do not use this run.")
    attributes = settings["attributes"]
    named = None if attributes is None else np.array(attributes)
    return PictureTask(
        photos=Path(os.path.normpath(folder / settings["photos"])),
        embedded=EmbeddedFolder(features, ids, contents, [], [], [], 0),
        classes=DescribedClasses(names, semantics, named, settings["kind"], []),
        labels=labels,
        pool=settings["pool"],
        encoder=settings["encoder"],
        warnings=[],
    )


def _settings(folder: Path, task: PictureTask) -> dict[str, Any]:
    attributes = task.classes.attributes
    return {
        "photos": _relative(task.photos, folder),
        "pool": task.pool,
        "encoder": task.encoder,
        "kind": task.classes.kind,
        "attributes": None if attributes is None else [str(name) for name in attributes],
    }


def _relative(photos: Path, folder: Path) -> str:
    """The way from the run to its pictures, which stays right when both are moved together."""
    try:
        return Path(os.path.relpath(photos, folder)).as_posix()
    except ValueError:  # two drives of Windows
        return photos.resolve().as_posix()


def _write_array(path: Path, array: Array) -> None:
    with write_whole(path) as handle:
        np.save(handle, np.ascontiguousarray(array))


@contextmanager
def _connected(folder: Path) -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(folder / "run.db", isolation_level=None, timeout=30)
    try:
        yield database
    finally:
        database.close()
