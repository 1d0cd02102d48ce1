"""HAND OUT at scale: labels of hundreds of millions of rows into a folder of Parquet files, a part at a time.

A part is written whole or not at all, so a run that was stopped goes on with the first part that is missing. Memory is
that of one chunk of rows and the lines of one part, however many rows there are.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superproto import passes
from superproto.backends import as_rows
from superproto.backends.chunks import Window, ids_of
from superproto.datasets.features import Features
from superproto.errors import UserError
from superproto.files import write_whole
from superproto.labels import write_labels
from superproto.rows import Array, Rows, gather, rows_of

__all__ = ["PART_ROWS", "Streamed", "stream_labels"]

PART_ROWS = 2**18
# Readers of Parquet folders pass over names that begin so.
_MANIFEST = "_labels.json"


class Streamed(NamedTuple):
    """What a run did: all rows of the folder, and those that were there before."""

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
) -> Streamed:
    """Label every row of X (an array, or whatever a fit takes) into ``folder``/part-0000000.parquet and so on.

    Columns are id (the row's number, or what a Parquet column ``id`` says), label, probability, margin, runner_up. The
    same call goes on after a stop; a folder of other labels is refused. ``progress`` is told rows done and rows in all
    after each part.
    """
    given = as_rows(X)
    rows = rows_of(X) if given is None else given
    if rows.n_columns != model.n_features_in_:
        raise UserError(f"X has {rows.n_columns} features, but the model was fitted with {model.n_features_in_}.")
    place = Path(folder)
    _claim(place, _plan(model, rows, reject, part_rows))
    found, starts = 0, range(0, rows.n_rows, part_rows)
    for number, start in enumerate(starts):
        stop, path = min(start + part_rows, rows.n_rows), place / f"part-{number:07d}.parquet"
        if path.exists():
            found += stop - start
            continue
        window = Features(Window(rows, start, stop), _ids(rows, start, stop))  # type: ignore[arg-type]
        write_labels(path, model, window, reject=reject)
        if progress is not None:
            progress(stop, rows.n_rows)
    return Streamed(rows.n_rows, found, len(starts))


def _ids(rows: Rows, start: int, stop: int) -> Array:
    found = ids_of(rows, start, stop)
    return np.arange(start, stop).astype(str) if found is None else found


def _plan(model: Any, rows: Rows, reject: bool, part_rows: int) -> dict[str, Any]:
    """What decides the folder's content, as far as it can be told without reading all rows."""
    seal = hashlib.sha256(repr(sorted(map(str, model.classes_.tolist()))).encode())
    for name, value in sorted(vars(model).items()):
        if isinstance(value, np.ndarray) and name.endswith("_") and value.dtype.kind in "fiub":
            seal.update(f"\n{name} {value.dtype.str} {value.shape}\n".encode())
            seal.update(np.ascontiguousarray(value).tobytes())
    sample = rows.select(np.arange(0, rows.n_rows, max(1, rows.n_rows // 20)))
    seal.update(np.ascontiguousarray(gather(sample.visit(passes.as_they_are), strung=1)[0][0]).tobytes())
    return {"rows": rows.n_rows, "part_rows": part_rows, "reject": reject, "seal": seal.hexdigest()}


def _claim(place: Path, plan: dict[str, Any]) -> None:
    """Make the folder ours, or make sure that it is."""
    manifest = place / _MANIFEST
    if manifest.exists():
        try:
            same = json.loads(manifest.read_text(encoding="utf-8")) == plan
        except ValueError:
            same = False
        if not same:
            raise UserError(f"{place} holds labels of another model or other rows. Give another folder.")
        for begun in place.glob(".part-*.parquet.*.part"):
            # A run that was killed left it half written.
            begun.unlink(missing_ok=True)
        return
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise UserError(f"{place} exists and is no folder of labels. Give another name.")
    place.mkdir(exist_ok=True)
    with write_whole(manifest, text=True) as handle:
        json.dump(plan, handle)
