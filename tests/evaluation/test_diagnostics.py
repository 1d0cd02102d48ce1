"""A closer look at a fit: readable names of classes, and pairs of classes that were confused."""

from __future__ import annotations

import numpy as np

from superproto.evaluation.diagnostics import confused_pairs, readable


def test_names_stay_as_given_where_classes_would_become_one() -> None:
    assert readable(["001.Red_fox", "002.Wolf"]) == ["Red fox", "Wolf"]
    assert readable(["3.5 inch", "8.5 inch"]) == ["3.5 inch", "8.5 inch"]
    assert readable(["a_b", "a b", "C++"]) == ["a_b", "a b", "C++"]
    assert confused_pairs(np.array([0, 0, 1]), np.array([0, 0, 1]), ["a", "b"]) == []
    assert confused_pairs(np.array([0, 0, 1]), np.array([0, 1, 1]), ["a", "b"])[0]["called"] == "b"
