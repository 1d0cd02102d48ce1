"""Measure the sentences of README, docs, CHANGELOG and CONTRIBUTING; exit with 1 if some are too long.

Code, tables, generated blocks and formulas are no prose. Run it as `python docs/hooks/readability.py [PAGE ...]`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
LONGEST = 45
LONGEST_MEAN = 22

_NOT_PROSE = (
    re.compile(r"<!-- generated:([\w-]+) -->.*?<!-- /generated:\1 -->", re.S),
    re.compile(r"<!--.*?-->", re.S),
    re.compile(r"^( *)```.*?^\1```", re.S | re.M),
    re.compile(r"^(?: {4}|\t).*$", re.M),  # indented code
    re.compile(r"^\s*\|.*$", re.M),  # tables
    re.compile(r"^:::.*$", re.M),
    re.compile(r"!\[[^\]]*\]\([^)]*\)(?:\{[^}]*\})?"),
)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+", re.M)
_CODE = re.compile(r"`+[^`]*`+")
_END = re.compile(r"(?<=[.!?])[\"')\]*]*\s+(?=[\"'(*\[]*[A-Z0-9`“])")
# Letters after which a period does not end a sentence.
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|et al|vs|Fig|Eq|cf|approx)\. ")
_WORD = re.compile(r"[^\W_][\w'’-]*")


class Sentence(NamedTuple):
    """A sentence, and its number of words."""

    text: str
    words: int


def pages() -> list[Path]:
    """Every page that is written by hand."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def sentences_of(text: str) -> list[Sentence]:
    """The sentences of a page in Markdown.

    A code span counts as one word. Headings, list items and paragraphs end a sentence.

    >>> [sentence.words for sentence in sentences_of("# Title\\n\\nOne two `a b c`. Three four.\\n")]
    [1, 3, 2]
    """
    for pattern in _NOT_PROSE:
        text = pattern.sub("\n", text)
    text = _CODE.sub("code", _LINK.sub(r"\1", text))
    text = _LIST_ITEM.sub("\n\n", re.sub(r"^#+ (.*)$", r"\n\1\n", text, flags=re.M))
    text = _ABBREVIATION.sub(lambda match: match.group(0).replace(".", ""), text)
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in _END.split(" ".join(paragraph.split())):
            words = len(_WORD.findall(sentence))
            if words:
                found.append(Sentence(sentence, words))
    return found


def complaints(page: Path) -> list[str]:
    """What is too long on a page."""
    found = sentences_of(page.read_text(encoding="utf-8"))
    name = page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else str(page)
    said = [f"{name}: a sentence of {s.words} words: {s.text[:110]}…" for s in found if s.words > LONGEST]
    mean = sum(s.words for s in found) / max(len(found), 1)
    if mean > LONGEST_MEAN:
        said.append(f"{name}: {mean:.1f} words a sentence on average, {LONGEST_MEAN} at most")
    return said


def main(given: list[str]) -> int:
    """Print what is too long; 1 if anything is."""
    chosen = [Path(name).resolve() for name in given] or pages()
    said = [line for page in chosen for line in complaints(page)]
    print("\n".join(said) or f"{len(chosen)} pages: no sentence is too long.")
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
