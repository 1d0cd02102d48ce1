"""SHOW: a table that can be written as HTML, Markdown, LaTeX, CSV or plain text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from superproto.reporting.page import render_template

_MARKDOWN_STYLES = {"": "{}", "bold": "**{}**", "code": "`{}`", "quiet": "{}", "small": " {}"}
# LaTeX tables do not set the names of methods in a code font.
_LATEX_STYLES = {"": "{}", "bold": r"\textbf{{{}}}", "code": "{}", "quiet": "{}", "small": " {}"}
# Characters that Markdown would interpret. An underscore inside a word and a bracket without a link are plain text.
_MARKDOWN_SIGNS = re.compile(r"[\\|*`~$]|(?<![^\W_])_|_(?![^\W_])|\[(?=[^\]]*\][(\[:])|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_SPACES = re.compile(r"\s+")
_LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "≈": r"$\approx$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


class Text(NamedTuple):
    """A piece of text. ``style`` is "bold", "code", "quiet" (a missing value), "small" (a second line) or ""."""

    text: str
    style: str = ""


class TableCell(NamedTuple):
    """Several pieces of text, their hover text, and whether long text may wrap."""

    parts: tuple[str | Text, ...]
    hover: str = ""
    wrap: bool = False


Content = str | int | float | Text | TableCell


@dataclass(frozen=True)
class Table:
    """Columns and rows of text or numbers.

    The first ``text_columns`` columns are text and aligned left, the others are aligned right. ``groups`` are headings
    (title, number of columns) above the columns. ``styles`` has a style for each row: "ours", "rule" (a line above), or
    both.
    """

    columns: Sequence[Content]
    rows: Sequence[Sequence[Content]]
    text_columns: int = 1
    groups: Sequence[tuple[str, int]] = ()
    styles: Sequence[str] = ()

    def to_html(self) -> Markup:
        """Return the table as HTML, in a box that scrolls horizontally; all text is escaped.

        >>> "<td>&lt;b&gt;</td>" in Table(["x"], [["<b>"]], text_columns=0).to_html()
        True
        """
        heading = [_pieces(column) for column in self.columns]
        styles = self.styles or [""] * len(self.rows)
        rows = [(style, [_pieces(cell) for cell in row]) for style, row in zip(styles, self.rows, strict=True)]
        content = {"heading": heading, "rows": rows, "groups": self.groups, "text_columns": self.text_columns}
        return render_template("table.html", content)

    def __html__(self) -> Markup:
        """Return the table as HTML, so that a template can insert it by name."""
        return self.to_html()

    def to_markdown(self) -> str:
        r"""Return the table in GitHub's Markdown. Groups become the header, followed by column names in bold.

        >>> print(Table(["method", "score"], [["a|b", Text("1.0", "bold")]]).to_markdown())
        | method | score |
        | --- | ---: |
        | a\|b | **1.0** |
        """
        heading = [_markdown(column) for column in self.columns]
        lines = [[_markdown(cell) for cell in row] for row in self.rows]
        if self.groups:
            lines.insert(0, [f"**{name}**" if name else "" for name in heading])
            heading = [text for title, span in self.groups for text in (escape_markdown(title), *[""] * (span - 1))]
        rule = ["---"] * self.text_columns + ["---:"] * (len(self.columns) - self.text_columns)
        return "\n".join(f"| {' | '.join(line)} |" for line in (heading, rule, *lines))

    def to_latex(self) -> str:
        r"""Return the table as a ``tabular`` for the LaTeX package booktabs.

        >>> print(Table(["method", "score"], [["a_b", "50%"]]).to_latex())
        \begin{tabular}{lr}
        \toprule
        method & score \\
        \midrule
        a\_b & 50\% \\
        \bottomrule
        \end{tabular}
        """
        align = "l" * self.text_columns + "r" * (len(self.columns) - self.text_columns)
        lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
        if self.groups:
            spans = (rf"\multicolumn{{{span}}}{{c}}{{{_escape_latex(title)}}}" for title, span in self.groups if span)
            lines.append(_latex_line(spans))
        lines += [_latex_line(map(_latex, self.columns)), r"\midrule"]
        lines += [_latex_line(map(_latex, row)) for row in self.rows]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])

    def to_csv(self) -> str:
        """Return the table as comma-separated values, with an apostrophe before text that looks like a formula.

        >>> print(Table(["name", "x"], [["=1+1", 0.25]]).to_csv(), end="")
        name,x
        '=1+1,0.25
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows([_csv(cell) for cell in row] for row in (self.columns, *self.rows))
        return out.getvalue()

    def to_text(self) -> tuple[list[str], list[list[str]]]:
        """Return column names and rows as plain text, for a terminal."""
        return [_bare(column) for column in self.columns], [[_bare(cell) for cell in row] for row in self.rows]


def escape_markdown(text: str) -> str:
    r"""Return the text on one line, with a backslash before characters that Markdown would interpret.

    >>> print(escape_markdown("a_b *c* <script> x < 3"))
    a_b \*c\* \<script> x < 3
    """
    return _MARKDOWN_SIGNS.sub(r"\\\g<0>", _on_one_line(text))


class _Line(NamedTuple):
    """A cell in the form that the writers use: pieces of text only."""

    parts: tuple[Text, ...]
    hover: str = ""
    wrap: bool = False


def _pieces(content: Content) -> _Line:
    cell = content if isinstance(content, TableCell) else TableCell((_piece(content),))
    return _Line(tuple(map(_piece, cell.parts)), cell.hover, cell.wrap)


def _piece(content: str | int | float | Text) -> Text:
    return content if isinstance(content, Text) else Text(str(content))


def _bare(content: Content) -> str:
    pieces = (f" {text}" if style == "small" else text for text, style in _pieces(content).parts)
    return _on_one_line("".join(pieces)).strip()


def _on_one_line(text: str) -> str:
    return _SPACES.sub(" ", text)


def _markdown(content: Content) -> str:
    return "".join(map(_markdown_piece, _pieces(content).parts)).strip()


def _markdown_piece(piece: Text) -> str:
    text, style = piece
    if style == "code" and "`" not in text:
        # Inside code nothing is a sign but the end of the cell.
        return _MARKDOWN_STYLES[style].format(_on_one_line(text).replace("|", r"\|"))
    escaped = escape_markdown(text)
    # A space next to the stars would end the bold text before it begins.
    escaped = escaped.strip() if style == "bold" else escaped
    return _MARKDOWN_STYLES["" if style == "code" else style].format(escaped) if escaped else ""


def _latex(content: Content) -> str:
    return "".join(_LATEX_STYLES[style].format(_escape_latex(text)) for text, style in _pieces(content).parts)


def _latex_line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escape_latex(text: str) -> str:
    return "".join(_LATEX_SIGNS.get(sign, sign) for sign in _on_one_line(text))


def _csv(content: Content) -> str | int | float:
    """Return numbers unchanged; put an apostrophe before text that starts like a formula."""
    if isinstance(content, int | float):
        return content
    text = _bare(content)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
