"""Files that are whole or absent, and the limit on what a file may unfold to.

A file appears under its final name only when every byte of it is on the disk; what fails in between leaves nothing behind.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from .errors import UserError

__all__ = ["expansion_limit", "existing_file", "write_whole"]

# Real features shrink two- to tenfold; deflate's most is a thousandfold. What unfolds beyond this is a bomb, not data.
_MOST_EXPANSION = 50
_ALWAYS_ALLOWED = 256 * 2**20


def expansion_limit(file_size: int) -> int:
    """The bytes that a compressed file of this size may unfold to: 50 times its size, and at least 256 MiB."""
    return max(_ALWAYS_ALLOWED, _MOST_EXPANSION * file_size)


def existing_file(path: str | os.PathLike[str]) -> Path:
    """The path, once it is known to be a file that can be opened for reading."""
    path = Path(path)
    try:
        if path.is_dir():
            raise UserError(f"{path} is a folder. Give a file.")
        with path.open("rb"):
            return path
    except FileNotFoundError:
        raise UserError(f"{path} does not exist. Check the path.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path} cannot be read: {_reason(error)}.") from None


@contextmanager
def write_whole(path: str | os.PathLike[str], *, text: bool = False) -> Iterator[IO[Any]]:
    """A handle (binary, or UTF-8 text) whose content takes the name `path` only if the block ends well.

    >>> with write_whole("labels.csv", text=True) as handle:  # doctest: +SKIP
    ...     handle.write("id,label\\n")
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise UserError(f"{path} is a folder. Give the name of a file to write.")
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:80]}.", suffix=".part")
    except (OSError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path} cannot be written: {_reason(error)}. Choose another folder.") from None
    try:
        with os.fdopen(descriptor, "w" if text else "wb", **_text_options(text)) as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(temporary, _usual_mode())
        os.replace(temporary, path)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {_reason(error)}. Nothing was left behind.") from error
    finally:
        # After os.replace the temporary name is gone; after any failure, Ctrl-C included, it must go.
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def _text_options(text: bool) -> dict[str, Any]:
    return {"encoding": "utf-8", "newline": ""} if text else {}


def _usual_mode() -> int:
    """mkstemp makes files that only their owner can read; give them the mode that open() would have given."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).rstrip(".")
