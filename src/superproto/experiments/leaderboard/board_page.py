"""The board as one offline page: a table for each setting and kind of features, and which differences are real."""

from __future__ import annotations

from superproto.experiments.leaderboard.exports import LEVEL, cell_text, difference_text, title_of
from superproto.experiments.leaderboard.ranking import YARDSTICK, Board, Cell, Column
from superproto.reporting.charts.charts import bar_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.markup import Markup, tag
from superproto.reporting.page import Page, figure_with, folded_section, note_paragraph, paragraph, side_by_side, table


def build_board(board: Board) -> Page:
    """The page of what the board shows."""
    cells = [cell for column in board.cells.values() for cell in column.values()]
    run = sum(not cell.missing for cell in cells)
    page = Page(
        "Leaderboard",
        f"{len(board.plan.methods)} methods, {len({c.data for c in board.cells})} data sets: {run} of {len(cells)} "
        f"cells were run. Bold: the best of its column. {LEVEL}: cannot be told from the best (paired bootstrap over "
        "the samples of each class, 95 %). Hover over a number for its seeds, its seconds and its parameters' choice.",
    )
    for setting, features in board.kinds():
        blocks = [_table(board, setting, features), _charts(board, setting, features)]
        page.add(title_of(setting, features), *blocks, *_differences(board, setting, features))
    return page


def _table(board: Board, setting: str, features: str) -> Markup:
    columns = board.columns(setting, features)
    ranked = board.ranked(setting, features)
    rows = [[m, board.plan.titles[m], *(_cell(board.cells[c][m]) for c in columns)] for m in ranked]
    classes = ["ours" if method == YARDSTICK else "" for method in ranked]
    return table(["method", "kind", *(_heading(column) for column in columns)], rows, classes=classes, left=2)


def _cell(cell: Cell) -> Markup:
    text = cell_text(cell)
    if cell.missing:
        return tag("span", "not run" if cell.missing == "not run" else "–", class_="missing", title=cell.missing)
    seeds = f"{cell.seeds} seeds" if cell.seeds > 1 else "one seed"
    shown = tag("b", text) if cell.best else f"{text} {LEVEL}" if cell.level else text
    return tag("span", shown, title=f"{seeds}, {cell.seconds:.1f} s; {cell.chosen}")


def _charts(board: Board, setting: str, features: str) -> Markup:
    """The best methods of each data set as bars."""
    drawn = []
    for column in board.columns(setting, features):
        cells = board.cells[column]
        run = sorted((m for m in cells if not cells[m].missing), key=lambda m: -cells[m].score)[:12]
        if run:
            title = f"{column.data.title}: the best {len(run)}"
            axis = "per-class accuracy" if setting == "zsl" else "H"
            chart = bar_chart(run, [[cells[m].score for m in run]], axis, text=percent, says=title)
            drawn.append(figure_with(chart, title))
    return (
        folded_section("Bars: the best of each data set", side_by_side(*drawn))
        if drawn
        else note_paragraph("Nothing was run yet.")
    )


def _differences(board: Board, setting: str, features: str) -> list[Markup]:
    columns = board.columns(setting, features)
    rows: list[list[object]] = []
    for method in board.ranked(setting, features):
        texts = [difference_text(board.cells[column][method]) for column in columns]
        if any(texts):
            rows.append([method, *(text or "–" for text in texts)])
    if not rows:
        return []
    says = f"Points minus {YARDSTICK} on the same questions, with 95 % intervals; {LEVEL}: the interval holds 0."
    inside = table(["method", *(_heading(column) for column in columns)], rows)
    return [folded_section(f"Which differences to {YARDSTICK} are real", paragraph(says), inside)]


def _heading(column: Column) -> Markup:
    return tag("span", column.data.title)
