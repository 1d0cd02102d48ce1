"""READ Parquet: an Arrow data set whose columns are the features, row group by row group."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.files import check_expansion
from superproto.samples.chunks import Array, chunk_length, working_dtype


class Parquet:
    """Rows of an Arrow data set with one numeric column per feature, or one column of fixed-size lists.

    A column ``id`` has the names of the rows and is not a feature.
    """

    def __init__(self, dataset: Any) -> None:
        self.stored = sum(Path(file).stat().st_size for file in getattr(dataset, "files", ()) if Path(file).is_file())
        self.columns, self.id_column = feature_columns(dataset.schema)
        self.fragments = [group for fragment in dataset.get_fragments() for group in fragment.split_by_row_group()]
        head = matrix_of(dataset.head(1, columns=self.columns))
        self.n_columns, self.dtype = head.shape[1], working_dtype(head.dtype)
        self.step = chunk_length(self.n_columns, self.dtype.itemsize)
        self.groups: list[tuple[int, int]] = []
        self.lengths: list[int] = []
        self.sizes = [sum(part.num_rows for part in fragment.row_groups) for fragment in self.fragments]
        for group, n in enumerate(self.sizes):
            for start in range(0, n, self.step):
                self.groups.append((group, start))
                self.lengths.append(min(self.step, n - start))

    def read(self, wanted: Sequence[int]) -> Iterator[Any]:
        opened, rows, position = -1, iter(()), 0
        for number in wanted:
            group, start = self.groups[number]
            if group != opened:
                opened, position, rest = group, 0, np.zeros((0, self.n_columns))
                options = {"batch_size": self.step, "use_threads": False, "batch_readahead": 0}
                rows = self.fragments[group].to_batches(columns=self.columns, **options)
            while position < start + self.lengths[number]:
                rest, position = _advance(rest, position, start, next(rows))
            yield rest[: self.lengths[number]]
            rest = rest[self.lengths[number] :]

    def ids(self, start: int, stop: int) -> Array | None:
        """Return the ids of these rows, or None if there is no column ``id``."""
        if self.id_column is None:
            return None
        found, edge = [], 0
        for fragment, n in zip(self.fragments, self.sizes):
            if edge < stop and start < edge + n:
                column = fragment.to_table(columns=[self.id_column]).column(0)
                found.append(texts_of(column[max(0, start - edge) : stop - edge], self.stored))
            edge += n
        return np.concatenate(found) if found else np.zeros(0, dtype=str)


def check_parquet(path: Path) -> None:
    """Raise for extension types that old versions of pyarrow unpickle, and for sizes that the file cannot hold."""
    import pyarrow.parquet as pq

    with warnings.catch_warnings():
        # pyarrow 14 warns that unpickling is off.
        warnings.simplefilter("ignore")
        footer = pq.read_metadata(path)
    described = (footer.metadata or {}).get(b"ARROW:schema", b"")
    try:
        plain = base64.b64decode(described)
    except ValueError:
        raise UserError(f"{path.name} has an Arrow schema that is not readable. Is it complete?") from None
    if b"py_extension_type" in plain or b"py_extension_type" in described:
        raise UserError(f"{path.name} has a column of Python objects, which can run code. Write numbers and texts.")
    # Do not read the metadata of columns: pyarrow crashes on some damaged ones.
    rows = max(footer.num_rows, sum(footer.row_group(group).num_rows for group in range(footer.num_row_groups)))
    check_expansion(rows * sum(_bytes_of(field.type) for field in footer.schema.to_arrow_schema()), path.stat().st_size)


def _bytes_of(kind: Any) -> int:
    """Return the bytes per row of a column of numbers or fixed-size lists; 0 if they are unknown before reading."""
    import pyarrow as pa

    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * _bytes_of(kind.value_type)
    return max(1, kind.bit_width // 8) if pa.types.is_primitive(kind) else 0


def read_whole(path: Path, dictionaries: list[str]) -> Any:
    """Read a file as an Arrow table, in batches; raise when it becomes larger than the file can hold."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file, parts, size = pq.ParquetFile(path, read_dictionary=dictionaries), [], 0
    for batch in file.iter_batches(batch_size=4096, use_threads=False):
        size += batch.nbytes
        check_expansion(size, path.stat().st_size)
        parts.append(batch)
    return pa.Table.from_batches(parts, schema=parts[0].schema if parts else file.schema_arrow)


def open_dataset(place: Path) -> Any:
    """Open a file or folder as an Arrow data set, after checking each file. Ids stay dictionary-encoded."""
    import pyarrow.dataset as ds

    files = sorted(place.rglob("*.parquet")) if place.is_dir() else [place]
    for file in files:
        check_parquet(file)
    opened = ds.dataset(str(place), format="parquet")
    if not opened.files:
        raise UserError("it has no Parquet file. Check the path.")
    for file in set(map(Path, opened.files)) - set(files):
        check_parquet(file)
    names = {name for name in opened.schema.names if name.lower() == "id"}
    kind = ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(dictionary_columns=names))
    return ds.dataset(str(place), format=kind)


def texts_of(column: Any, stored: int) -> Array:
    """Return an Arrow column of ids as text. The size of a dictionary-encoded column is checked before decoding."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    for chunk in getattr(column, "chunks", [column]):
        if pa.types.is_dictionary(chunk.type) and not pa.types.is_primitive(chunk.type.value_type):
            lengths = pc.binary_length(chunk.dictionary)
            check_expansion(pc.sum(pc.take(lengths, chunk.indices)).as_py() or 0, stored)
    return np.array([id_text(value) for value in column.to_pylist()], dtype=str)


def id_text(value: Any) -> str:
    """Return an id as text: bytes are decoded as UTF-8, dates are in ISO format."""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="backslashreplace")
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return "" if value is None else str(value)


def feature_columns(schema: Any) -> tuple[list[str], str | None]:
    """Return the names of the feature columns, and of the id column or None."""
    import pyarrow as pa

    id_column = next((field.name for field in schema if field.name.lower() == "id"), None)
    fields = [field for field in schema if field.name != id_column]
    if not fields:
        raise UserError("X has no column of features. Give columns of numbers, or one of fixed-size lists.")
    if len(fields) > 1 or not pa.types.is_fixed_size_list(fields[0].type):
        numeric = [pa.types.is_integer(field.type) or pa.types.is_floating(field.type) for field in fields]
        invalid = next((field for field, fine in zip(fields, numeric) if not fine), None)
        if invalid is not None:
            raise UserError(
                f"X has column '{invalid.name}' of type {invalid.type}, which is not numeric. Omit it, or name it id."
            )
    return [field.name for field in fields], id_column


def matrix_of(table: Any) -> Array:
    """Return an Arrow table or batch of features as a matrix."""
    first = table.column(0)
    first = first.combine_chunks() if hasattr(first, "combine_chunks") else first
    if table.num_columns == 1 and hasattr(first.type, "list_size"):
        return np.asarray(first.flatten()).reshape(len(first), first.type.list_size)
    return np.column_stack([np.asarray(column) for column in table.columns])


def _advance(rest: Array, position: int, start: int, batch: Any) -> tuple[Array, int]:
    """Add one batch to the rows read from ``start`` on. Return these rows, and the number of the next row."""
    found = matrix_of(batch)
    rows = np.concatenate([rest, found]) if len(rest) else found
    position += len(found)
    return rows[max(0, len(rows) - (position - start)) :], position
