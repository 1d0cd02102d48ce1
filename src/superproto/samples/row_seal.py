"""READ: compute a fingerprint of all rows during a pass that is needed anyway.

The fingerprint does not depend on how rows are divided into chunks. It changes when a value or the order of rows
changes. It detects accidents. It is not cryptographic: somebody can construct two data sets with the same fingerprint.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superproto.samples import kernels
from superproto.samples.chunks import Array, ChunkedRows, add_up
from superproto.samples.readers.device import back

_PIECES = 4
_BLOCK = 2**18


def seal_chunk(chunk: Any, numbers: Any) -> tuple[float, ...]:
    """Return the chunk's part of the fingerprint as 16-bit pieces, whose sums float64 represents exactly."""
    rows = np.ascontiguousarray(back(chunk))
    words = rows.view(np.uint32).reshape(len(rows), -1) if rows.size else np.zeros((len(rows), 0), np.uint32)
    weights = np.random.default_rng(0).integers(1, 2**63, words.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    places = _mixed(np.asarray(back(numbers)).astype(np.uint64))
    total, step = np.uint64(0), max(1, _BLOCK // max(1, words.shape[1]))
    with np.errstate(over="ignore"):
        for start in range(0, len(words), step):
            part = slice(start, start + step)
            # Row hashes are mixed before they are multiplied by position, so that swapping two rows changes the sum.
            own = _mixed((words[part] * weights).sum(axis=1, dtype=np.uint64))
            total += (own * places[part]).sum(dtype=np.uint64)
    return tuple(float((int(total) >> 16 * piece) & 0xFFFF) for piece in range(_PIECES))


def inspect_and_seal(chunk: Any, numbers: Any) -> tuple[Any, ...]:
    """Return the results of :func:`~superproto.samples.kernels.inspect`, then the pieces of the fingerprint."""
    return (*kernels.inspect(chunk), *seal_chunk(chunk, numbers))


def seal_of_rows(rows: ChunkedRows) -> str:
    """Return the fingerprint of all rows, in a separate pass."""
    return seal_text(rows, add_up(rows.visit(seal_chunk, np.arange(rows.n_rows))))


def seal_text(rows: ChunkedRows, pieces: Any) -> str:
    """Return the fingerprint as text, preceded by the shape and the precision of the rows."""
    total = sum(int(float(piece)) << 16 * place for place, piece in enumerate(pieces)) % 2**64
    return f"{rows.n_rows} {rows.n_columns} {np.dtype(rows.dtype).str} {total:016x}"


def _mixed(values: Array) -> Array:
    """Hash each number by splitmix64, so that neighboring numbers become unrelated."""
    with np.errstate(over="ignore"):
        values = values + np.uint64(0x9E3779B97F4A7C15)
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return values ^ (values >> np.uint64(31))
