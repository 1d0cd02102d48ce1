"""READ: list the picture files below a folder in a fixed order, and the files that are left out with the reason.

Links are followed only to files inside the folder. Hidden files and folders are ignored.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from superproto.errors import UserError
from superproto.pictures.images import name_problem


class FoundFile(NamedTuple):
    """A file that may be a picture: its path below the folder, size and modification time."""

    path: str
    size: int
    changed: int


class Skipped(NamedTuple):
    """A file or folder that was left out, and the reason."""

    path: str
    reason: str


def walk_pictures(folder: Path) -> tuple[list[FoundFile], list[Skipped]]:
    """Possible pictures, and left-out files. Both are sorted by path; paths have forward slashes."""
    if not folder.is_dir():
        reason = "is not a folder" if folder.exists() else "does not exist"
        raise UserError(f"{folder} {reason}. Give the folder that holds the pictures.")
    entries = list(_entries(folder, "", os.path.realpath(folder)))
    found = sorted(entry for entry in entries if isinstance(entry, FoundFile))
    return found, sorted(entry for entry in entries if isinstance(entry, Skipped))


def readable_path(path: str) -> str:
    """The path as text for UTF-8. Bytes that are not valid text become \\udcXX."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def _entries(folder: Path, prefix: str, root: str) -> Iterator[FoundFile | Skipped]:
    waiting = [(os.fspath(folder), prefix)]
    while waiting:
        place, prefix = waiting.pop()
        try:
            with os.scandir(place) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield Skipped(prefix.rstrip("/") or ".", f"the folder cannot be read: {error.strerror}")
            continue
        for entry in listed:
            path = f"{prefix}{entry.name}"
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, f"{path}/"))
            else:
                yield _file(entry, path, root)


def _file(entry: os.DirEntry[str], path: str, root: str) -> FoundFile | Skipped:
    try:
        if entry.is_symlink():
            problem = _link_problem(entry.path, root)
            if problem is not None:
                return Skipped(path, problem)
        status = entry.stat()
    except OSError as error:
        return Skipped(path, f"it cannot be read: {error.strerror}")
    if not stat.S_ISREG(status.st_mode):
        return Skipped(path, "not a regular file (a pipe, a socket or a device)")
    problem = name_problem(Path(entry.name))
    return FoundFile(path, status.st_size, status.st_mtime_ns) if problem is None else Skipped(path, problem)


def _link_problem(path: str, root: str) -> str | None:
    target = os.path.realpath(path)
    if not os.path.exists(target):
        return "the link is broken"
    if not Path(target).is_relative_to(root):
        return "the link leaves the folder. Copy the file into the folder"
    if os.path.isdir(target):
        return "the link leads to a folder inside, which is read anyway"
    return None
