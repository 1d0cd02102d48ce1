"""SHARE: write the table of labels: id, label, probability, margin and runner_up of each row.

Rows are read, scored and written a chunk at a time. A rejected row has no label but keeps its probability and margin.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from superproto.datasets import read_features
from superproto.datasets.feature_files import Features, is_number
from superproto.datasets.loading import read_source
from superproto.datasets.safe_files.npz import map_npy
from superproto.errors import UserError
from superproto.estimator.base import confidence
from superproto.files import write_whole
from superproto.samples.chunks import Array, chunk_length
from superproto.samples.readers.on_disk import Window, open_rows

COLUMNS = ("id", "label", "probability", "margin", "runner_up")
_FORMULA = tuple("=+-@\t\r")
_TO_QUOTE = re.compile('[,"\\r\\n\\x00]')


class LabelChunk(NamedTuple):
    """Lines of the table. ``label`` is None for a rejected row; ``runner_up`` is None if there is one candidate."""

    id: Array
    label: Array
    probability: Array
    margin: Array
    runner_up: Array


class LabelSummary(NamedTuple):
    """The numbers of written and of rejected rows, and the mean probability of the labels."""

    rows: int
    rejected: int
    mean_probability: float


def open_features(path: str | os.PathLike[str]) -> Features:
    """Open the rows of a file. Those of .npy, .zarr and .h5 files are read when they are needed."""
    if Path(path).suffix.lower() in (".zarr", ".h5", ".hdf5"):
        return Features(Window(open_rows(path)), None)  # type: ignore[arg-type]
    if Path(path).suffix.lower() == ".npy" and not os.path.isdir(path):
        X = map_npy(Path(path))
        if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.size:
            raise UserError(f"{path}: features of shape {X.shape} and type {X.dtype}. Give rows of numbers.")
        return Features(X, None)
    return read_features(path)


def given_labels(path: str | os.PathLike[str], model: Any) -> Array | None:
    """Return the training labels (N,) of a data set, with None for unlabeled rows.

    Returns None for a file of features, and for a data set with classes that the model does not know.
    """
    if os.path.isdir(path) and Path(path).suffix.lower() in (".zarr", ".parquet"):
        return None
    if not os.path.isdir(path) and Path(path).suffix.lower() in (".npy", ".csv", ".parquet", ".safetensors", ".h5"):
        return None
    try:
        pack = read_source(path)
    except UserError:
        return None
    known = {str(name): name for name in model.classes_.tolist()}
    names = [str(name) for name in pack.class_names.tolist()]
    if not set(names) <= set(known):
        return None
    found = np.full(len(pack.features), None, dtype=object)
    for row in pack.splits["trainval"].tolist():
        found[row] = known[names[pack.labels[row]]]
    return found


def label_rows(
    model: Any, X: Array, ids: Array | None = None, *, reject: bool = False, given: Array | None = None
) -> Iterator[LabelChunk]:
    """Yield the predictions of a fitted model, a chunk of rows at a time.

    Parameters
    ----------
    model, X
        A fitted model and the rows to label.
    ids : (N,), optional
        Names of the rows; the default is row numbers from 0.
    reject : bool, default=False
        Give no label to rows below the model's rejection threshold.
    given : (N,), optional
        Labels to keep. A row whose entry is not None keeps it, with probability and margin 1 and no runner-up.

    The probability is that of the label, among the candidates. The margin is its difference from the probability of
    the second most probable class, the runner-up.
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
        answers = _answers(model, part, names, threshold)
        yield answers if given is None else _with_given(answers, given[start : start + step])


