"""RESEARCH: write the leaderboard as tables, a page, exports, and blocks in README and docs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property

from markupsafe import Markup

from superproto.experiments.leaderboard.ranking import YARDSTICK, Cell, Column, Leaderboard, build_leaderboard
from superproto.experiments.plans import SETTINGS, LeaderboardPlan, read_leaderboard_plan
from superproto.experiments.records import Record, Results
from superproto.reporting.charts.charts import bar_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.page import Page
from superproto.reporting.table import Content, Table, TableCell, Text, escape_markdown

# Marks a method that does not differ significantly from the best.
LEVEL = "≈"
_GENERALIZED = ("unseen", "seen", "harmonic_mean")
_TITLES = {"zsl": "ZSL, per-class accuracy in %", "gzsl": "GZSL: U / S / H in %"}
_SHORT = {"zsl": "ZSL", "gzsl": "GZSL H"}
_N_BEST = 10
_N_BARS = 12
# A reference that differs by more points is set in bold.
_TOLERANCE = 3.0


def title_of(setting: str, features: str) -> str:
    """Return the title of a table."""
    return f"{_TITLES[setting]}, {'whitened' if features == 'whitened' else 'unit (raw)'} features"


def cell_text(cell: Cell) -> str:
    """Format a cell in percent: mean ± standard deviation over seeds, or U / S / H; – if there is no number."""
    if cell.missing:
        return cell.missing if cell.missing == "not run" else "–"
    numbers = [f"{100 * mean:.1f}" for mean in cell.means]
    spread = f" ± {100 * cell.spreads[-1]:.1f}" if cell.seeds > 1 else ""
    return " / ".join(numbers) + spread


def signed(points: float) -> str:
    """Format a difference in percentage points; values that round to 0 have no minus sign."""
    return f"{round(points, 1) + 0.0:+.1f}".replace("-", "−")


def reasons(leaderboard: Leaderboard, setting: str, features: str) -> list[str]:
    """Return the reasons why cells have no number, one sentence each. Cells that were not run are omitted."""
    found: dict[str, dict[str, list[str]]] = {}
    for column in leaderboard.columns(setting, features):
        for method, cell in leaderboard.cells[column].items():
            if cell.missing and cell.missing != "not run":
                found.setdefault(cell.missing, {}).setdefault(method, []).append(column.data.title)
    everywhere = len(leaderboard.columns(setting, features))
    sentences = []
    for why, methods in found.items():
        named = [m if len(t) == everywhere else f"{m} ({', '.join(t)})" for m, t in methods.items()]
        sentences.append(f"{', '.join(named)}: {why}.")
    return sentences


# -- tables ------------------------------------------------------------------------------------------------------------


def ranking_table(leaderboard: Leaderboard, setting: str, features: str) -> Table:
    """Return the table of all methods, the best first: name, year, kind, whether tuned, scores and their mean.

    GZSL has further columns with H after calibrated stacking.
    """
    columns, ranked = leaderboard.columns(setting, features), leaderboard.ranked(setting, features)
    heading = ["method", "name", "year", "kind", "parameters", *(column.data.title for column in columns), "mean"]
    if setting == "gzsl":
        heading += [*(f"{column.data.title}: H calibrated" for column in columns), "mean H calibrated"]
    rows = [_ranking_row(leaderboard, columns, method) for method in ranked]
    styles = ["ours" if method == YARDSTICK else "" for method in ranked]
    return Table(heading, rows, text_columns=5, styles=styles)


def _ranking_row(leaderboard: Leaderboard, columns: Sequence[Column], method: str) -> list[Content]:
    card = leaderboard.plan.card(method)
    cells = [leaderboard.cells[column][method] for column in columns]
    name = TableCell((card.name,), hover=card.reference)
    row: list[Content] = [Text(method, "code"), name, str(card.year or "–"), leaderboard.plan.titles[method]]
    row += [choice_text(cells), *map(_cell, cells), mean_score(cells)]
    if any(column.setting == "gzsl" for column in columns):
        row += [f"{100 * cell.calibrated[-1]:.1f}" if cell.calibrated else "–" for cell in cells]
        row.append(mean_calibrated(cells))
    return row


def choice_text(cells: Sequence[Cell]) -> str:
    """Return whether the parameters of a row were tuned on validation classes or are defaults."""
    tuned = {cell.tuned for cell in cells if not cell.missing}
    return {(): "–", (True,): "tuned", (False,): "defaults"}.get(tuple(tuned), "tuned in part")


def mean_score(cells: Sequence[Cell]) -> str:
    """Format the mean of a row's main scores by :func:`mean_text`."""
    return mean_text([None if cell.missing else cell.score for cell in cells])


