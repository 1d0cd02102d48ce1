"""Files that are whole or absent, and the limit on what a file may unfold to.

A file appears under its final name only when every byte of it is on the disk; a failure leaves nothing behind.
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

# Real features shrink two- to tenfold; deflate's most is a thousandfold. What unfolds beyond this is a bomb, not data.
_MOST_EXPANSION = 50
_ALWAYS_ALLOWED = 256 * 2**20


def expansion_limit(file_size: int) -> int:
    """The bytes that a compressed file of this size may unfold to: 50 times its size, and at least 256 MiB."""
    return max(_ALWAYS_ALLOWED, _MOST_EXPANSION * file_size)


def check_expansion(claimed: int, stored: int) -> None:
    """Refuse what claims to hold more than so many stored bytes may unfold to; every reader of files asks here."""
    if claimed > expansion_limit(stored):
        raise UserError(f"{stored} bytes unfold to {claimed / 2**30:.1f} GiB, as in a zip bomb. Nothing was read.")


def existing_file(path: str | os.PathLike[str]) -> Path:
    """The path, once it is known to be a file that can be opened for reading."""
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
    """What is written must not take the place of what is read."""
    for given in inputs:
        if given is not None and os.path.isfile(output) and os.path.exists(given) and os.path.samefile(output, given):
            raise UserError(f"{output} is read here, and would be replaced. Give --output another name.")


def check_writable(path: PathLike) -> None:
    """Raise before any work is done if a file cannot be written there."""
    path = Path(path)
    if os.path.isdir(path):
        raise UserError(f"{path} is a folder. Give the name of a file to write.")
    if not os.path.isdir(path.parent):
        raise UserError(f"{path} cannot be written: the folder {path.parent} does not exist. Create it first.")
    if not os.access(path if os.path.exists(path) else path.parent, os.W_OK):
        raise UserError(f"{path} cannot be written: permission denied. Choose another place.")


@contextmanager
def write_whole(path: str | os.PathLike[str], *, text: bool = False) -> Iterator[IO[Any]]:
    """A handle (binary, or UTF-8 text) whose content takes the name `path` only if the block ends well.

    >>> with write_whole("labels.csv", text=True) as handle:
    ...     length = handle.write("id,label\\n")
    >>> Path("labels.csv").read_text()
    'id,label\\n'
    """
    path = Path(path)
    if os.path.isdir(path):
        raise UserError(f"{path} is a folder. Give the name of a file to write.")
    # A pipe or a device (-o /dev/stdout) has no "whole": write into it, and never replace it, nor a link to a file.
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
    """This process among those of all machines that may share a folder."""
    return f"{hashlib.sha256(platform.node().encode()).hexdigest()[:8]}-{os.getpid()}"


def is_running(process: str) -> bool:
    """Whether a process that :func:`this_process` named is alive; of another machine's nobody knows, so it is."""
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
    """Unfinished files for this path whose process was killed."""
    pattern = re.compile(re.escape(f".{path.name[:80]}.") + r"([0-9a-f]{8}-[0-9]+)-[0-9a-f]+\.part")
    with suppress(OSError):
        for entry in os.scandir(path.parent):
            begun = pattern.fullmatch(entry.name)
            if begun and not is_running(begun[1]):
                with suppress(OSError):
                    os.unlink(entry.path)


def _keep_mode(path: Path, handle: IO[Any]) -> None:
    """A file that only its owner may read stays so when it is replaced."""
    with suppress(OSError, AttributeError):
        os.fchmod(handle.fileno(), stat.S_IMODE(os.stat(path).st_mode))


def _own_stream(path: Path) -> int | None:
    """1 or 2 where the path is this process's standard output or error, wherever these go."""
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
