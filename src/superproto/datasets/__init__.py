"""LOAD: read data sets and return them as a :class:`Task`."""

from superproto.datasets.digits import digits
from superproto.datasets.feature_files import read_features
from superproto.datasets.inspection import Description, describe
from superproto.datasets.loading import load, to_task
from superproto.datasets.own_files import make_pack, pack_arrays, read_classes
from superproto.datasets.synthetic import make_task
from superproto.datasets.task import Task
from superproto.datasets.xlsa17 import read_splits

__all__ = [
    "Description",
    "Task",
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
