"""Tables as Markdown: of cells, and of the page, so that docs show the same cells as the page."""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser

from superproto.reporting.markup import Markup


def markdown_table(head: Sequence[object], rows: Sequence[Sequence[object]], left: int = 1) -> str:
    """A table of cells that are Markdown already; the first ``left`` columns are text, the others numbers."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [head, rule, *rows])


def from_tables(page: Markup) -> str:
    """Every heading, paragraph and table in a piece of the page, in order; a table's groups head its columns.

    >>> from superproto.reporting.page import table
    >>> print(from_tables(table(["method", "score"], [["a|b", "1.0"]])))
    | method | score |
    | --- | ---: |
    | a\\|b | 1.0 |
    """
    reader = _Reader()
    reader.feed(page)
    return "\n\n".join(reader.blocks)


class _Reader(HTMLParser):
    """Collects blocks: text of headings and paragraphs, rows of tables."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self._rows: list[list[str]] = []
        self._text: list[str] = []
        self._span, self._grouped = 1, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._rows, self._grouped = [], False
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th", "h3", "p", "summary"):
            self._text = []
            self._span = int(dict(attrs).get("colspan") or 1)
            self._grouped |= self._span > 1
        elif tag == "b":
            self._text.append("**")
        elif tag == "small":
            self._text.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag == "b":
            self._text.append("**")
        elif tag in ("td", "th"):
            self._rows[-1] += ["".join(self._text).strip(), *[""] * (self._span - 1)]
        elif tag == "table":
            self.blocks.append(_table(self._rows, self._grouped))
        elif tag in ("h3", "p", "summary"):
            self.blocks.append({"h3": "### "}.get(tag, "") + "".join(self._text))

    def handle_data(self, data: str) -> None:
        self._text.append(data.replace("|", "\\|").replace("\n", " "))


def _table(rows: list[list[str]], grouped: bool) -> str:
    """The first row is the head; where it groups the columns, their names follow in bold."""
    width = max(map(len, rows))
    rows = [row + [""] * (width - len(row)) for row in rows]
    if grouped and len(rows) > 1:
        rows[1] = [f"**{name}**" if name else "" for name in rows[1]]
    return markdown_table(rows[0], rows[1:])
