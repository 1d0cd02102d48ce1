"""The exception for a mistake that the user can correct: the command line prints it as one line and exits with 2."""

from __future__ import annotations

_LONGEST = 600


class UserError(ValueError):
    """A sentence that names the user's value and the cure; one line of printable text, whatever the value was."""

    def __init__(self, message: str) -> None:
        line = " ".join(str(message).split())
        line = "".join(
            letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line[: _LONGEST + 1]
        )
        super().__init__(line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "...")
