"""What the user sees: results on standard output, progress and notes on standard error.

Notes wait until there is a result, so that a mistake shows as one line and nothing else.
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
    """The text without line breaks and repeated blanks."""
    return " ".join(text.split())


def without_controls(text: str) -> str:
    """The text without what a terminal would obey: control characters, and halves of characters."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def note(text: str) -> None:
    """Something to know about the result: one line on standard error, once, before the result is shown."""
    line = without_controls(one_line(text))
    if line not in _waiting:
        _waiting.append(line)


def flush_notes() -> None:
    """Print the notes that wait."""
    for line in _waiting:
        print(f"note: {line}", file=sys.stderr)
    drop_notes()


def drop_notes() -> None:
    """Forget the notes that wait."""
    _waiting.clear()


def show(text: str = "") -> None:
    """A line of the result."""
    flush_notes()
    print(without_controls(text))


def place(path: str | os.PathLike[str]) -> str:
    """Where a file is, from any folder; a device such as /dev/stdout as it is called."""
    return os.path.abspath(path) if os.path.isfile(path) or os.path.isdir(path) else os.fspath(path)


def show_page(path: str | os.PathLike[str], open_it: bool = False) -> None:
    """The closing line of a page that was written; ``open_it`` shows it in the user's browser."""
    show(f"Report: {place(path)}")
    if open_it:
        import webbrowser

        if not webbrowser.open(Path(path).absolute().as_uri()):
            show("No browser was found. Open the file above in one.")


def show_json(value: Any) -> None:
    """The result for programs: one JSON document; what is not a finite number is null."""
    flush_notes()
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    print(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """The result for people: the first column to the left, the others to the right."""
    from rich.console import Console
    from rich.table import Table

    flush_notes()
    table = Table(title=None if title is None else without_controls(title), title_justify="left", title_style="bold")
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(without_controls, row))
    # A pipe has no width: let each row be one line there.
    Console(width=None if sys.stdout.isatty() else 1000, markup=False, highlight=False).print(table)


@contextmanager
def progress(text: str) -> Iterator[None]:
    """A sign of life on a terminal while the block runs; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def steps() -> Callable[[str], None]:
    """One line for each thing done, as it is done, with the time since the work began: for work of many minutes."""
    start = perf_counter()

    def step(text: str) -> None:
        minutes, seconds = divmod(int(perf_counter() - start), 60)
        print(f"{minutes:3d}:{seconds:02d}  {text}", file=sys.stderr, flush=True)

    return step


def _plain(value: Any) -> Any:
    """numpy's scalars and arrays, tuples and paths as what JSON knows."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
