"""RECORD: which answers were right, short enough for a record's line, so that methods can be compared pair by pair.

Questions are put in the order of their classes, unseen classes first. Then a bit for each question and the sizes of the
classes are all that a bootstrap stratified by class needs.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .task import Task

__all__ = ["RightAnswers", "pack", "unpack"]


class RightAnswers(NamedTuple):
    """right, classes, seen (N,): whether the answer was the truth; which class asked, numbered in order; its kind."""

    right: npt.NDArray[np.bool_]
    classes: npt.NDArray[np.intp]
    seen: npt.NDArray[np.bool_]


def pack(task: Task, answers: npt.NDArray[Any]) -> dict[str, Any]:
    """{"bits": base64, "unseen": sizes of classes, "seen": sizes of classes} of answers to `task.expected`."""
    known = task.expected >= 0
    truth, right = task.expected[known], (task.expected == answers)[known]
    seen = np.isin(truth, task.seen_classes)
    order = np.lexsort([truth, seen])
    sizes = [np.unique(truth[kind], return_counts=True)[1].tolist() for kind in (~seen, seen)]
    bits = base64.b64encode(np.packbits(right[order]).tobytes()).decode("ascii")
    return {"bits": bits, "unseen": sizes[0], "seen": sizes[1]}


def unpack(content: Any) -> RightAnswers:
    """What `pack` packed; a ValueError says what is wrong with anything else."""
    if not isinstance(content, dict) or not {"bits", "unseen", "seen"} <= set(content):
        raise ValueError("right answers are not there")
    sizes = [content["unseen"], content["seen"]]
    if not all(isinstance(part, list) and all(type(n) is int and n > 0 for n in part) for part in sizes):
        raise ValueError("sizes of classes are not whole numbers above 0")
    counts = np.array([*sizes[0], *sizes[1]], dtype=np.int64)
    try:
        content_bytes = np.frombuffer(base64.b64decode(str(content["bits"]), validate=True), np.uint8)
    except binascii.Error as error:
        raise ValueError(f"bits are not base64 ({error})") from None
    if len(content_bytes) != -(-int(counts.sum()) // 8):
        raise ValueError(f"{len(content_bytes)} bytes of bits do not fit {int(counts.sum())} questions")
    right = np.unpackbits(content_bytes, count=int(counts.sum())).astype(bool)
    classes = np.repeat(np.arange(len(counts)), counts)
    return RightAnswers(right, classes, classes >= len(sizes[0]))
