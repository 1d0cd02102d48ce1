"""Find a file of records: the one given, or the one in the folder benchmarks of a checkout or of the package."""

from __future__ import annotations

from pathlib import Path

from superproto.errors import UserError

_FOLDER = Path("benchmarks")


def records_file(given: Path | None, name: str, option: str = "--records", *, shipped: bool = False) -> Path:
    """Return the given file, or benchmarks/NAME if the current folder is a checkout.

    With ``shipped``, fall back to the file in the installed package. Use it for files that are only read.
    """
    if given is not None:
        return given
    if shipped and not _FOLDER.is_dir():
        from superproto.experiments.plans import benchmarks_folder

        inside = benchmarks_folder() / name
        if inside.is_file():
            return inside
    if not _FOLDER.is_dir():
        raise UserError(
            f"The current folder is not a checkout of superproto: it has no benchmarks/{name}. Give {option}."
        )
    return _FOLDER / name
