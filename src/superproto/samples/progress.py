"""READ: report the progress of a long fit in lines on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial, wraps
from time import perf_counter
from typing import Any

from numpy.typing import DTypeLike

from superproto.samples.chunks import Array, ChunkedRows, rows_of

SECONDS_BETWEEN_LINES = 5.0


class ProgressRows:
    """Rows that report how much of a pass is done and how long the rest will take."""

    def __init__(self, rows: ChunkedRows) -> None:
        self.rows = rows
        self.n_rows, self.n_columns, self.dtype = rows.n_rows, rows.n_columns, rows.dtype
        self.far = getattr(rows, "far", False)

    def select(self, index: Array | None = None, dtype: DTypeLike | None = None) -> ProgressRows:
        return ProgressRows(self.rows.select(index, dtype))

    def visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        # Workers of a cluster add up their results themselves and show their progress on Dask's dashboard.
        return self.rows.visit(function, *aligned) if self.far else self._visit(function, *aligned)

    def _visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        # A device copies the arrays bound in a partial to itself, so the function must stay a partial.
        inner, bound = (function.func, function.keywords) if isinstance(function, partial) else (function, {})
        name = getattr(_innermost(function), "progress_label", "pass")
        start = printed = perf_counter()
        done = 0

        @wraps(inner)
        def counted(chunk: Any, *parts: Array, **small: Any) -> tuple[Any, ...]:
            nonlocal done
            done += len(chunk)
            return inner(chunk, *parts, **small)

        for result in self.rows.visit(partial(counted, **bound), *aligned):
            now = perf_counter()
            if now - printed > SECONDS_BETWEEN_LINES and done < self.n_rows:
                printed = now
                left = time_left(now - start, done, self.n_rows - done)
                print_line(f"{name}: {done / self.n_rows:.0%} of {self.n_rows} rows, {left}")
            yield result


def _innermost(function: Any) -> Any:
    """Return the kernel of a pass, without the functions that prepare its rows."""
    if not isinstance(function, partial):
        return function
    return _innermost(function.keywords.get("function", function.func))


def with_progress(X: Any) -> ProgressRows:
    """Return rows whose passes report their progress."""
    return ProgressRows(rows_of(X))


def time_left(seconds: float, done: int, remaining: int) -> str:
    """Return how long the remaining parts take if ``done`` parts took ``seconds``.

    >>> time_left(10.0, 2, 4), time_left(60.0, 1, 4)
    ('about 20 s left', 'about 4 min left')
    """
    left = seconds / done * remaining
    return f"about {left:.0f} s left" if left < 120 else f"about {left / 60:.0f} min left"


def print_line(line: str) -> None:
    """Print a line on standard error."""
    print(line, file=sys.stderr, flush=True)
