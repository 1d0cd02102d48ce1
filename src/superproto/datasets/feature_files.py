"""LOAD: read a table of features from a file: npy, npz, csv, parquet, safetensors, or a pack."""

from __future__ import annotations

import csv
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from superproto.datasets.safe_files.npz import read_npy, read_npz
from superproto.errors import UserError
from superproto.files import existing_file
from superproto.samples.chunks import Array
from superproto.samples.readers.parquet import check_parquet, read_whole, texts_of

_PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
_DECIMAL = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


class Features(NamedTuple):
    """Features X (N, d); the ids of the rows and their picture files, each None if the file has none."""

    X: Array
    ids: Array | None
    paths: Array | None = None


def read_features(path: str | os.PathLike[str]) -> Features:
    """Read every row of a file, in order. The kind of the file is given by its suffix.

    Of a pack or an xlsa17 folder, read the features of every sample.
    """
    check_no_pictures(Path(path))
    if os.path.isdir(path):
        from superproto.datasets.xlsa17 import read_folder

        folder = read_folder(path)
        return Features(folder.features, folder.paths, folder.paths)
    path = existing_file(path)
    readers = {".npy": _npy, ".npz": _npz, ".csv": _csv, ".parquet": _parquet, ".safetensors": _safetensors}
    reader = readers.get(path.suffix.lower()) or (_npz if zipfile.is_zipfile(path) else None)
    if reader is None:
        raise UserError(f"{path} ends in '{path.suffix}'. Give features as {', '.join(readers)}.")
    features = reader(path)
    X = features.X
    if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.size:
        raise UserError(f"{path}: features have shape {X.shape} and type {X.dtype}. Give numbers, one row per sample.")
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        raise UserError(f"{path}: {len(bad)} rows have NaN or infinity (first: row {bad[0]}). Drop or correct them.")
    return features


def check_no_pictures(path: Path) -> None:
    """Raise if the path is a picture or a folder of pictures: `superproto label` computes features first."""
    top = list(islice(path.iterdir(), 50)) if path.is_dir() else [path]
    below = [part for folder in top if folder.is_dir() for part in islice(folder.iterdir(), 20)]
    picture = next((part for part in (*top, *below) if part.suffix.lower() in _PICTURES), None)
    if picture is not None and not (path / "res101.mat").exists():
        folder = path if path.is_dir() else path.parent
        raise UserError(
            f"{path} has pictures, but features are needed here. To label pictures write: "
            f"superproto label {folder} --classes CLASSES.csv -o LABELS.csv"
        )


