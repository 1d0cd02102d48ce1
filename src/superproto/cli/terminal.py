"""Print for the user: results on standard output, progress and notes on standard error.

Notes are held back until there is a result, so that an error is the only line printed.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

_waiting: list[str] = []


def one_line(text: str) -> str:
    """Return the text without line breaks and repeated blanks."""
    return " ".join(text.split())


def without_controls(text: str) -> str:
    """Replace control characters, which a terminal would execute, and unpaired surrogates."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def note(text: str) -> None:
    """Add a note about the result. It is printed once, as one line on standard error, before the result."""
    line = without_controls(one_line(text))
    if line not in _waiting:
        _waiting.append(line)


def flush_notes() -> None:
    """Print the notes that were held back."""
    for line in _waiting:
        print(f"note: {line}", file=sys.stderr)
    drop_notes()


def drop_notes() -> None:
    """Discard the notes that were held back."""
    _waiting.clear()


def show(text: str = "") -> None:
    """Print a line of the result."""
    flush_notes()
    print(without_controls(text))


def place(path: str | os.PathLike[str]) -> str:
    """Return the absolute path of a file or folder; the name of a device such as /dev/stdout is unchanged."""
    return os.path.abspath(path) if os.path.isfile(path) or os.path.isdir(path) else os.fspath(path)


def show_page(path: str | os.PathLike[str], open_it: bool = False) -> None:
    """Print the path of a page that was written. ``open_it`` opens it in the user's browser."""
    show(f"Report: {place(path)}")
    if open_it:
        import webbrowser

        if not webbrowser.open(Path(path).absolute().as_uri()):
            show("No browser was found. Open the file above in one.")


def show_json(value: Any) -> None:
    """Print the result as one JSON document; numbers that are not finite become null."""
    flush_notes()
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    print(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """Print the result as a table: the first column left-aligned, the others right-aligned."""
    from rich.console import Console
    from rich.table import Table

    flush_notes()
    table = Table(title=None if title is None else without_controls(title), title_justify="left", title_style="bold")
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(without_controls, row))
    # A pipe has no width, so each row is one line there.
    Console(width=None if sys.stdout.isatty() else 1000, markup=False, highlight=False).print(table)


@contextmanager
def progress(text: str) -> Iterator[None]:
    """Show a spinner with the text on a terminal while the block runs; show nothing elsewhere."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def steps() -> Callable[[str], None]:
    """Return a function that prints one line on standard error for each finished step, with the elapsed time."""
    start = perf_counter()

    def step(text: str) -> None:
        minutes, seconds = divmod(int(perf_counter() - start), 60)
        print(f"{minutes:3d}:{seconds:02d}  {text}", file=sys.stderr, flush=True)

    return step


def _plain(value: Any) -> Any:
    """Convert NumPy scalars and arrays, tuples and paths to JSON types."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
