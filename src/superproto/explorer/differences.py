"""COMPARE: what a new fit changed, in groups of samples that went from one class to another, and why."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superproto.explorer.refit import FoundLabels
from superproto.samples.chunks import Array


class ChangedGroup(NamedTuple):
    """Samples whose label went from one class to another; the answers that speak for the new one, newest fits only.

    old, new : class numbers, -2 none of these; rows : the surest first; answered : rows of answers with the new class;
    doubt : mean doubt before and after.
    """

    old: int
    new: int
    rows: list[int]
    answered: list[int]
    doubt: tuple[float, float]


class Differences(NamedTuple):
    """Groups by size, how many labels changed, and how many answers were new."""

    groups: list[ChangedGroup]
    changed: int
    answers: int


def compare_labels(before: FoundLabels, after: FoundLabels, knew: Array, knows: Array, asked: Array) -> Differences:
    """What changed between two fits that knew the answers ``knew`` and ``knows``."""
    new_answers = np.flatnonzero(knows != knew)
    rows = np.flatnonzero((before.labels != after.labels) & asked)
    rows = rows[np.argsort(after.doubt[rows], kind="stable")]
    pairs: dict[tuple[int, int], list[int]] = {}
    for row in rows.tolist():
        pairs.setdefault((int(before.labels[row]), int(after.labels[row])), []).append(row)
    groups = [
        ChangedGroup(old, new, own, new_answers[knows[new_answers] == new].tolist(), _doubts(before, after, own))
        for (old, new), own in sorted(pairs.items(), key=lambda pair: -len(pair[1]))
    ]
    return Differences(groups, len(rows), len(new_answers))


def _doubts(before: FoundLabels, after: FoundLabels, rows: list[int]) -> tuple[float, float]:
    return float(before.doubt[rows].mean()), float(after.doubt[rows].mean())
