"""READ: the folder of a run, which stores the features of pictures. A kill at any moment loses one batch at most.

Pictures are identified by the hash of their content, so that renamed or moved files keep their features. Features are
appended to a file of float16 numbers. They are on the disk before the index refers to them.

The folder (`PHOTOS/.superproto`, or what `--run` names) holds:

`run.db`
    An SQLite database in WAL mode. Written by :class:`RunFolder` while pictures are embedded:
    `files` (path as bytes, size, modification time in ns, content, reason): every file below PHOTOS; `content` is its
    blake2b hash, or NULL with the reason why it is not used.
    `pictures` (encoder, content, row, fingerprint): the row of a picture in `features-N.f16` of encoder N.
    `encoders` (number, identity, n_features). The other tables belong to the page of `superproto explore`.
`features-N.f16`
    Features of all pictures that encoder N embedded, in the order of computation.
`features.npy`, `semantics.npy`
    The arrays of the fit, for `superproto explore`. Rows are in the order of the model's `transduction_`.
`model.safetensors`, `fit.json`
    The fitted model, and the record of its task and its warnings.
`labels.csv`, `report.html`
    The results. `--output` names a second file for the labels.
`lock`
    Locked by the process that uses the folder.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from superproto.errors import UserError
from superproto.pictures.encoders import PictureEncoder
from superproto.pictures.folder_walk import FoundFile
from superproto.samples.chunks import Array

_TABLES = """
CREATE TABLE IF NOT EXISTS files (path BLOB PRIMARY KEY, size INTEGER, changed INTEGER, content TEXT, reason TEXT);
CREATE TABLE IF NOT EXISTS pictures (encoder INTEGER, content TEXT, row INTEGER, fingerprint TEXT,
    PRIMARY KEY (encoder, content));
CREATE INDEX IF NOT EXISTS picture_rows ON pictures (encoder, row);
CREATE TABLE IF NOT EXISTS encoders (number INTEGER PRIMARY KEY, identity TEXT UNIQUE, n_features INTEGER);
"""


class KnownFile(NamedTuple):
    """What an earlier run stored about a file: its content's hash, or the reason why it is not used."""

    content: str | None
    reason: str | None


class RunFolder:
    """The index (`run.db`) and the features of one encoder (`features-N.f16`)."""

    def __init__(self, folder: Path, encoder: PictureEncoder) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _check_content(folder)
            self._locked = lock_folder(folder)
            self._database = sqlite3.connect(folder / "run.db", isolation_level=None, timeout=30)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.executescript(_TABLES)
        except OSError as error:
            raise UserError(f"{folder} cannot be written: {error.strerror}. Give --run another folder.") from None
        except sqlite3.Error as error:
            raise UserError(
                f"{folder / 'run.db'} cannot be used ({error}). Remove it, or give --run another folder."
            ) from None
        self.n_features = encoder.n_features
        self._encoder = self._number(encoder)
        self._store = folder / f"features-{self._encoder}.f16"
        self._drop_lost_rows()

    def close(self) -> None:
        """Close the index and release the lock."""
        self._database.close()
        self._locked.close()

    def known_files(self, found: Sequence[FoundFile]) -> dict[str, KnownFile]:
        """What is stored about files whose size and modification time have not changed."""
        rows = self._database.execute("SELECT path, size, changed, content, reason FROM files")
        known = {os.fsdecode(path): (size, changed, KnownFile(*rest)) for path, size, changed, *rest in rows}
        return {
            file.path: known[file.path][2]
            for file in found
            if file.path in known and known[file.path][:2] == (file.size, file.changed)
        }

    def fingerprints(self) -> dict[str, int]:
        """The fingerprints of all pictures that have features, by content."""
        rows = self._database.execute("SELECT content, fingerprint FROM pictures WHERE encoder = ?", (self._encoder,))
        return {content: int(fingerprint, 16) for content, fingerprint in rows}

    def keep(self, features: Array, contents: Sequence[str], fingerprints: Sequence[int]) -> None:
        """Append the features of new pictures."""
        start = self._next_row()
        with self._store.open("r+b" if self._store.exists() else "w+b") as handle:
            handle.seek(start * self.n_features * 2)
            handle.write(np.ascontiguousarray(features, dtype=np.float16).tobytes())
            handle.truncate()
            handle.flush()
            os.fsync(handle.fileno())
        rows = [(self._encoder, c, start + i, f"{f:016x}") for i, (c, f) in enumerate(zip(contents, fingerprints))]
        self._database.execute("BEGIN IMMEDIATE")
        self._database.executemany("INSERT OR REPLACE INTO pictures VALUES (?, ?, ?, ?)", rows)
        self._database.execute("COMMIT")

    def note_files(self, files: Sequence[tuple[FoundFile, str | None, str | None]]) -> None:
        """Store the content hash of files, or the reason why they are not used."""
        self._database.execute("BEGIN IMMEDIATE")
        self._database.executemany(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)",
            [(os.fsencode(f.path), f.size, f.changed, content, reason) for f, content, reason in files],
        )
        self._database.execute("COMMIT")

    def features(self, contents: Sequence[str]) -> Array:
        """(N, d) float16 features of pictures, in the order given."""
        if not contents:
            return np.empty((0, self.n_features), np.float16)
        rows = dict(self._database.execute("SELECT content, row FROM pictures WHERE encoder = ?", (self._encoder,)))
        stored = np.memmap(self._store, np.float16, "r", shape=(self._next_row(), self.n_features))
        return np.asarray(stored[[rows[content] for content in contents]])

    def _number(self, encoder: PictureEncoder) -> int:
        self._database.execute(
            "INSERT OR IGNORE INTO encoders (identity, n_features) VALUES (?, ?)",
            (encoder.identity, encoder.n_features),
        )
        [(number,)] = self._database.execute("SELECT number FROM encoders WHERE identity = ?", (encoder.identity,))
        return int(number)

    def _next_row(self) -> int:
        [(last,)] = self._database.execute("SELECT MAX(row) FROM pictures WHERE encoder = ?", (self._encoder,))
        return 0 if last is None else last + 1

    def _drop_lost_rows(self) -> None:
        """Delete rows beyond the end of the file, which may have been truncated by a power failure or a person."""
        there = self._store.stat().st_size // (2 * self.n_features) if self._store.exists() else 0
        self._database.execute("DELETE FROM pictures WHERE encoder = ? AND row >= ?", (self._encoder, there))


def _check_content(folder: Path) -> None:
    """Refuse a folder with other files, such as pictures."""
    names = {entry.name for entry in os.scandir(folder)}
    if names and not names & {"run.db", "lock"}:
        raise UserError(
            f"{folder} has other files ({min(names)}), and a run needs a folder of its own. Give --run a new folder."
        )


def lock_folder(folder: Path) -> IO[str]:
    """Lock the folder of a run until the handle is closed. Two runs at a time would write the same rows."""
    locked = (folder / "lock").open("w")
    try:
        import fcntl
    except ImportError:
        return locked
    try:
        fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        locked.close()
        raise UserError(f"{folder} is in use by another run. Wait for it, or give --run another folder.") from None
    return locked
