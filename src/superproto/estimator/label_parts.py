"""SHARE: write a folder of labels for any number of rows, in parts that are written atomically.

Beside each part is a file with two checksums, of the rows it labels and of its own bytes. After an interruption, the
same call resumes. It raises if rows have changed, and writes a damaged part again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superproto.datasets.feature_files import Features
from superproto.errors import UserError
from superproto.estimator.label_table import write_labels
from superproto.files import is_running, this_process, write_whole
from superproto.samples.chunks import Array, ChunkedRows, rows_of
from superproto.samples.readers import as_rows
from superproto.samples.readers.on_disk import Window, ids_of
from superproto.samples.row_seal import seal_of_rows

PART_ROWS = 2**18
# Readers of Parquet folders ignore names that begin with an underscore.
_MANIFEST, _LOCK = "_labels.json", "_lock"


class StreamSummary(NamedTuple):
    """The number of rows in the folder, of rows found from an earlier run, and of parts."""

    rows: int
    found: int
    parts: int


def stream_labels(
    model: Any,
    X: Any,
    folder: str | os.PathLike[str],
    *,
    reject: bool = False,
    part_rows: int = PART_ROWS,
    progress: Callable[[int, int], None] | None = None,
) -> StreamSummary:
    """Label every row of X (an array, or anything that ``fit`` accepts) into ``folder``/part-0000000.parquet and so on.

    Columns are id (the row number, or that in a Parquet column ``id``), label, probability, margin, runner_up. The
    same call resumes after an interruption. It raises if the folder has other labels. ``progress(done, total)`` is
    called after each part with the numbers of rows.
    """
    given = as_rows(X)
    rows = rows_of(X) if given is None else given
    if rows.n_columns != model.n_features_in_:
        raise UserError(f"X has {rows.n_columns} features, but the model was fitted with {model.n_features_in_}.")
    place = Path(folder)
    _open_folder(place, _part_plan(model, rows, reject, part_rows))
    found, starts = 0, range(0, rows.n_rows, part_rows)
    with _only_one(place):
        for number, start in enumerate(starts):
            stop, path = min(start + part_rows, rows.n_rows), place / f"part-{number:07d}.parquet"
            seal = seal_of_rows(rows.select(np.arange(start, stop)))
            if _is_done(path, seal, start, stop):
                found += stop - start
                continue
            window = Features(Window(rows, start, stop), _row_ids(rows, start, stop))  # type: ignore[arg-type]
            write_labels(path, model, window, reject=reject)
            with write_whole(_seal_file(path), text=True) as handle:
                handle.write(f"{_digest(path)} {seal}")
            if progress is not None:
                progress(stop, rows.n_rows)
    return StreamSummary(rows.n_rows, found, len(starts))


def _is_done(path: Path, seal: str, start: int, stop: int) -> bool:
    """Tell whether a part exists, is undamaged, and labels these rows."""
    if not path.exists() or not _seal_file(path).exists():
        return False
    digest, _, kept = _seal_file(path).read_text(encoding="utf-8", errors="replace").partition(" ")
    if digest != _digest(path):
        return False
    if kept != seal:
        raise UserError(
            f"{path.parent} holds labels of other rows: rows {start} to {stop - 1} have changed. Give another folder."
        )
    return True


def _seal_file(path: Path) -> Path:
    return path.with_name(f"_{path.stem}.seal")


def _digest(path: Path) -> str:
    with path.open("rb") as handle:
        digest = hashlib.sha256()
        for block in iter(lambda: handle.read(2**20), b""):
            digest.update(block)
    return digest.hexdigest()


@contextmanager
def _only_one(place: Path) -> Iterator[None]:
    """Raise if another run is writing to the folder; take over the lock of a killed run."""
    lock = place / _LOCK
    with suppress(OSError):
        if not is_running(lock.read_text(encoding="utf-8")):
            lock.unlink()
    try:
        descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        raise UserError(f"Another run is writing to {place}. Wait for it, or delete {lock} if there is none.") from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(this_process())
        for begun in place.glob(".part-*.parquet.*.part"):
            # A run that was killed left it half written.
            begun.unlink(missing_ok=True)
        yield
    finally:
        lock.unlink(missing_ok=True)


def _row_ids(rows: ChunkedRows, start: int, stop: int) -> Array:
    found = ids_of(rows, start, stop)
    return np.arange(start, stop).astype(str) if found is None else found


def _part_plan(model: Any, rows: ChunkedRows, reject: bool, part_rows: int) -> dict[str, Any]:
    """Return what determines the folder's content, except the values of the rows, which each part's checksum covers."""
    seal = hashlib.sha256(repr(sorted(map(str, model.classes_.tolist()))).encode("utf-8", "backslashreplace"))
    for name, value in sorted(vars(model).items()):
        if isinstance(value, np.ndarray) and name.endswith("_") and value.dtype.kind in "fiub":
            seal.update(f"\n{name} {value.dtype.str} {value.shape}\n".encode())
            seal.update(np.ascontiguousarray(value).tobytes())
    return {"rows": rows.n_rows, "part_rows": part_rows, "reject": reject, "seal": seal.hexdigest()}


def _open_folder(place: Path, plan: dict[str, Any]) -> None:
    """Mark a new folder with the plan of its parts, or check that an existing one has the same plan."""
    manifest = place / _MANIFEST
    if manifest.exists():
        try:
            same = json.loads(manifest.read_text(encoding="utf-8")) == plan
        except (ValueError, RecursionError):
            same = False
        if not same:
            raise UserError(f"{place} holds labels of another model or other rows. Give another folder.")
        return
    if not place.parent.is_dir():
        raise UserError(f"{place} cannot be written: the folder {place.parent} does not exist. Create it first.")
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise UserError(f"{place} exists and is not a folder of labels. Give another name.")
    place.mkdir(exist_ok=True)
    with write_whole(manifest, text=True) as handle:
        json.dump(plan, handle)
