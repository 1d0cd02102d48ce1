"""LOAD: match the lines of a table to samples. Any ambiguity is an error.

Samples with ids are matched by equal texts, else by equal numbers ("7", "7.0" and "007" are equal). Samples without ids
are matched by row numbers from 0 or from 1, in any order. The order of the lines counts only in a table without ids.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np

from superproto.errors import UserError
from superproto.samples.chunks import Array

_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,2})?")


def match_ids(ids: Array, known: Array | None, n: int, path: Path) -> Array:
    """Return (n,) the line of each sample among ``ids``. ``known`` are the ids of the samples, or None."""
    texts = [str(text).strip() for text in ids.tolist()]
    if len(ids) != n:
        if all(texts):
            _check_unique(texts, texts, path)
        header = (
            f" If the first line ('{texts[0]},...') names columns, call them id,label." if len(ids) == n + 1 else ""
        )
        raise UserError(
            f"{path} has {len(ids)} lines, features have {n} rows. Give one line per row; leave unknown labels empty."
            f"{header}"
        )
    if not any(texts):
        warnings.warn(f"{path} has no ids: its lines are taken in the order of the rows.", UserWarning, stacklevel=3)
        return np.arange(n)
    _check_unique(texts, texts, path)
    if known is not None:
        own = [str(text).strip() for text in known.tolist()]
        _check_unique(own, own, Path("features"))
        return _by_id(texts, own, path)
    return _by_row_number(texts, path)


def _by_id(texts: list[str], own: list[str], path: Path) -> Array:
    line: dict[Hashable, int] = {text: number for number, text in enumerate(texts)}
    if all(text in line for text in own):
        return np.array([line[text] for text in own])
    numbers, own_numbers = _as_numbers(texts), _as_numbers(own)
    if numbers is not None and own_numbers is not None:
        _check_unique(numbers, texts, path)
        _check_unique(own_numbers, own, Path("features"))
        line = {value: number for number, value in enumerate(numbers)}
        lost = next((text for text, value in zip(own, own_numbers) if value not in line), None)
        if lost is None:
            return np.array([line[value] for value in own_numbers])
    elif numbers is not None and own_numbers is None and not any(_NUMBER.fullmatch(text) for text in own):
        rows = _row_numbers(numbers)
        if rows is not None:
            note = f"{path} numbers the rows and does not use their ids (first: '{own[0]}'): lines go by row number."
            warnings.warn(note, UserWarning, stacklevel=4)
            return np.argsort(rows)
    lost = next(text for text in own if text not in texts)
    raise UserError(
        f"{path} has no line for the sample '{lost}' (first id: '{texts[0]}'). Write ids as the features have them."
    )


def _by_row_number(texts: list[str], path: Path) -> Array:
    numbers = _as_numbers(texts)
    if numbers is not None:
        _check_unique(numbers, texts, path)
        rows = _row_numbers(numbers)
        if rows is not None:
            return np.argsort(rows)
    strange = texts[0] if numbers is not None else next(text for text in texts if not _NUMBER.fullmatch(text))
    raise UserError(
        f"{path} has the id '{strange}', but the features have no ids, and the ids are not the row numbers 0 to "
        f"{len(texts) - 1}. Give features with ids (csv, parquet, or an array 'ids' in .npz), number the lines, or "
        "leave all ids empty: then the lines are taken in the order of the rows."
    )


def _as_numbers(texts: list[str]) -> list[Decimal] | None:
    """Return the ids as exact numbers, or None if one is not a number."""
    if not all(_NUMBER.fullmatch(text) for text in texts):
        return None
    return [Decimal(text) for text in texts]


def _row_numbers(numbers: list[Decimal]) -> Array | None:
    """Return the numbers as row numbers from 0, or None if they are not 0 to n - 1 or 1 to n."""
    first, last = min(numbers), max(numbers)
    whole = first in (0, 1) and last - first == len(numbers) - 1 and all(value == int(value) for value in numbers)
    return np.array([int(value - first) for value in numbers]) if whole else None


def _check_unique(values: Sequence[Hashable], texts: list[str], path: Path) -> None:
    first: dict[Hashable, int] = {}
    for place, value in enumerate(values):
        if value in first:
            one, other = texts[first[value]], texts[place]
            problem = f"the id '{one}' occurs {list(values).count(value)} times" if one == other else None
            raise UserError(
                f"{path}: {problem or f'the ids {one!r} and {other!r} are the same number'}. Give each row one."
            )
        first[value] = place
