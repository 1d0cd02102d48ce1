"""Atomic writes, checks of paths, and the limit on the decompressed size of a file.

A file gets its final name only when all of its bytes are on the disk. A failed write leaves no file.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from superproto.errors import UserError

PathLike = str | os.PathLike[str]

# Compression makes real features 2 to 10 times smaller. Deflate can reach a factor of 1000, which zip bombs use.
_MOST_EXPANSION = 50
_ALWAYS_ALLOWED = 256 * 2**20


def expansion_limit(file_size: int) -> int:
    """Return how many bytes a compressed file may decompress to: 50 times its size, and at least 256 MiB."""
    return max(_ALWAYS_ALLOWED, _MOST_EXPANSION * file_size)


def check_expansion(claimed: int, stored: int) -> None:
    """Raise if a file of ``stored`` bytes claims to decompress to more than the limit. Every reader calls this."""
    if claimed > expansion_limit(stored):
        raise UserError(
            f"{stored} bytes would decompress to {claimed / 2**30:.1f} GiB, as in a zip bomb. Nothing was read."
        )


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Return the path if it is a file that can be opened for reading; raise otherwise."""
    path = Path(path)
    if os.path.isdir(path):
        raise UserError(f"{path} is a folder. Give a file.")
    try:
        with path.open("rb"):
            return path
    except FileNotFoundError:
        raise UserError(f"{path} does not exist. Check the path.") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {_reason(error)}.") from None


def refuse_to_replace(output: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> None:
    """Raise if the output is the same file as one of the inputs."""
    for given in inputs:
        if given is not None and os.path.isfile(output) and os.path.exists(given) and os.path.samefile(output, given):
            raise UserError(f"{output} is an input and would be replaced. Give --output another name.")


def check_writable(path: PathLike) -> None:
    """Raise if a file cannot be written at this path. Call it before the work whose result is written there."""
    path = Path(path)
    if os.path.isdir(path):
        raise UserError(f"{path} is a folder. Give the name of a file to write.")
    if not os.path.isdir(path.parent):
        raise UserError(f"{path} cannot be written: the folder {path.parent} does not exist. Create it first.")
    if not os.access(path if os.path.exists(path) else path.parent, os.W_OK):
        raise UserError(f"{path} cannot be written: permission denied. Choose another place.")


@contextmanager
def write_whole(path: str | os.PathLike[str], *, text: bool = False) -> Iterator[IO[Any]]:
    """Open a file for writing (binary, or UTF-8 text) that gets the name `path` only if the block raises no error.

    >>> with write_whole("labels.csv", text=True) as handle:
    ...     length = handle.write("id,label\\n")
    >>> Path("labels.csv").read_text()
    'id,label\\n'
    """
    path = Path(path)
    if os.path.isdir(path):
        raise UserError(f"{path} is a folder. Give the name of a file to write.")
    # A pipe or a device (-o /dev/stdout) cannot be replaced atomically: write into it directly.
    # A link is resolved first, so that the file it points to is replaced, and not the link.
    stream = _own_stream(path)
    direct = stream is not None or (os.path.exists(path) and not os.path.isfile(path))
    path = path if direct else Path(os.path.realpath(path))
    unfinished = f".{path.name[:80]}.{this_process()}-{secrets.token_hex(8)}.part"
    temporary = path if direct else path.parent / unfinished
    try:
        if not direct:
            _remove_left_behind(path)
        with _create(temporary, direct, text, stream) as handle:
            if not direct:
                _keep_mode(path, handle)
            yield handle
            handle.flush()
            if not direct:
                os.fsync(handle.fileno())
        if not direct:
            os.replace(temporary, path)
    except OSError as error:
        check_writable(path)
        raise UserError(f"{path} cannot be written: {_reason(error)}. Choose another place.") from error
    finally:
        if not direct:
            # After os.replace the temporary name is gone; after any failure, Ctrl-C included, it must go.
            with suppress(OSError):
                os.unlink(temporary)


def this_process() -> str:
    """Return a name of this process that is unique among the machines that share a folder."""
    return f"{hashlib.sha256(platform.node().encode()).hexdigest()[:8]}-{os.getpid()}"


def is_running(process: str) -> bool:
    """Tell whether a process named by :func:`this_process` is running. One on another machine counts as running."""
    machine, _, number = process.partition("-")
    if os.name == "nt" or machine != this_process().partition("-")[0] or not number.isdecimal():
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _remove_left_behind(path: Path) -> None:
    """Delete unfinished files for this path whose process was killed."""
    pattern = re.compile(re.escape(f".{path.name[:80]}.") + r"([0-9a-f]{8}-[0-9]+)-[0-9a-f]+\.part")
    with suppress(OSError):
        for entry in os.scandir(path.parent):
            begun = pattern.fullmatch(entry.name)
            if begun and not is_running(begun[1]):
                with suppress(OSError):
                    os.unlink(entry.path)


def _keep_mode(path: Path, handle: IO[Any]) -> None:
    """Copy the permissions of the file that is replaced."""
    with suppress(OSError, AttributeError):
        os.fchmod(handle.fileno(), stat.S_IMODE(os.stat(path).st_mode))


def _own_stream(path: Path) -> int | None:
    """Return 1 or 2 if the path is this process's standard output or standard error, else None."""
    for descriptor in (1, 2):
        with suppress(OSError):
            if os.path.samestat(os.stat(path), os.fstat(descriptor)):
                return descriptor
    return None


def _create(path: Path, exists: bool, text: bool, stream: int | None) -> IO[Any]:
    flags = os.O_WRONLY | getattr(os, "O_BINARY", 0) | (0 if exists else os.O_CREAT | os.O_EXCL)
    descriptor = os.open(path, flags, 0o666) if stream is None else os.dup(stream)
    return os.fdopen(descriptor, "w", encoding="utf-8", newline="") if text else os.fdopen(descriptor, "wb")


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).rstrip(".")