def mean_calibrated(cells: Sequence[Cell]) -> str:
    """Format the mean of a row's H after calibrated stacking by :func:`mean_text`."""
    return mean_text([cell.calibrated[-1] if cell.calibrated else None for cell in cells])


def mean_text(scores: Sequence[float | None]) -> str:
    """Format the mean over the data sets in percent; if some are missing, also their number."""
    known = [score for score in scores if score is not None]
    if not known:
        return "–"
    suffix = "" if len(known) == len(scores) else f" ({len(known)} of {len(scores)})"
    return f"{100 * sum(known) / len(known):.1f}{suffix}"


def methods_table(plan: LeaderboardPlan) -> Table:
    """Return the table of all methods with full name, year, reference and kind."""
    cards = [plan.card(method) for method in plan.methods]
    rows: list[list[Content]] = [
        [Text(card.method, "code"), card.name, str(card.year or "–"), card.reference, plan.titles[card.method]]
        for card in cards
    ]
    return Table(["method", "name", "year", "reference", "kind"], rows, text_columns=5)


def published_table(leaderboard: Leaderboard) -> Table:
    """Return the table of deep methods: published results, measured results, and why the two differ."""
    columns = [
        c for c in leaderboard.cells if (c.features, c.data.dataset) in {("whitened", "CUB"), ("whitened", "AwA")}
    ]
    rows: list[list[Content]] = []
    for card in leaderboard.plan.cards:
        if card.published:
            here = [_headline(leaderboard.cells[column][card.method]) for column in columns]
            rows.append([Text(card.method, "code"), card.published, card.differs, *here])
    titles = [f"{_SHORT[column.setting]}: {column.data.title}" for column in columns]
    return Table(["method", "published", "beside the features, differs in", *titles], rows, text_columns=3)


def difference_table(leaderboard: Leaderboard, setting: str, features: str) -> Table:
    """Return the table of differences from HPL() on the same samples, in percentage points."""
    columns = leaderboard.columns(setting, features)
    rows: list[list[Content]] = []
    for method in leaderboard.ranked(setting, features):
        texts = [_difference_text(leaderboard.cells[column][method]) for column in columns]
        if any(texts):
            rows.append([Text(method, "code"), *(text or "–" for text in texts)])
    return Table(["method", *(column.data.title for column in columns)], rows)


def cells_table(leaderboard: Leaderboard) -> Table:
    """Return one row for each cell, with unrounded fractions; `missing` is the reason if there are no numbers."""
    scores = ["per_class_accuracy", "unseen", "seen", "harmonic_mean", *(f"calibrated_{n}" for n in _GENERALIZED)]
    columns = ["setting", "features", "data", "method", "name", "year", "reference", "kind", *scores, "sd", "seeds"]
    columns += ["seconds", "best", "level"]
    columns += ["minus_hpl", "minus_hpl_low", "minus_hpl_high", "chosen", "missing"]
    rows = [
        [*_cell_names(leaderboard, column, method), *_cell_numbers(column, cells[method])]
        for column, cells in leaderboard.cells.items()
        for method in leaderboard.ranked(column.setting, column.features)
    ]
    return Table(columns, rows, text_columns=8)


def _cell(cell: Cell) -> Content:
    text = cell_text(cell)
    if cell.missing:
        return TableCell((Text(text, "quiet"),), hover=cell.missing)
    seeds = f"{cell.seeds} seeds" if cell.seeds > 1 else "one seed"
    return TableCell(_marked(text, cell), hover=f"{seeds}, {cell.seconds:.1f} s; {cell.chosen}")


def _marked(text: str, cell: Cell) -> tuple[str | Text, ...]:
    """Set the best of its column in bold, and mark cells that do not differ significantly from it."""
    return (Text(text, "bold"),) if cell.best else (f"{text} {LEVEL}",) if cell.level else (text,)


def _difference_text(cell: Cell) -> str:
    """Format the difference from HPL() with its 95 % interval; ≈ marks intervals that contain 0."""
    if cell.against is None:
        return ""
    change, low, high = (signed(100 * value) for value in cell.against[:3])
    level = f" {LEVEL}" if cell.against.low <= 0 <= cell.against.high else ""
    return f"{change} ({low} to {high}){level}"


def _cell_names(leaderboard: Leaderboard, column: Column, method: str) -> list[str]:
    card, kind = leaderboard.plan.card(method), leaderboard.plan.titles[method]
    where = [column.setting, column.features, column.data.title]
    return [*where, method, card.name, str(card.year or ""), card.reference, kind]


