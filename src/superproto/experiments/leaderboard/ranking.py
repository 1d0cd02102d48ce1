"""RESEARCH: the leaderboard from records: means over seeds, the best of each column, and significant differences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from superproto.baselines.registry import make_model, parameters_of
from superproto.evaluation import bootstrap
from superproto.evaluation.bootstrap import Difference, bootstrap_correctness, difference_of
from superproto.experiments.plans import FEATURES, REFERENCE, SETTINGS, Data, LeaderboardPlan, Part
from superproto.experiments.records import Record
from superproto.experiments.runner import CALIBRATED
from superproto.metrics import Floats

YARDSTICK = "hpl"
_NAMES = {"zsl": ("per_class_accuracy",), "gzsl": ("unseen", "seen", "harmonic_mean")}
_REPEATS = 1000


@dataclass(frozen=True)
class Column:
    """One data set, one kind of features, one setting."""

    data: Data
    features: str
    setting: str


@dataclass(frozen=True)
class Cell:
    """The result of a method in a column: mean scores over its seeds, as fractions, and their standard deviations.

    `missing` is the reason if there are no runs. `calibrated` has U, S and H of calibrated stacking, as means over the
    seeds that have them. `best` marks the highest score of the column. `level` means that the 95 % interval of the
    difference from the best contains 0. `against` is the difference from HPL() on the same samples.
    """

    missing: str = ""
    means: tuple[float, ...] = ()
    spreads: tuple[float, ...] = ()
    calibrated: tuple[float, ...] = ()
    seeds: int = 0
    seconds: float = 0.0
    chosen: str = ""
    best: bool = False
    level: bool = False
    against: Difference | None = None
    draws: Floats | None = field(default=None, repr=False, compare=False)

    @property
    def score(self) -> float:
        """The main score: per-class accuracy, or H."""
        return self.means[-1]

    @property
    def tuned(self) -> bool:
        """Whether the parameters were chosen on validation classes."""
        return self.chosen.startswith("tuned")


@dataclass(frozen=True)
class Leaderboard:
    """The cells of the leaderboard, by column and method."""

    plan: LeaderboardPlan
    cells: Mapping[Column, Mapping[str, Cell]]

    def columns(self, setting: str, features: str) -> list[Column]:
        """Return the columns of a setting and a kind of features."""
        return [column for column in self.cells if (column.setting, column.features) == (setting, features)]

    def kinds(self) -> list[tuple[str, str]]:
        """Return the pairs (setting, features) that have columns."""
        shown = {(column.setting, column.features) for column in self.cells}
        return [(s, f) for s in SETTINGS for f in FEATURES if (s, f) in shown]

    def ranked(self, setting: str, features: str) -> list[str]:
        """Return the methods by their mean over the columns. Methods with missing runs come last."""
        columns = self.columns(setting, features)

        def place(method: str) -> tuple[int, float]:
            scores = [cell.score for c in columns if not (cell := self.cells[c][method]).missing]
            return len(columns) - len(scores), -float(np.mean(scores or [0]))

        return sorted(self.plan.methods, key=place)


def build_leaderboard(
    plan: LeaderboardPlan,
    records: Iterable[Record],
    *,
    settings: Collection[str] = SETTINGS,
    features: Collection[str] = FEATURES,
    data: Collection[str] = (),
) -> Leaderboard:
    """Build the leaderboard of the plan, or of a part of it, from records."""
    runs = _by_cell(records)
    parts = [p for p in plan.parts if p.features in features and (not data or p.data.name in data)]
    cells: dict[Column, dict[str, Cell]] = {}
    for setting in SETTINGS:
        if setting in settings:
            for name in dict.fromkeys(part.data.name for part in parts):
                own = [part for part in parts if part.data.name == name]
                cells.update(_compared(plan, own, setting, runs))
    order = [Column(data, kind, setting) for setting in SETTINGS for kind in FEATURES for data in plan.data]
    return Leaderboard(plan, {column: cells[column] for column in order if column in cells})


def _by_cell(records: Iterable[Record]) -> dict[tuple[str, str, str, str], list[Record]]:
    """Group runs by data set, setting, features and method, in the order of the file, without reference runs."""
    found: dict[tuple[str, str, str, str], list[Record]] = {}
    for record in records:
        if record.kind == "run" and record.chosen != REFERENCE:
            features = "raw" if record.params.get("whiten") is False else "whitened"
            found.setdefault((record.task, record.setting, features, record.method), []).append(record)
    return found


def _compared(
    plan: LeaderboardPlan, parts: Sequence[Part], setting: str, runs: Mapping[tuple[str, str, str, str], list[Record]]
) -> dict[Column, dict[str, Cell]]:
    """Return the columns of one data set and setting, with the same bootstrap draws for all methods."""
    chosen: dict[tuple[Part, str], list[Record]] = {}
    for part in parts:
        for method in plan.methods:
            found = runs.get((part.data.name, setting, part.features, method), [])
            chosen[part, method] = _newest(found, method, part, plan)
    home = (parts[0].data.name, setting, "whitened", YARDSTICK)
    yardstick = _newest(runs.get(home, []), YARDSTICK, parts[0], plan)
    draws = _draws([record for group in (*chosen.values(), yardstick) for record in group], setting)
    hpl = _cell(yardstick, setting, draws)
    columns = {}
    for part in parts:
        cells = {}
        for method in plan.methods:
            found = chosen[part, method]
            skipped = plan.skipped(method, part, setting)
            cells[method] = _cell(found, setting, draws) if found or not skipped else Cell(missing=skipped)
        columns[Column(part.data, part.features, setting)] = _marked(cells, hpl)
    return columns


def _newest(found: Sequence[Record], method: str, part: Part, plan: LeaderboardPlan) -> list[Record]:
    """Return one record for each seed, with the data and parameters of the newest record.

    The parameters of an untuned method must be the current defaults.
    """
    if method in plan.untuned:
        now = parameters_of(make_model(method, {} if method == YARDSTICK else {"whiten": part.whiten}))
        found = [record for record in found if record.params == now]
    if not found:
        return []
    last = found[-1]
    by_seed = {r.seed: r for r in found if (r.data, r.params) == (last.data, last.params)}
    return [by_seed[seed] for seed in sorted(by_seed)]


def _draws(records: Sequence[Record], setting: str) -> dict[str, Floats]:
    """Return bootstrap scores (repeats,) of every run by its key, with common draws; omit runs on other samples."""
    read: dict[str, bootstrap.Correctness] = {}
    for record in records:
        try:
            read[record.key] = bootstrap.unpack_correctness(record.scores.get("right"))
        except ValueError:
            continue
    if not read:
        return {}
    first = next(iter(read.values()))
    same = {k: r.right for k, r in read.items() if np.array_equal(r.classes, first.classes)}
    is_seen = first.seen if setting == "gzsl" else None
    table = bootstrap_correctness(
        first.classes, np.array(list(same.values()), float), is_seen=is_seen, repeats=_REPEATS
    )
    return dict(zip(same, table))


def _cell(found: Sequence[Record], setting: str, draws: Mapping[str, Floats]) -> Cell:
    """Return the means over seeds, of scores and of bootstrap draws."""
    names = _NAMES[setting]
    done = [record for record in found if all(name in record.scores for name in names)]
    if not done:
        return Cell(missing="; ".join(found[-1].notes) if found else "not run")
    scores = np.array([[float(record.scores[name]) for name in names] for record in done])
    own = [draws[record.key] for record in done if record.key in draws]
    calibrated = [[r.scores[CALIBRATED][name] for name in names] for r in done if CALIBRATED in r.scores]
    return Cell(
        means=tuple(scores.mean(axis=0).tolist()),
        spreads=tuple((scores.std(axis=0, ddof=1) if len(done) > 1 else np.zeros(len(names))).tolist()),
        calibrated=tuple(np.mean(calibrated, axis=0).tolist()) if calibrated else (),
        seeds=len(done),
        seconds=float(np.mean([record.seconds for record in done])),
        chosen=done[0].chosen,
        draws=np.mean(own, axis=0) if len(own) == len(done) else None,
    )


def _marked(cells: dict[str, Cell], hpl: Cell) -> dict[str, Cell]:
    """Mark the best cell and those that do not differ significantly from it; add every difference from HPL()."""
    present = {method: cell for method, cell in cells.items() if not cell.missing}
    if not present:
        return cells
    best = max(present.values(), key=lambda cell: cell.score)
    marked = dict(cells)
    for method, cell in present.items():
        gap = _difference(best, cell)
        level = cell is not best and gap is not None and gap.low <= 0 <= gap.high
        against = None if method == YARDSTICK else _difference(hpl, cell)
        marked[method] = replace(cell, best=cell.score == best.score, level=level, against=against)
    return marked


def _difference(first: Cell, second: Cell) -> Difference | None:
    if first.missing or second.missing or first.draws is None or second.draws is None:
        return None
    return difference_of(second.score - first.score, first.draws, second.draws)
