"""READ: labels from folder names, and warnings about folder names that almost match a class."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple


class FolderLabels(NamedTuple):
    """What the folders say about each picture.

    labels : a class name, or None; copied : whether the label comes from a copy of the picture in the folder of a
    class; warnings : what the user should know about the folders.
    """

    labels: list[str | None]
    copied: list[bool]
    warnings: list[str]


def label_by_folder(ids: Sequence[str], contents: Sequence[str], class_names: Sequence[str]) -> FolderLabels:
    """Label each picture with the innermost folder that has the name of a class. Copies get the same label.

    A picture with copies in the folders of two classes is a contradiction. It gets no label and a warning.
    """
    known = {unicodedata.normalize("NFC", name): name for name in class_names}
    given = [_class_of(path, known) for path in ids]
    by_content: dict[str, dict[str, str]] = defaultdict(dict)
    for path, content, label in zip(ids, contents, given):
        if label is not None:
            by_content[content].setdefault(label, path)
    warnings = [
        f"The same picture is in the folders of two classes: {' and '.join(sorted(places.values())[:2])}. "
        "It is treated as unsorted. Remove the wrong copy."
        for places in by_content.values()
        if len(places) > 1
    ]
    labels = [next(iter(by_content[content])) if len(by_content[content]) == 1 else None for content in contents]
    copied = [label is not None and own is None for label, own in zip(labels, given)]
    return FolderLabels(labels, copied, sorted(warnings) + _near_misses(ids, class_names, known))


def _class_of(path: str, known: dict[str, str]) -> str | None:
    for folder in reversed(path.split("/")[:-1]):
        found = known.get(unicodedata.normalize("NFC", folder))
        if found is not None:
            return found
    return None


def _near_misses(ids: Sequence[str], class_names: Sequence[str], known: dict[str, str]) -> list[str]:
    """Warnings about folders whose names differ from a class only in case, spaces, signs, a number or a letter."""
    counts = Counter(folder for path in ids for folder in set(path.split("/")[:-1]) if _class_of(path, known) is None)
    plain = {_simplified(name): name for name in class_names}
    warnings = []
    for folder, count in sorted(counts.items()):
        near = plain.get(_simplified(folder))
        if near is None:
            close = difflib.get_close_matches(_simplified(folder), plain, 1, cutoff=0.87)
            near = plain[close[0]] if close else None
        if near is not None:
            pictures = "picture is" if count == 1 else f"{count} pictures are"
            warnings.append(
                f"The folder {folder!r} is not a class, but {near!r} is. Its {pictures} treated as unsorted. "
                f"Rename the folder to {near!r} if it holds that class."
            )
    return warnings


def _simplified(name: str) -> str:
    """The name without case, signs, repeated spaces and a leading number, as in 001.Black_footed_Albatross."""
    text = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(re.sub(r"^\s*\d+\s*[.\-_ ]\s*", "", re.sub(r"[_\-\s]+", " ", text)).split())