def _cell_numbers(column: Column, cell: Cell) -> list[Content]:
    if cell.missing:
        return [*[""] * 16, cell.missing]
    means: list[Content] = [*cell.means, "", "", ""] if column.setting == "zsl" else ["", *cell.means]
    means += cell.calibrated or ("", "", "")
    spread: Content = cell.spreads[-1] if cell.seeds > 1 else ""
    change: list[Content] = ["", "", ""] if cell.against is None else list(cell.against[:3])
    marks = [int(cell.best), int(cell.level)]
    return [*means, spread, cell.seeds, round(cell.seconds, 3), *marks, *change, cell.chosen, ""]


# -- files -------------------------------------------------------------------------------------------------------------


def leaderboard_markdown(leaderboard: Leaderboard, settings: Collection[str] = SETTINGS, level: int = 2) -> str:
    """Write every table of these settings as Markdown, with headings of this level."""
    parts = []
    for setting, features in (kind for kind in leaderboard.kinds() if kind[0] in settings):
        why = "".join(f"\n– {escape_markdown(line)}\n" for line in reasons(leaderboard, setting, features))
        table = ranking_table(leaderboard, setting, features).to_markdown()
        parts.append(f"{'#' * level} {title_of(setting, features)}\n\n{table}\n{why}")
    return "\n".join(parts)


def leaderboard_latex(leaderboard: Leaderboard) -> str:
    """Write every table of the leaderboard as a LaTeX `tabular` for the package booktabs."""
    kinds = leaderboard.kinds()
    return "\n".join(f"% {title_of(*kind)}\n{ranking_table(leaderboard, *kind).to_latex()}\n" for kind in kinds)


EXPORTS: dict[str, Callable[[Leaderboard], str]] = {
    ".md": leaderboard_markdown,
    ".tex": leaderboard_latex,
    ".csv": lambda leaderboard: cells_table(leaderboard).to_csv(),
}


# -- page --------------------------------------------------------------------------------------------------------------


def build_leaderboard_page(leaderboard: Leaderboard) -> Page:
    """Build the page: a table for each setting and kind of features, and the differences from HPL()."""
    cells = [cell for column in leaderboard.cells.values() for cell in column.values()]
    content = {
        "n_methods": len(leaderboard.plan.methods),
        "n_data": len({column.data for column in leaderboard.cells}),
        "n_run": sum(not cell.missing for cell in cells),
        "n_cells": len(cells),
        "level": LEVEL,
        "yardstick": YARDSTICK,
        "methods": methods_table(leaderboard.plan),
        "published": published_table(leaderboard),
        "kinds": [
            {
                "title": title_of(*kind),
                "ranking": ranking_table(leaderboard, *kind),
                "charts": _charts(leaderboard, *kind),
                "differences": difference_table(leaderboard, *kind),
            }
            for kind in leaderboard.kinds()
        ],
    }
    return Page("leaderboard.html", content)


def _charts(leaderboard: Leaderboard, setting: str, features: str) -> list[tuple[Markup, str]]:
    """Draw the best methods of each data set as bars."""
    drawn = []
    for column in leaderboard.columns(setting, features):
        cells = leaderboard.cells[column]
        run = sorted((m for m in cells if not cells[m].missing), key=lambda m: -cells[m].score)[:_N_BARS]
        if run:
            title = f"{column.data.title}: the best {len(run)}"
            axis = "per-class accuracy" if setting == "zsl" else "H"
            chart = bar_chart(run, [[cells[m].score for m in run]], axis, text=percent, alt=title)
            drawn.append((chart, title))
    return drawn


# -- blocks in README and docs -----------------------------------------------------------------------------------------


class LeaderboardRecords:
    """The plan and the records of the leaderboard. The leaderboard is built once, when a block needs it."""

    def __init__(self, records: Sequence[Record], plan: LeaderboardPlan | None = None) -> None:
        self.records = records
        self.plan = plan or read_leaderboard_plan()

    @cached_property
    def leaderboard(self) -> Leaderboard:
        """The leaderboard of these records."""
        return build_leaderboard(self.plan, self.records)


def short_block(source: LeaderboardRecords) -> str:
    """Write the short table: the best methods and HPL() with whitened features, ZSL and H of GZSL."""
    leaderboard, features = source.leaderboard, "whitened"
    columns = [*leaderboard.columns("zsl", features), *leaderboard.columns("gzsl", features)]
    run = [m for m in leaderboard.ranked("zsl", features) if any(not leaderboard.cells[c][m].missing for c in columns)]
    chosen = sorted({*run[:_N_BEST], *(m for m in run if m == YARDSTICK)}, key=run.index)
    head = ["method", *(f"{_SHORT[column.setting]}: {column.data.title}" for column in columns)]
    rows = [[Text(m, "code"), *(_headline(leaderboard.cells[column][m]) for column in columns)] for m in chosen]
    summary = (
        f"The best {len(chosen)} of {len(run)} methods that were run, by their mean over the data sets; whitened "
        f"features, percent. **Best of all**; {LEVEL} cannot be told from the best (paired bootstrap, 95 %); – not run."
    )
    return f"{Table(head, rows).to_markdown()}\n\n{summary}"


