"""LOAD: every way to come by a Task."""

from .digits import digits
from .protocols import load
from .synthetic import make_task
from .xlsa17 import read_splits

__all__ = ["digits", "load", "make_task", "read_splits"]
