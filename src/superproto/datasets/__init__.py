"""LOAD: every way to come by a Task."""

from .digits import digits
from .synthetic import make_task

__all__ = ["digits", "make_task"]
