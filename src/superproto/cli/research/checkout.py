"""Records that lie in the folder benchmarks of a checkout or of the installed package, where no other file is given."""

from __future__ import annotations

from pathlib import Path

from superproto.errors import UserError

_FOLDER = Path("benchmarks")


def records_file(given: Path | None, name: str, option: str = "--records", *, shipped: bool = False) -> Path:
    """The file that was given, or benchmarks/NAME when the current folder is a checkout.

    ``shipped``: it is only read, so outside a checkout the file that comes with the package does too.
    """
    if given is not None:
        return given
    if shipped and not _FOLDER.is_dir():
        from superproto.experiments.plans import benchmarks_folder

        inside = benchmarks_folder() / name
        if inside.is_file():
            return inside
    if not _FOLDER.is_dir():
        raise UserError(f"The current folder is no checkout of superproto: it has no benchmarks/{name}. Give {option}.")
    return _FOLDER / name
