"""The board's tables in README and docs: Markdown between `generated` markers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from superproto.experiments.leaderboard.exports import (
    LEVEL,
    cell_text,
    difference_text,
    plain_markdown,
    signed,
    title_of,
    to_markdown,
)
from superproto.experiments.leaderboard.ranking import YARDSTICK, Board, Column, board_of
from superproto.experiments.plans import ZooPlan, read_zoo_plan
from superproto.experiments.records import Record, Results
from superproto.reporting.markdown import markdown_table

_BEST = 10
_WITHIN = 3.0


class Standing:
    """The plan and the records of the board; what they say is worked out once, when a block asks for it."""

    def __init__(self, records: Sequence[Record], plan: ZooPlan | None = None) -> None:
        self.records = records
        self.plan = plan or read_zoo_plan()

    @cached_property
    def board(self) -> Board:
        return board_of(self.plan, self.records)


def short_block(standing: Standing) -> str:
    """The best methods and HPL(), whitened features: ZSL, and H of GZSL."""
    board, features = standing.board, "whitened"
    columns = [*board.columns("zsl", features), *board.columns("gzsl", features)]
    run = [m for m in board.ranked("zsl", features) if any(not board.cells[c][m].missing for c in columns)]
    chosen = sorted({*run[:_BEST], *(m for m in run if m == YARDSTICK)}, key=run.index)
    kind = {"zsl": "ZSL", "gzsl": "GZSL H"}
    head = ["method", *(f"{kind[c.setting]}: {plain_markdown(c.data.title)}" for c in columns)]
    rows = []
    for method in chosen:
        cells = [board.cells[column][method] for column in columns]
        texts = []
        for cell in cells:
            text = "–" if cell.missing else f"{100 * cell.score:.1f}"
            texts.append(f"**{text}**" if cell.best else f"{text} {LEVEL}" if cell.level else text)
        rows.append([f"`{method}`", *texts])
    said = (
        f"The best {len(chosen)} of {len(run)} methods that were run, by their mean over the data sets; whitened "
        f"features, percent. **Best of all**; {LEVEL} cannot be told from the best (paired bootstrap, 95 %); – not run."
    )
    return markdown_table(head, rows) + f"\n\n{said}"


def zsl_block(standing: Standing) -> str:
    """Every method, ZSL."""
    return to_markdown(standing.board, ["zsl"], level=3).rstrip()


def gzsl_block(standing: Standing) -> str:
    """Every method, GZSL."""
    return to_markdown(standing.board, ["gzsl"], level=3).rstrip()


def differences_block(standing: Standing) -> str:
    """Every method minus HPL() on the same questions, in points."""
    board, parts = standing.board, []
    for setting, features in board.kinds():
        columns = board.columns(setting, features)
        rows = []
        for method in board.ranked(setting, features):
            texts = [difference_text(board.cells[column][method]) for column in columns]
            if any(texts):
                rows.append([f"`{method}`", *(text or "–" for text in texts)])
        if rows:
            head = ["method", *(plain_markdown(column.data.title) for column in columns)]
            parts.append(f"### Minus `hpl`: {title_of(setting, features)}\n\n{markdown_table(head, rows)}")
    return "\n\n".join(parts) or "`hpl` was not run yet."


def summary_block(standing: Standing) -> str:
    """How much of the plan was run, and how parameters were chosen."""
    board = standing.board
    cells = [cell for column in board.cells.values() for cell in column.values()]
    run = [cell for cell in cells if not cell.missing]
    tuned = sum(cell.chosen.startswith("tuned") for cell in run)
    several = sum(cell.seeds > 1 for cell in run)
    waiting = sum(cell.missing == "not run" for cell in cells)
    return (
        f"{len(run)} of {len(cells)} cells were run: {tuned} with parameters chosen on validation classes, "
        f"{len(run) - tuned} with defaults; {several} over several seeds. {waiting} were not run; "
        f"{len(cells) - len(run) - waiting} have a reason below their table. Slowest run of each data set, whitening "
        f"included: {_slowest(board)}."
    )


def _slowest(board: Board) -> str:
    """The method that took longest on each data set and setting, with its seconds."""
    longest: dict[tuple[str, str], tuple[float, str]] = {}
    for column, cells in board.cells.items():
        for method, cell in cells.items():
            if not cell.missing:
                key = (column.data.title, column.setting.upper())
                longest[key] = max(longest.get(key, (0.0, "")), (cell.seconds, method))
    said = [f"{title} {setting} `{method}` {seconds:.0f} s" for (title, setting), (seconds, method) in longest.items()]
    return ", ".join(said) or "none yet"


def references_block(standing: Standing) -> str:
    """Other people's figures, the same preparation here, and the board's own row."""
    results, board = Results(standing.records), standing.board
    rows = []
    for entry in standing.plan.references:
        found = results.score(entry.task, entry.method, entry.params)
        own = board.cells[Column(entry.data, entry.features, "zsl")][entry.method]
        here = "not run" if found is None else f"{100 * found.mean:.1f}"
        gap = "" if found is None else signed(100 * found.mean - entry.figure)
        far = found is not None and abs(100 * found.mean - entry.figure) > _WITHIN
        where = f"{entry.data.title}, {entry.features}"
        gap = f"**{gap}**" if far else gap
        rows.append([f"`{entry.method}`", where, f"{entry.figure:.1f}", here, gap, cell_text(own)])
    head = ["method", "data, features", "theirs", "same preparation here", "difference", "on the board"]
    return markdown_table(head, rows, left=2)


BOARD_BLOCKS: dict[str, Callable[[Standing], str]] = {
    "leaderboard-short": short_block,
    "leaderboard-summary": summary_block,
    "leaderboard-zsl": zsl_block,
    "leaderboard-gzsl": gzsl_block,
    "leaderboard-differences": differences_block,
    "leaderboard-references": references_block,
}
