"""Blocks of code on a page in Markdown: what language they are in, and what is printed beneath them."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
_BLOCK = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.S | re.M)
_PRINTS = re.compile(r"\A\s*```text\n(.*?)^```", re.S | re.M)
# Modules that a plain installation does not have.
_OPTIONAL = re.compile(r"^(?:import|from) (PIL|superproto\.pictures import|torch|dask|pandas|polars)\b", re.M)


class Block(NamedTuple):
    """A block of code; `prints` is the block of text right below a block of Python."""

    language: str
    code: str
    prints: str | None

    @property
    def needs_extra(self) -> bool:
        return bool(_OPTIONAL.search(self.code))


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page in order, without the text that others print."""
    text = page.read_text(encoding="utf-8")
    found, printed = [], -1
    for match in _BLOCK.finditer(text):
        if match.start() < printed:
            continue
        language = {"py": "python"}.get(match.group(2), match.group(2))
        below = _PRINTS.match(text[match.end() :]) if language == "python" else None
        printed = match.end() + below.end() if below else printed
        code = textwrap.dedent(match.group(3))
        found.append(Block(language, code, below.group(1) if below else None))
    return found


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()