def write_labels(
    path: str | os.PathLike[str],
    model: Any,
    features: Features,
    *,
    uncertain_first: bool = False,
    reject: bool = False,
    safe: bool = True,
    given: Array | None = None,
) -> LabelSummary:
    """Write the table of labels atomically, as Parquet if the name ends in .parquet, else as CSV.

    Rows are in the order of the input. With ``uncertain_first``, rejected rows come first, then the others by
    increasing margin. See :func:`csv_cell` for ``safe``, and :func:`label_rows` for ``reject`` and ``given``.
    """
    chunks = label_rows(model, features.X, features.ids, reject=reject, given=given)
    if uncertain_first:
        chunks = iter([_by_uncertainty(list(chunks))])
    write = _write_parquet if Path(path).suffix.lower() == ".parquet" else _write_csv
    rows, rejected, total = 0, 0, 0.0
    with write_whole(path, text=write is _write_csv) as handle:
        for lines in write(handle, chunks, safe):
            rows += len(lines.id)
            rejected += sum(label is None for label in lines.label)
            total += float(lines.probability.sum())
    return LabelSummary(rows, rejected, total / max(rows, 1))


def _answers(model: Any, rows: Array, ids: Array, threshold: float) -> LabelChunk:
    scores, masked, probabilities = model.answers(rows)
    first = model._winners(masked)
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


def _with_given(answers: LabelChunk, given: Array) -> LabelChunk:
    known = np.array([label is not None for label in given], dtype=bool)
    labels, runners = answers.label.copy(), answers.runner_up.copy()
    labels[known], runners[known] = given[known], None
    probability, margin = np.where(known, 1.0, answers.probability), np.where(known, 1.0, answers.margin)
    return LabelChunk(answers.id, labels, probability, margin, runners)


def _threshold(model: Any) -> float:
    learned = getattr(model, "rejection_", None)
    if not isinstance(learned, dict) or not isinstance(learned.get("threshold"), float):
        raise UserError(
            "The model has no rejection threshold. Fit it with `superproto fit` on a pack to learn one; "
            "this needs at least 4 seen classes."
        )
    return float(learned["threshold"])


def _by_uncertainty(chunks: list[LabelChunk]) -> LabelChunk:
    whole = LabelChunk(*(np.concatenate(column) for column in zip(*chunks)))
    labeled = np.array([label is not None for label in whole.label], dtype=bool)
    order = np.lexsort((whole.margin, labeled))
    return LabelChunk(*(column[order] for column in whole))


def _write_csv(handle: IO[str], chunks: Iterator[LabelChunk], safe: bool) -> Iterator[LabelChunk]:
    handle.write(",".join(COLUMNS) + "\n")
    for lines in chunks:
        for name, label, probability, margin, runner in zip(*lines):
            texts = [csv_cell(value, safe) for value in (name, label, runner)]
            handle.write(f"{texts[0]},{texts[1]},{probability:.6f},{margin:.6f},{texts[2]}\n")
        yield lines


def csv_cell(value: Any, safe: bool = True) -> str:
    """Return a name as a cell of a CSV file, quoted if necessary.

    With ``safe``, an apostrophe precedes text that a spreadsheet would run as a formula.

    >>> csv_cell("=A1"), csv_cell("=A1", safe=False), csv_cell("a,b")
    ("'=A1", '=A1', '"a,b"')
    """
    text = whole_text("" if value is None else str(value))
    if safe and text[:1] in _FORMULA and not is_number(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if _TO_QUOTE.search(text) or text != text.strip() else text


def whole_text(text: str) -> str:
    """Return the text with characters that UTF-8 cannot encode (unpaired surrogates) escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _texts(column: Array) -> list[str | None]:
    return [None if value is None else whole_text(str(value)) for value in column]


def _write_parquet(handle: IO[bytes], chunks: Iterator[LabelChunk], safe: bool) -> Iterator[LabelChunk]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UserError('Parquet files need pyarrow: pip install "superproto[frames]". Or write a .csv.') from None
    kinds = (pa.string(), pa.string(), pa.float64(), pa.float64(), pa.string())
    with pq.ParquetWriter(handle, pa.schema(list(zip(COLUMNS, kinds)))) as writer:
        for lines in chunks:
            columns = [
                pa.array(column if kind == pa.float64() else _texts(column), kind) for column, kind in zip(lines, kinds)
            ]
            writer.write_table(pa.table(list(columns), schema=writer.schema))
            yield lines