def _headline(cell: Cell) -> Content:
    return "–" if cell.missing else TableCell(_marked(f"{100 * cell.score:.1f}", cell))


def zsl_block(source: LeaderboardRecords) -> str:
    """Write the ZSL tables of all methods."""
    return leaderboard_markdown(source.leaderboard, ["zsl"], level=3).rstrip()


def gzsl_block(source: LeaderboardRecords) -> str:
    """Write the GZSL tables of all methods."""
    return leaderboard_markdown(source.leaderboard, ["gzsl"], level=3).rstrip()


def methods_block(source: LeaderboardRecords) -> str:
    """Write the table of the names and references of all methods."""
    return methods_table(source.plan).to_markdown()


def published_block(source: LeaderboardRecords) -> str:
    """Write the table of published and measured results of the deep methods."""
    return published_table(source.leaderboard).to_markdown()


def differences_block(source: LeaderboardRecords) -> str:
    """Write the tables of differences from HPL() on the same samples, in percentage points."""
    found = {kind: difference_table(source.leaderboard, *kind) for kind in source.leaderboard.kinds()}
    parts = [f"### Minus `hpl`: {title_of(*kind)}\n\n{t.to_markdown()}" for kind, t in found.items() if t.rows]
    return "\n\n".join(parts) or "`hpl` was not run yet."


def summary_block(source: LeaderboardRecords) -> str:
    """Write how much of the plan was run, and how parameters were chosen."""
    leaderboard = source.leaderboard
    cells = [cell for column in leaderboard.cells.values() for cell in column.values()]
    run = [cell for cell in cells if not cell.missing]
    tuned = sum(cell.tuned for cell in run)
    several = sum(cell.seeds > 1 for cell in run)
    waiting = sum(cell.missing == "not run" for cell in cells)
    return (
        f"{len(run)} of {len(cells)} cells were run: {tuned} with parameters chosen on validation classes, "
        f"{len(run) - tuned} with defaults; {several} over several seeds. {waiting} were not run; "
        f"{len(cells) - len(run) - waiting} have a reason below their table. Slowest run of each data set, whitening "
        f"included: {_slowest(leaderboard)}."
    )


def _slowest(leaderboard: Leaderboard) -> str:
    """Return the slowest method on each data set and setting, with its seconds."""
    longest: dict[tuple[str, str], tuple[float, str]] = {}
    for column, cells in leaderboard.cells.items():
        for method, cell in cells.items():
            if not cell.missing:
                key = (column.data.title, column.setting.upper())
                longest[key] = max(longest.get(key, (0.0, "")), (cell.seconds, method))
    parts = [f"{title} {setting} `{method}` {seconds:.0f} s" for (title, setting), (seconds, method) in longest.items()]
    return ", ".join(parts) or "none yet"


def references_block(source: LeaderboardRecords) -> str:
    """Write the table of results of other implementations, compared with the same preparation here."""
    results, rows = Results(source.records), []
    for entry in source.plan.references:
        found = results.score(entry.task, entry.method, entry.params)
        own = source.leaderboard.cells[Column(entry.data, entry.features, "zsl")][entry.method]
        measured = _reference_numbers(None if found is None else 100 * found.mean, entry.figure)
        where = f"{entry.data.title}, {entry.features}"
        rows.append([Text(entry.method, "code"), where, f"{entry.figure:.1f}", *measured, cell_text(own)])
    head = ["method", "data, features", "theirs", "same preparation here", "difference", "on the leaderboard"]
    return Table(head, rows, text_columns=2).to_markdown()


def _reference_numbers(here: float | None, theirs: float) -> list[Content]:
    if here is None:
        return ["not run", ""]
    gap = here - theirs
    return [f"{here:.1f}", Text(signed(gap), "bold" if abs(gap) > _TOLERANCE else "")]


LEADERBOARD_BLOCKS: dict[str, Callable[[LeaderboardRecords], str]] = {
    "leaderboard-short": short_block,
    "leaderboard-summary": summary_block,
    "leaderboard-zsl": zsl_block,
    "leaderboard-gzsl": gzsl_block,
    "leaderboard-differences": differences_block,
    "leaderboard-methods": methods_block,
    "leaderboard-published": published_block,
    "leaderboard-references": references_block,
}
