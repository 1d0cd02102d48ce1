"""Records that lie in the folder benchmarks of a checkout, where no other file is given."""

from __future__ import annotations

from pathlib import Path

from superproto.errors import UserError

_FOLDER = Path("benchmarks")


def records_file(given: Path | None, name: str, option: str = "--records") -> Path:
    """The file that was given, or benchmarks/NAME when the current folder is a checkout."""
    if given is not None:
        return given
    if not _FOLDER.is_dir():
        raise UserError(f"The current folder is no checkout of superproto: it has no benchmarks/{name}. Give {option}.")
    return _FOLDER / name
