"""LOAD: every way to come by a Task."""

from .custom import make_pack, pack_arrays, read_classes
from .describe import Description, describe
from .digits import digits
from .features import read_features
from .protocols import load, to_task
from .synthetic import make_task
from .xlsa17 import read_splits

__all__ = [
    "Description",
    "describe",
    "digits",
    "load",
    "make_pack",
    "make_task",
    "pack_arrays",
    "read_classes",
    "read_features",
    "read_splits",
    "to_task",
]
