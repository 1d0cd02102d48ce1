"""SHARE: the table of labels: id, label, probability, margin and runner_up of each row.

Rows are read, scored and written a chunk at a time. A rejected row has no label but keeps its numbers, so that one can
see how near it was to the threshold.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from superproto.datasets import read_features
from superproto.datasets.feature_files import Features
from superproto.datasets.safe_files.npz import map_npy
from superproto.errors import UserError
from superproto.estimator.base import confidence
from superproto.files import write_whole
from superproto.samples.chunks import Array, ChunkedRows, chunk_length, in_memory, rows_of
from superproto.samples.readers import as_rows
from superproto.samples.readers.on_disk import Window, ids_of, open_rows

COLUMNS = ("id", "label", "probability", "margin", "runner_up")


class LabelChunk(NamedTuple):
    """Answers for some rows; ``label`` is None where a row is rejected, ``runner_up`` where there is one candidate."""

    id: Array
    label: Array
    probability: Array
    margin: Array
    runner_up: Array


class LabelSummary(NamedTuple):
    """What was written."""

    rows: int
    rejected: int
    mean_probability: float


def open_features(path: str | os.PathLike[str]) -> Features:
    """The rows of a file; those of .npy, .zarr and .h5 stay on the disk until they are needed."""
    if Path(path).suffix.lower() in (".zarr", ".h5", ".hdf5"):
        return Features(Window(open_rows(path)), None)  # type: ignore[arg-type]
    if Path(path).suffix.lower() == ".npy" and not os.path.isdir(path):
        X = map_npy(Path(path))
        if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.size:
            raise UserError(f"{path}: features of shape {X.shape} and type {X.dtype}. Give rows of numbers.")
        return Features(X, None)
    return read_features(path)


def label_rows(model: Any, X: Array, ids: Array | None = None, *, reject: bool = False) -> Iterator[LabelChunk]:
    """The answers of a fitted model, a chunk of rows at a time; ``ids`` None: row numbers from 0.

    probability: of the label, among the candidates; margin: the probability's lead over the runner-up's.
    """
    if X.shape[1] != model.n_features_in_:
        raise UserError(f"The rows have {X.shape[1]} features, but the model was fitted with {model.n_features_in_}.")
    threshold = _threshold(model) if reject else -np.inf
    step = chunk_length(X.shape[1] + len(model.classes_), 8)
    for start in range(0, len(X), step):
        part = np.asarray(X[start : start + step])
        bad = np.flatnonzero(~np.isfinite(part).all(axis=1))
        if len(bad):
            raise UserError(f"Row {start + bad[0]} has NaN or infinity. Drop or correct it.")
        names = np.arange(start, start + len(part)).astype(str) if ids is None else ids[start : start + step]
        yield _answers(model, part, names, threshold)


def write_labels(
    path: str | os.PathLike[str],
    model: Any,
    features: Features,
    *,
    doubtful_first: bool = False,
    reject: bool = False,
) -> LabelSummary:
    """Write the table (Parquet where the name ends so, else CSV), whole or not at all; rows in the order of the input,
    or, with ``doubtful_first``, rejected ones first and then by growing margin."""
    chunks = label_rows(model, features.X, features.ids, reject=reject)
    if doubtful_first:
        chunks = iter([_by_uncertainty(list(chunks))])
    write = _write_parquet if Path(path).suffix.lower() == ".parquet" else _write_csv
    rows, rejected, total = 0, 0, 0.0
    with write_whole(path, text=write is _write_csv) as handle:
        for lines in write(handle, chunks):
            rows += len(lines.id)
            rejected += sum(label is None for label in lines.label)
            total += float(lines.probability.sum())
    return LabelSummary(rows, rejected, total / max(rows, 1))


def _answers(model: Any, rows: Array, ids: Array, threshold: float) -> LabelChunk:
    scores, masked, probabilities = model.answers(rows)
    first = masked.argmax(axis=1)
    at = np.arange(len(rows))
    top = probabilities[at, first]
    others = masked.copy()
    others[at, first] = -np.inf
    second = others.argmax(axis=1)
    several = np.isfinite(others[at, second])
    labels = model.classes_[first].astype(object)
    if np.isfinite(threshold):
        labels[confidence(model, scores) < threshold] = None
    runners = model.classes_[second].astype(object)
    runners[~several] = None
    return LabelChunk(ids, labels, top, top - np.where(several, probabilities[at, second], 0.0), runners)


def _threshold(model: Any) -> float:
    learned = getattr(model, "rejection_", None)
    if not isinstance(learned, dict) or not isinstance(learned.get("threshold"), float):
        raise UserError(
            "The model has no threshold to reject rows. Fit it with `superproto fit` on a pack to learn one; "
            "this needs at least 4 seen classes."
        )
    return float(learned["threshold"])


def _by_uncertainty(chunks: list[LabelChunk]) -> LabelChunk:
    whole = LabelChunk(*(np.concatenate(column) for column in zip(*chunks)))
    labeled = np.array([label is not None for label in whole.label], dtype=bool)
    order = np.lexsort((whole.margin, labeled))
    return LabelChunk(*(column[order] for column in whole))


def _write_csv(handle: IO[str], chunks: Iterator[LabelChunk]) -> Iterator[LabelChunk]:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(COLUMNS)
    for lines in chunks:
        for name, label, probability, margin, runner in zip(*lines):
            writer.writerow([name, label, f"{probability:.6f}", f"{margin:.6f}", runner])
        yield lines


def _write_parquet(handle: IO[bytes], chunks: Iterator[LabelChunk]) -> Iterator[LabelChunk]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UserError('Parquet files need pyarrow: pip install "superproto[frames]". Or write a .csv.') from None
    kinds = (pa.string(), pa.string(), pa.float64(), pa.float64(), pa.string())
    with pq.ParquetWriter(handle, pa.schema(list(zip(COLUMNS, kinds)))) as writer:
        for lines in chunks:
            columns = [
                pa.array(column if kind == pa.float64() else [None if v is None else str(v) for v in column], kind)
                for column, kind in zip(lines, kinds)
            ]
            writer.write_table(pa.table(columns, schema=writer.schema))
            yield lines


PART_ROWS = 2**18
# Readers of Parquet folders pass over names that begin so.
_MANIFEST = "_labels.json"


class StreamSummary(NamedTuple):
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
) -> StreamSummary:
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
    _open_folder(place, _part_plan(model, rows, reject, part_rows))
    found, starts = 0, range(0, rows.n_rows, part_rows)
    for number, start in enumerate(starts):
        stop, path = min(start + part_rows, rows.n_rows), place / f"part-{number:07d}.parquet"
        if path.exists():
            found += stop - start
            continue
        window = Features(Window(rows, start, stop), _row_ids(rows, start, stop))  # type: ignore[arg-type]
        write_labels(path, model, window, reject=reject)
        if progress is not None:
            progress(stop, rows.n_rows)
    return StreamSummary(rows.n_rows, found, len(starts))


def _row_ids(rows: ChunkedRows, start: int, stop: int) -> Array:
    found = ids_of(rows, start, stop)
    return np.arange(start, stop).astype(str) if found is None else found


def _part_plan(model: Any, rows: ChunkedRows, reject: bool, part_rows: int) -> dict[str, Any]:
    """What decides the folder's content, as far as it can be told without reading all rows."""
    seal = hashlib.sha256(repr(sorted(map(str, model.classes_.tolist()))).encode())
    for name, value in sorted(vars(model).items()):
        if isinstance(value, np.ndarray) and name.endswith("_") and value.dtype.kind in "fiub":
            seal.update(f"\n{name} {value.dtype.str} {value.shape}\n".encode())
            seal.update(np.ascontiguousarray(value).tobytes())
    sample = rows.select(np.arange(0, rows.n_rows, max(1, rows.n_rows // 20)))
    seal.update(np.ascontiguousarray(in_memory(sample)).tobytes())
    return {"rows": rows.n_rows, "part_rows": part_rows, "reject": reject, "seal": seal.hexdigest()}


def _open_folder(place: Path, plan: dict[str, Any]) -> None:
    """Mark a new folder with the plan of its parts, or check that an existing one has the same plan."""
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
