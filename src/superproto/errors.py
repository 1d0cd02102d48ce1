"""The one exception for a mistake that the user can mend: the command line prints it as one line and exits with 2."""

__all__ = ["UserError"]


class UserError(ValueError):
    """A sentence that names the user's value and the cure."""