def csv_rows(path: Path) -> Iterator[list[str]]:
    """Yield the rows of a CSV file that are not empty."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            rows = (row for row in csv.reader(handle) if row and (len(row) > 1 or row[0].strip()))
            first = list(islice(rows, 3))
            _check_separator(first, path)
            yield from chain(first, rows)
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(
            f"{path} is not a CSV file in UTF-8 ({error}). Save it as CSV with the encoding UTF-8."
        ) from None


def _check_separator(first: list[list[str]], path: Path) -> None:
    """Refuse a table of semicolons or tabs, whose lines would be one cell each."""
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        counts = {row[0].count(mark) if len(row) == 1 else 0 for row in first}
        if len(first) > 1 and len(counts) == 1 and counts != {0}:
            raise UserError(f"{path} has {name} between its cells. Save it with commas.")


def is_number(text: str) -> bool:
    """Tell whether a cell is a number or empty (a missing number)."""
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True


def is_header(row: list[str], following: Sequence[list[str]], path: Path) -> bool:
    """Tell whether the first line of a CSV names its columns: by words, or by numbers 0, 1, 2 ... or 1, 2, 3 ...

    Raises in two ambiguous cases. Such numbers above lines of integers may be values. A mixture of words and decimal
    numbers may be a line of numbers with a mistake.
    """
    if not all(is_number(cell) for cell in row[1:] or row):
        decimal = next((cell for cell in row[1:] if _DECIMAL.fullmatch(cell.strip())), None)
        if decimal is not None:
            word = next(cell for cell in row[1:] if not is_number(cell))
            raise UserError(
                f"{path}: the first line has numbers ({decimal}) and words ('{word}'). Correct the word, or give every "
                "column a name."
            )
        return True
    counted = row if is_number(row[0]) and row[0].strip() else row[1:]
    counts = any(counted == [str(n + start) for n in range(len(counted))] for start in (0, 1))
    if not row[0].strip() and len(row) > 1 and not counts:
        raise UserError(
            f"{path}: the first line has no name before its numbers ({row[1]}, ...). Write the name there, or id if "
            "the line names the columns."
        )
    if len(counted) < 3 or not counts:
        return row[0].strip().lower() in ("", "id") and len(counted) < len(row)
    cells = [cell.strip() for line in following for cell in line[len(row) - len(counted) :]]
    if counted is row and following and all(cell.lstrip("+-").isdecimal() for cell in cells):
        raise UserError(
            f"{path}: the first line, {','.join(row[:4])},..., may be column names or numbers. Give the columns names."
        )
    return True


def _npy(path: Path) -> Features:
    return Features(read_npy(path), None)


def _npz(path: Path) -> Features:
    """Read the array 'features', or the only table of numbers; ids are 'ids' or 'image_files'."""
    texts = {"ids", "image_files"}
    arrays = read_npz(path, {"features", *texts})
    if "features" not in arrays:
        arrays = read_npz(path)
        tables = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "biuf"]
        if len(tables) != 1:
            raise UserError(
                f"{path} has no array 'features' (it has: {', '.join(arrays) or 'none'}). Give one this name."
            )
        arrays["features"] = arrays[tables[0]]
    X = arrays["features"]
    named = {name: arrays[name].astype(str) for name in texts & set(arrays) if arrays[name].shape == X.shape[:1]}
    paths = named.get("image_files")
    return Features(X, named.get("ids", paths), paths)


def _csv(path: Path) -> Features:
    """Read numbers; a first line of column names and a first column `id` (or of text) are recognized."""
    rows = csv_rows(path)
    first = next(rows, None)
    if first is None:
        raise UserError(f"{path} is empty.")
    peeked = list(islice(rows, 100))
    header, rows = is_header(first, peeked, path), chain(peeked, rows)
    start = next(rows, None) if header else first
    named = start is not None and (not is_number(start[0]) or (header and first[0].strip().lower() in ("", "id")))
    ids, table = [], []
    for number, row in enumerate([start, *rows] if start else [], start=2 if header else 1):
        if len(row) != len(first):
            raise UserError(f"{path}: row {number} has {len(row)} cells, the first has {len(first)}.")
        ids.append(row[0])
        try:
            table.append(np.array([float(cell or "nan") for cell in row[named:]]))
        except ValueError:
            raise UserError(_not_a_number(path, number, row, first if header else None, int(named))) from None
    if table and not len(table[0]):
        raise UserError(f"{path} has one column, of text. Give a table of features: numbers, one row per sample.")
    return Features(np.array(table, ndmin=2), np.array(ids) if named else None)


def _not_a_number(path: Path, number: int, row: list[str], header: list[str] | None, named: int) -> str:
    """Return the message about a cell that is not a number, with a hint if the file looks like a table of labels."""
    column = next(j for j in range(named, len(row)) if not is_number(row[j]))
    called = f"column {column + 1}" if header is None else f"column '{header[column]}'"
    words = {"label", "probability", "runner_up"} & {name.strip().lower() for name in header or ()}
    looks = " It looks like a table of labels." if words else ""
    return (
        f"{path}: row {number}, {called} has '{row[column]}', which is not a number.{looks} "
        "Give a table of features: numbers, one row per sample."
    )


def _parquet(path: Path) -> Features:
    """Read numeric columns, or one column of lists of equal length; a column `id` or of text names the rows."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise UserError('Parquet files need pyarrow: pip install "superproto[frames]".') from None
    try:
        check_parquet(path)
        kinds = {field.name: str(field.type) for field in pq.read_schema(path)}
        texts = [name for name, kind in kinds.items() if name.lower() == "id" or "string" in kind]
        table = read_whole(path, texts)
        # pandas stores an index that is not 0, 1, 2, ... as a column of this name.
        kept = [name for name in table.column_names if not re.fullmatch(r"__index_level_\d+__", name)]
        columns = [table.column(name).to_numpy(zero_copy_only=False) for name in kept if name not in texts]
        X = np.column_stack([np.stack(column) if column.dtype == object else column for column in columns])
        named = next((name for name in kept if name in texts), None)
        return Features(X, None if named is None else texts_of(table.column(named), path.stat().st_size))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except Exception as error:
        text = " ".join(str(error).split())[:100]
        raise UserError(f"{path} is not a Parquet file with a table of numbers ({text}).") from None


def _safetensors(path: Path) -> Features:
    """Read the tensor 'features', or the only tensor."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            names = list(file.keys())
            if "features" not in names and len(names) != 1:
                raise UserError(
                    f"{path} has no tensor 'features' (it has: {', '.join(names) or 'none'}). Give one this name."
                )
            return Features(file.get_tensor("features" if "features" in names else names[0]), None)
    except (SafetensorError, TypeError, ValueError, KeyError, OSError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(
            f"{path} is not a safetensors file with numbers ({' '.join(str(error).split())[:100]})."
        ) from None
