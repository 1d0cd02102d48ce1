"""READ: WordPiece token ids of BERT's uncased vocabulary, equal to the reference tokenizer.

`vocab.txt` is the vocabulary of BERT (uncased) by the authors of BERT, Apache License 2.0. Characters that newer
versions of Unicode added may be split differently than by the reference.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources

_UNKNOWN, _START, _END = 100, 101, 102
_SPECIAL = re.compile(r"(\[PAD\]|\[UNK\]|\[CLS\]|\[SEP\]|\[MASK\])")
_LONGEST_WORD = 100
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def tokenize(text: str, longest: int = 256) -> list[int]:
    """Token ids, between those for start and end. At most `longest` in total."""
    numbers: list[int] = []
    vocabulary = _vocabulary()
    for part in _SPECIAL.split(text):
        if _SPECIAL.fullmatch(part):
            numbers.append(vocabulary[part])
        else:
            for word in _words(part):
                numbers.extend(_pieces(word, vocabulary))
    return [_START, *numbers[: longest - 2], _END]


@lru_cache(1)
def _vocabulary() -> dict[str, int]:
    lines = resources.files("superproto.pictures").joinpath("vocab.txt").read_text(encoding="utf-8")
    return {piece: number for number, piece in enumerate(lines.rstrip("\n").split("\n"))}


def _words(text: str) -> Iterator[str]:
    """Lower-case words without accents. Each punctuation mark and ideograph is a word."""
    kept = "".join(_cleaned(letter) for letter in text)
    plain = "".join(letter for letter in unicodedata.normalize("NFD", kept) if unicodedata.category(letter) != "Mn")
    # Letter by letter: the reference has no rule for a final sigma.
    for chunk in "".join(letter.lower() for letter in plain).split():
        word = ""
        for letter in chunk:
            if _is_punctuation(letter):
                if word:
                    yield word
                yield letter
                word = ""
            else:
                word += letter
        if word:
            yield word


def _cleaned(letter: str) -> str:
    if letter in "\t\n\r":
        return " "
    if letter == "\N{REPLACEMENT CHARACTER}" or unicodedata.category(letter) in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if letter.isspace():
        return " "
    code = ord(letter)
    return f" {letter} " if any(low <= code <= high for low, high in _IDEOGRAPHS) else letter


def _is_punctuation(letter: str) -> bool:
    return ("!" <= letter <= "~" and not letter.isalnum()) or unicodedata.category(letter).startswith("P")


def _pieces(word: str, vocabulary: dict[str, int]) -> list[int]:
    """Ids of the longest known prefixes, one after the other. A word that cannot be split in this way is unknown."""
    if len(word) > _LONGEST_WORD:
        return [_UNKNOWN]
    found, start = [], 0
    while start < len(word):
        mark = "##" if start else ""
        end = next((e for e in range(len(word), start, -1) if mark + word[start:e] in vocabulary), None)
        if end is None:
            return [_UNKNOWN]
        found.append(vocabulary[mark + word[start:end]])
        start = end
    return found
