"""READ: labels from the names of folders, and warnings about names that nearly are those of classes."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple


class FolderLabels(NamedTuple):
    """A class name or None for each picture, and what the user should know about the folders."""

    labels: list[str | None]
    warnings: list[str]


def label_by_folder(ids: Sequence[str], contents: Sequence[str], class_names: Sequence[str]) -> FolderLabels:
    """The class of the innermost folder that is named as one; copies of a labeled picture have its label.

    A picture whose copies are in the folders of two classes is a contradiction: it counts as not labeled.
    """
    known = {unicodedata.normalize("NFC", name): name for name in class_names}
    given = [_class_of(path, known) for path in ids]
    by_content: dict[str, dict[str, str]] = defaultdict(dict)
    for path, content, label in zip(ids, contents, given):
        if label is not None:
            by_content[content].setdefault(label, path)
    warnings = [
        f"The same picture is in the folders of two classes: {' and '.join(sorted(places.values())[:2])}. "
        "It is taken as unsorted. Remove one of them."
        for places in by_content.values()
        if len(places) > 1
    ]
    labels = [next(iter(by_content[content])) if len(by_content[content]) == 1 else None for content in contents]
    return FolderLabels(labels, sorted(warnings) + _near_misses(ids, class_names, known))


def _class_of(path: str, known: dict[str, str]) -> str | None:
    for folder in reversed(path.split("/")[:-1]):
        found = known.get(unicodedata.normalize("NFC", folder))
        if found is not None:
            return found
    return None


def _near_misses(ids: Sequence[str], class_names: Sequence[str], known: dict[str, str]) -> list[str]:
    """Folders without a class whose names are a class's but for case, spaces, signs, a number or a letter."""
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
                f"The folder {folder!r} is not a class, but {near!r} is. Its {pictures} taken as unsorted. "
                "Rename the folder if it holds that class."
            )
    return warnings


def _simplified(name: str) -> str:
    """Without case, signs, repeated spaces and a leading number, as in 001.Black_footed_Albatross."""
    text = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(re.sub(r"^\s*\d+\s*[.\-_ ]\s*", "", re.sub(r"[_\-\s]+", " ", text)).split())
