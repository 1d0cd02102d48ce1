"""The exception for a mistake that the user can correct.

The command line prints its message as one line and exits with code 2.
"""

from __future__ import annotations

_LONGEST = 600


class UserError(ValueError):
    """Raise this for a mistake in the user's input.

    The message names the user's value and the cure. It is reduced to one line of printable text of at most 600 letters.
    """

    def __init__(self, message: str) -> None:
        line = " ".join(str(message).split())
        line = "".join(
            letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line[: _LONGEST + 1]
        )
        super().__init__(line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "...")
