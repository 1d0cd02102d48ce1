"""One self-contained offline page: sections of text, tables and figures; no script, no font, no address outside."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from superproto.files import write_whole
from superproto.reporting.markup import Markup, join, tag


@dataclass
class Page:
    """A title, a sentence that says what is to be seen, and sections in order."""

    title: str
    lead: object
    footer: str = ""
    sections: list[tuple[str, Markup]] = field(default_factory=list)

    def add(self, title: str, *blocks: object) -> None:
        """A section; blocks are markup or plain text (a paragraph)."""
        self.sections.append((title, join(_block(block) for block in blocks)))

    def render(self) -> Markup:
        """The whole page as HTML."""
        links = [tag("a", title, href=f"#{_anchor(title)}") for title, _ in self.sections]
        body = [
            tag("h1", self.title),
            tag("p", self.lead, class_="lead"),
            tag("nav", *links) if len(links) > 2 else Markup(),
            *(tag("section", tag("h2", title, id=_anchor(title)), content) for title, content in self.sections),
            tag("footer", self.footer) if self.footer else Markup(),
        ]
        head = [
            Markup('<meta charset="utf-8"/><meta name="viewport" content="width=device-width,initial-scale=1"/>'),
            # Without an icon of its own a browser asks a server for one.
            Markup('<link rel="icon" href="data:,"/>'),
            tag("title", self.title),
            tag("style", Markup(_style("charts.css") + _style("page.css"))),
        ]
        return Markup("<!doctype html>\n" + tag("html", tag("head", *head), tag("body", *body), lang="en") + "\n")

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, whole or not at all, and return where it is."""
        path = Path(path)
        with write_whole(path, text=True) as handle:
            handle.write(self.render())
        return path


def paragraph(*content: object) -> Markup:
    """A paragraph of text and markup."""
    return tag("p", *content)


def note_paragraph(*content: object) -> Markup:
    """A paragraph in a quiet voice."""
    return tag("p", *content, class_="note")


def figure_with(drawing: Markup, *caption: object) -> Markup:
    """A figure with what there is to see in it."""
    return tag("figure", tag("div", drawing, class_="scroll"), tag("figcaption", *caption))


def side_by_side(*blocks: object) -> Markup:
    """Blocks in a row, wrapped where the screen is narrow."""
    return tag("div", *(tag("div", _block(block)) for block in blocks), class_="row")


def folded_section(title: str, *blocks: object) -> Markup:
    """Blocks that show when asked for."""
    return tag("details", tag("summary", title), *(_block(block) for block in blocks))


def tiles(*pairs: tuple[str, str]) -> Markup:
    """The few numbers that matter most: value, what it is."""
    return tag(
        "div", *(tag("div", tag("b", value), tag("span", says), class_="tile") for value, says in pairs), class_="tiles"
    )


def table(
    columns: Sequence[object],
    rows: Sequence[Sequence[object]],
    *,
    classes: Sequence[str] | None = None,
    left: int = 1,
    groups: Sequence[tuple[str, int]] = (),
) -> Markup:
    """A table; the first `left` columns are words, `groups` (title, columns) head them, a row may have a class."""
    over = tag("tr", *(tag("th", title, colspan=span, class_="group" if title else None) for title, span in groups))
    head = tag("tr", *_cells("th", columns, left))
    body = [
        tag("tr", *_cells("td", row, left), class_=(classes[i] or None) if classes else None)
        for i, row in enumerate(rows)
    ]
    inside = tag("thead", *([over] if groups else []), head), tag("tbody", *body)
    return tag("div", tag("table", *inside), class_="scroll")


def _cells(name: str, cells: Sequence[object], left: int) -> list[Markup]:
    return [tag(name, cell, class_="left" if i < left else None) for i, cell in enumerate(cells)]


def standalone_svg(drawing: Markup) -> Markup:
    """A figure with its style inside, for a README or a slide."""
    start = drawing.index(">") + 1
    return Markup(drawing[:start] + tag("style", Markup(_style("charts.css"))) + drawing[start:])


def _block(block: object) -> Markup:
    return block if isinstance(block, Markup) else paragraph(block)


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _style(name: str) -> str:
    """A style sheet of the package, without line breaks."""
    return " ".join((files("superproto.reporting") / "templates" / name).read_text(encoding="utf-8").split())
