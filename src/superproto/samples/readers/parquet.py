"""READ Parquet: an Arrow data set whose columns are the features, row group by row group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.samples.chunks import Array, chunk_length, working_dtype


class Parquet:
    """Every column a number, or one column of fixed-size lists; a column ``id`` names the rows and is no feature."""

    def __init__(self, dataset: Any) -> None:
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
        """What the file calls these rows, or None where it has no column ``id``."""
        if self.id_column is None:
            return None
        found, edge = [], 0
        for fragment, n in zip(self.fragments, self.sizes):
            if edge < stop and start < edge + n:
                column = fragment.to_table(columns=[self.id_column]).column(0).to_pylist()
                found += column[max(0, start - edge) : stop - edge]
            edge += n
        return np.array([str(name) for name in found])


def feature_columns(schema: Any) -> tuple[list[str], str | None]:
    """The columns that hold features, and the one that holds names of rows, if any."""
    import pyarrow as pa

    id_column = next((field.name for field in schema if field.name.lower() == "id"), None)
    fields = [field for field in schema if field.name != id_column]
    if not fields:
        raise UserError("X has no column of features. Give columns of numbers, or one of fixed-size lists.")
    if len(fields) > 1 or not pa.types.is_fixed_size_list(fields[0].type):
        numeric = [pa.types.is_integer(field.type) or pa.types.is_floating(field.type) for field in fields]
        strange = next((field for field, fine in zip(fields, numeric) if not fine), None)
        if strange is not None:
            raise UserError(
                f"X has column '{strange.name}' of type {strange.type}, no number. Leave it out, or call it id."
            )
    return [field.name for field in fields], id_column


def matrix_of(table: Any) -> Array:
    """An Arrow table or batch of features as a matrix."""
    first = table.column(0)
    first = first.combine_chunks() if hasattr(first, "combine_chunks") else first
    if table.num_columns == 1 and hasattr(first.type, "list_size"):
        return np.asarray(first.flatten()).reshape(len(first), first.type.list_size)
    return np.column_stack([np.asarray(column) for column in table.columns])


def _advance(rest: Array, position: int, start: int, batch: Any) -> tuple[Array, int]:
    """What is left of the rows from ``start`` on after one more batch, and the row that comes next."""
    found = matrix_of(batch)
    rows = np.concatenate([rest, found]) if len(rest) else found
    position += len(found)
    return rows[max(0, len(rows) - (position - start)) :], position
