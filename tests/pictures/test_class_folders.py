"""Names of folders as labels: exact ones count, near ones are a warning, contradictions are told."""

from __future__ import annotations

import pytest

from superproto.pictures.class_folders import label_by_folder

CLASSES = ["cardinal", "blue jay", "café"]


def labels(*ids, contents=None):
    return label_by_folder(ids, contents or [str(number) for number in range(len(ids))], CLASSES)


def test_the_innermost_folder_named_as_a_class_is_the_label():
    found = labels("cardinal/1.jpg", "a/blue jay/b/2.jpg", "cardinal/blue jay/3.jpg", "4.jpg", "other/cardinal.jpg")
    assert found.labels == ["cardinal", "blue jay", "blue jay", None, None]
    assert not found.warnings


def test_a_decomposed_name_is_the_same_name():
    assert labels("cafe\u0301/1.jpg").labels == ["café"]


@pytest.mark.parametrize("folder", ["cardinal ", "Cardinal", "cardinals", "001.cardinal", "blue_jay", "Blue-Jay"])
def test_a_near_miss_is_a_warning_with_the_cure(folder):
    found = labels(f"{folder}/1.jpg", f"{folder}/2.jpg")
    assert found.labels == [None, None]
    [warning] = found.warnings
    assert repr(folder) in warning
    assert "2 pictures" in warning
    assert "Rename" in warning


def test_a_folder_of_another_name_is_no_near_miss():
    assert not labels("unsorted/1.jpg", "2024/holidays/2.jpg").warnings


def test_a_copy_of_a_labeled_picture_has_its_label():
    assert labels("cardinal/1.jpg", "new/1.jpg", contents=["x", "x"])[:2] == (["cardinal"] * 2, [False, True])


def test_copies_in_the_folders_of_two_classes_are_a_contradiction():
    found = labels("cardinal/1.jpg", "blue jay/1.jpg", "cardinal/2.jpg", contents=["x", "x", "y"])
    assert found.labels == [None, None, "cardinal"]
    assert "two classes: blue jay/1.jpg and cardinal/1.jpg" in found.warnings[0]
