"""The board as text: Markdown, LaTeX and CSV. Names may hold anything, so each format escapes its own signs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Sequence

from superproto.experiments.leaderboard.ranking import Board, Cell, Column
from superproto.experiments.plans import SETTINGS
from superproto.reporting.markdown import markdown_table

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "≈": r"$\approx$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_MARKDOWN = re.compile(r"([\\|*_`<>\[\]])")
_WORDS = {"zsl": "ZSL, per-class accuracy in %", "gzsl": "GZSL: U / S / H in %"}
LEVEL = "≈"


def title_of(setting: str, features: str) -> str:
    """What a table shows."""
    return f"{_WORDS[setting]}, {'whitened' if features == 'whitened' else 'unit (raw)'} features"


def cell_text(cell: Cell) -> str:
    """Percent: mean ± standard deviation over seeds, or U / S / H; – where `reasons` says why there is nothing."""
    if cell.missing:
        return cell.missing if cell.missing == "not run" else "–"
    numbers = [f"{100 * mean:.1f}" for mean in cell.means]
    spread = f" ± {100 * cell.spreads[-1]:.1f}" if cell.seeds > 1 else ""
    return " / ".join(numbers) + spread


def signed(points: float) -> str:
    """A difference in points; what rounds to 0 has no minus."""
    return f"{round(points, 1) + 0.0:+.1f}".replace("-", "−")


def difference_text(cell: Cell) -> str:
    """Points minus HPL(), with the 95 % interval; ≈ where it holds 0."""
    if cell.against is None:
        return ""
    change, low, high = (signed(100 * value) for value in cell.against[:3])
    level = f" {LEVEL}" if cell.against.low <= 0 <= cell.against.high else ""
    return f"{change} ({low} to {high}){level}"


def reasons(board: Board, setting: str, features: str) -> list[str]:
    """Why cells of a table have no number, apart from those that were not run: one sentence for each reason."""
    found: dict[str, dict[str, list[str]]] = {}
    for column in board.columns(setting, features):
        for method, cell in board.cells[column].items():
            if cell.missing and cell.missing != "not run":
                found.setdefault(cell.missing, {}).setdefault(method, []).append(column.data.title)
    everywhere = len(board.columns(setting, features))
    said = []
    for why, methods in found.items():
        named = [m if len(t) == everywhere else f"{m} ({', '.join(t)})" for m, t in methods.items()]
        said.append(f"{', '.join(named)}: {why}.")
    return said


def plain_markdown(text: str) -> str:
    """The text with whatever Markdown would take for a sign of its own."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def marked_markdown(cell: Cell) -> str:
    text = plain_markdown(cell_text(cell))
    return f"**{text}**" if cell.best else f"{text} {LEVEL}" if cell.level else text


def to_markdown(board: Board, settings: Collection[str] = SETTINGS, level: int = 2) -> str:
    """Every table of these settings, one under the other, with headings of this level."""
    parts = []
    for setting, features in (kind for kind in board.kinds() if kind[0] in settings):
        columns = board.columns(setting, features)
        head = ["method", "kind", *(plain_markdown(column.data.title) for column in columns)]
        rows = [
            [f"`{m}`", plain_markdown(board.plan.titles[m]), *(marked_markdown(board.cells[c][m]) for c in columns)]
            for m in board.ranked(setting, features)
        ]
        why = "".join(f"\n– {plain_markdown(line)}\n" for line in reasons(board, setting, features))
        parts.append(f"{'#' * level} {title_of(setting, features)}\n\n{markdown_table(head, rows, left=2)}\n{why}")
    return "\n".join(parts)


def to_latex(board: Board) -> str:
    """Every table of the board as a `tabular` for the package booktabs."""
    parts = []
    for setting, features in board.kinds():
        columns = board.columns(setting, features)
        lines = [f"% {title_of(setting, features)}", rf"\begin{{tabular}}{{ll{'r' * len(columns)}}}", r"\toprule"]
        lines += [_latex_row(["method", "kind", *(column.data.title for column in columns)]), r"\midrule"]
        for method in board.ranked(setting, features):
            cells = [_latex_cell(board.cells[column][method]) for column in columns]
            words = [_latex(method), _latex(board.plan.titles[method])]
            lines.append(" & ".join([*words, *cells]) + r" \\")
        parts.append("\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""]))
    return "\n".join(parts)


def to_csv(board: Board) -> str:
    """One line for each cell, fractions at full length; `missing` says why a line has no numbers."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    scores = ["per_class_accuracy", "unseen", "seen", "harmonic_mean"]
    head = ["setting", "features", "data", "method", "kind", *scores, "sd", "seeds", "seconds", "best", "level"]
    writer.writerow([*head, "minus_hpl", "minus_hpl_low", "minus_hpl_high", "chosen", "missing"])
    for column, cells in board.cells.items():
        for method in board.ranked(column.setting, column.features):
            writer.writerow(_csv_row(column, method, board.plan.titles[method], cells[method]))
    return out.getvalue()


def _csv_row(column: Column, method: str, kind: str, cell: Cell) -> list[object]:
    words = [column.setting, column.features, _csv(column.data.title), _csv(method), _csv(kind)]
    if cell.missing:
        return [*words, *[""] * 13, _csv(cell.missing)]
    means = [*cell.means, "", "", ""] if column.setting == "zsl" else ["", *cell.means]
    spread = cell.spreads[-1] if cell.seeds > 1 else ""
    change = ["", "", ""] if cell.against is None else list(cell.against[:3])
    marks = [int(cell.best), int(cell.level)]
    return [*words, *means, spread, cell.seeds, round(cell.seconds, 3), *marks, *change, _csv(cell.chosen), ""]


def _csv(text: str) -> str:
    """A spreadsheet takes a word that starts with one of these for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(map(_latex, cells)) + r" \\"


def _latex_cell(cell: Cell) -> str:
    text = _latex(cell_text(cell))
    return rf"\textbf{{{text}}}" if cell.best else rf"{text} $\approx$" if cell.level else text


EXPORTS: dict[str, Callable[[Board], str]] = {".md": to_markdown, ".tex": to_latex, ".csv": to_csv}
