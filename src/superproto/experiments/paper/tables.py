"""RESEARCH: Tables II to VI with published and measured values. All values are read from files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from superproto.experiments.paper.comparison import Direction, directions
from superproto.experiments.paper.published import DATASETS, Row, published_rows
from superproto.experiments.plans import Data, PaperTable, Plan, Variant, settings_of
from superproto.experiments.records import Results, Score
from superproto.reporting.table import Content, Table, TableCell, Text

NO_DATA = TableCell((Text("no data", "quiet"),), hover="This data set is not available: see --data.")
NOT_RUN = Text("not run", "quiet")
NOT_GIVEN = Text("–", "quiet")
_OURS = {"prototypes": "prototypes from descriptions", "hpl": "HPL(), the default here"}
_TYPES = {"inductive": "ind.", "transductive": "trans."}
_SIZES = ("attributes", "classes", "train_classes", "val_classes", "unseen_classes", "samples")
_SPLITS = ("ss_labeled", "ss_unseen", "ps_labeled", "ps_seen", "ps_unseen")
_GENERALIZED = ("unseen", "seen", "harmonic_mean")


def measured_data(plan: Plan, results: Results) -> list[Data]:
    """Return the data sets of the plan that have records."""
    return [data for data in plan.data if data.name in results.tasks()]


def data_sets_table(plan: Plan, results: Results) -> Table:
    """Return Table II: the sizes of the paper's data sets, and of the available ones."""
    published, found, keys = published_rows("II"), results.figure("sizes"), (*_SIZES, *_SPLITS)
    rows: list[list[Content]] = [
        [f"{row.dataset} (paper)", *(_count(row.values, key) for key in keys)] for row in published
    ]
    for data in plan.data:
        if data.name in found:
            own = [_count(found[data.name], key) for key in keys]
            rows.append([f"{data.title} ({data.features}, at hand)", *own])
        else:
            rows.append([f"{data.title} ({data.features})", NO_DATA, *[""] * (len(keys) - 1)])
    columns = ["data set", "k", "all", "train", "val", "unseen", "images", "labeled", "unseen"]
    columns += ["labeled", "seen", "unseen"]
    groups = [("", 2), ("classes", 4), ("", 1), ("images, SS", 2), ("images, PS", 3)]
    styles = [""] * len(published) + ["ours rule"] + ["ours"] * (len(plan.data) - 1)
    return Table(columns, rows, groups=groups, styles=styles)


def accuracy_table(plan: Plan, results: Results, chosen: PaperTable) -> Table:
    """Return Table III or IV: per-class accuracy in percent; measured cells are plain / whitened."""
    published = published_rows("III" if chosen.number == 3 else "IV")
    data = [entry for entry in measured_data(plan, results) if results.has(entry.name, chosen.protocol)]
    sets = [name for name in DATASETS if any(name in row.values for row in published)]
    with_features = chosen.number == 3
    best = {name: max(row.values.get(name, 0) for row in published) for name in sets}
    cell = _accuracy_cell(results, chosen)
    heading, tail = _others(plan, data)
    rows: list[list[Content]] = []
    for row in published:
        words = [_TYPES[row.type], row.method, *([row.features] if with_features else []), row.model]
        numbers = [_published(row.values.get(name), best[name]) for name in sets]
        rows.append([*words, *numbers, *(cell(entry, row.ours) for entry in data), *tail])
    styles = _rules(rows)
    for method in _not_published(chosen, published):
        words = ["", _OURS.get(method, method), *([""] if with_features else []), ""]
        rows.append([*words, *[NOT_GIVEN] * len(sets), *(cell(entry, method) for entry in data), *tail])
        styles.append("ours")
    first = ["type", "method", *(["features"] if with_features else []), "model"]
    columns = [*first, *sets, *(_heading(entry) for entry in data), *heading]
    width = len(data) + len(tail)
    groups = [("", len(first)), ("published, %", len(sets)), ("measured here, %: plain / whitened features", width)]
    return Table(columns, rows, text_columns=len(first), groups=groups, styles=styles)


def generalized_table(plan: Plan, results: Results, chosen: PaperTable) -> Table:
    """Return Table V: U, S and H in percent; measured methods have a row for plain and one for whitened features."""
    published, data = published_rows("V"), measured_data(plan, results)
    heading, tail = _others(plan, data)
    sets = DATASETS[:4]
    rows: list[list[Content]] = []

    def add(words: list[str], numbers: Sequence[Content], method: str, params: dict[str, Any]) -> None:
        rows.append([*words, *numbers, *(_generalized(results, entry, method, params) for entry in data), *tail])

    for row in published:
        numbers = [_three(row.values.get(name)) for name in sets]
        for params in settings_of(row.ours) if row.ours in chosen.methods else [{}]:
            add([_TYPES[row.type], row.method, _features(params)], numbers, row.ours, params)
            numbers = [""] * len(sets)
    styles = _rules(rows)
    for method in _not_published(chosen, published):
        add(["", _OURS.get(method, method), "whitened"], [NOT_GIVEN] * len(sets), method, {})
        styles.append("ours")
    groups = [("", 3), ("published: U S H, %", len(sets)), ("measured here: U S H, %", len(data) + len(tail))]
    columns = ["type", "method", "features", *sets, *(_heading(entry) for entry in data), *heading]
    return Table(columns, rows, text_columns=3, groups=groups, styles=styles)


def ablation_tables(plan: Plan, results: Results) -> dict[str, Table]:
    """Return Table VI in two parts, accuracy and seconds, measured with plain and with whitened features."""
    return {
        "Accuracy, %": _ablation(plan, results, "accuracy", "per_class_accuracy"),
        "Time, seconds (measured: of one core)": _ablation(plan, results, "seconds", "cpu_seconds"),
    }


@dataclass(frozen=True)
class DirectionTables:
    """Comparisons with Table VI of the paper: a summary sentence, those that differ, and the others."""

    summary: str
    differing: Table
    others: Table


def direction_tables(plan: Plan, results: Results) -> DirectionTables | None:
    """Compare measured differences with Table VI of the paper; return None if none was measured."""
    found = directions(plan, results)
    if not found:
        return None
    counts = [sum(d.agrees is kind for d in found) for kind in (True, None, False)]
    summary = (
        f"Of {len(found)} comparisons with the paper's directions {counts[0]} agree, {counts[1]} show no difference "
        f"here, and {counts[2]} differ; each of the latter has its measurement beside it."
    )
    differing = [d for d in found if d.agrees is False]
    others = [d for d in found if d.agrees is not False]
    return DirectionTables(summary, _direction_table(differing), _direction_table(others))


def _direction_table(found: list[Direction]) -> Table:
    rows: list[list[Content]] = [
        [
            d.ablation,
            TableCell((f"{d.variant} against {d.reference}",), wrap=True),
            f"{d.data}{', whitened' if d.whitened else ''}",
            _changes(d, d.published, d.published_range),
            _changes(d, d.here),
            {None: "level", True: "agrees", False: "differs"}[d.agrees],
            TableCell((d.reason,), wrap=True) if d.agrees is not True else "",
        ]
        for d in found
    ]
    columns = ["", "compared", "data", "paper: mean (range)", "here", "direction", "measured here"]
    return Table(columns, rows, text_columns=3)


def _changes(direction: Direction, value: float, span: Sequence[float] = ()) -> str:
    accuracy = direction.measure == "accuracy"
    text = f"{round(value, 1) + 0.0:+.1f} points" if accuracy else f"time × {value:.2f}"
    ends = " to ".join(f"{end:+.1f}" if accuracy else f"{end:.2f}" for end in span)
    return (f"{text} ({ends})" if ends else text).replace("-", "−")


def _ablation(plan: Plan, results: Results, measure: str, name: str) -> Table:
    published = {(r.ablation, r.method): r for r in published_rows("VI") if r.measure == measure}
    data = [entry for entry in measured_data(plan, results) if entry.allows("hpl1")]
    plain = [entry for entry in data if entry.plain_ablations]
    columns = [(False, entry) for entry in plain] + [(True, entry) for entry in data]
    sets, (heading, tail) = DATASETS[:4], _others(plan, measured_data(plan, results))
    scale, unit = (100, "%") if measure == "accuracy" else (1, "s")
    rows: list[list[Content]] = []
    for ablation in plan.ablations:
        for variant in ablation.variants:
            row = published[ablation.index, variant.row]
            own = [_variant(results, entry, variant, whiten, name, scale) for whiten, entry in columns]
            rows.append([ablation.index, variant.row, *(f"{row.values[s]:.1f}" for s in sets), *own, *tail])
    groups = [("", 2), (f"published, {unit}", 4), (f"as published, {unit}", len(plain))]
    groups += [(f"whitened, {unit}", len(data)), ("", len(tail))]
    head = ["ablation", "variant", *sets, *(_heading(entry) for _, entry in columns), *heading]
    return Table(head, rows, text_columns=2, groups=groups, styles=_rules(rows))


def _variant(results: Results, data: Data, variant: Variant, whiten: bool, name: str, scale: float) -> Content:
    score = results.value(name, data.name, variant.method, {**variant.params, "whiten": whiten})
    return NOT_RUN if score is None else _number(score, scale)


def _accuracy_cell(results: Results, chosen: PaperTable) -> Callable[[Data, str], Content]:
    where = {"setting": chosen.setting, "protocol": chosen.protocol}

    def cell(data: Data, method: str) -> Content:
        if method not in chosen.methods:
            return NOT_GIVEN
        headline = "top5" if data.dataset == "ImageNet" else "per_class_accuracy"
        found = [results.value(headline, data.name, method, params, **where) for params in settings_of(method)]
        if all(score is None for score in found):
            return NOT_RUN if data.allows(method) and results.has(data.name, chosen.protocol) else NOT_GIVEN
        first, *others = (NOT_RUN if score is None else _number(score) for score in found)
        return TableCell((first, *(part for text in others for part in (" / ", text))))

    return cell


def _generalized(results: Results, data: Data, method: str, params: dict[str, Any]) -> Content:
    if not method:
        return NOT_GIVEN
    found = [results.value(name, data.name, method, params, setting="gzsl") for name in _GENERALIZED]
    return NOT_GIVEN if found[0] is None else _three({n: 100 * s.mean for n, s in zip(_GENERALIZED, found) if s})


def _three(values: dict[str, float] | None) -> Content:
    """Format U, S and, in bold, H."""
    if not values:
        return NOT_GIVEN
    text = [f"{values[n]:.1f}" if n in values else "–" for n in ("unseen", "seen")]
    return TableCell((f"{' '.join(text)} ", Text(f"{values['harmonic_mean']:.1f}", "bold")))


def _published(value: float | None, best: float) -> Content:
    return NOT_GIVEN if value is None else Text(f"{value:.1f}", "bold" if value == best else "")


def _number(score: Score, scale: float = 100) -> str:
    spread = f" ± {scale * score.spread:.1f}" if score.trials > 1 and score.spread else ""
    return f"{scale * score.mean:.1f}{spread}"


def _count(values: dict[str, Any], key: str) -> Content:
    return f"{values[key]}" if values.get(key) is not None else NOT_GIVEN


def _features(params: dict[str, Any]) -> str:
    return "whitened" if params.get("whiten") else "plain"


def _not_published(chosen: PaperTable, published: Sequence[Row]) -> list[str]:
    """Return the methods without published results."""
    return [method for method in chosen.methods if method not in {row.ours for row in published}]


def _rules(rows: Sequence[Sequence[Content]]) -> list[str]:
    """Put a line above every row whose first cell differs from that of the row before."""
    return ["rule" if i and row[0] != rows[i - 1][0] else "" for i, row in enumerate(rows)]


def _heading(data: Data) -> Content:
    return TableCell((data.title.split(" ")[0], Text(data.features, "small")))


def _others(plan: Plan, shown: list[Data]) -> tuple[list[Content], list[Content]]:
    """Return the heading and the cell of the column that stands for all omitted data sets, if there are any."""
    missing = [data for data in plan.data if data not in shown]
    if not missing:
        return [], []
    names = ", ".join(f"{data.title} {data.features}" for data in missing)
    return [TableCell(("others", Text(f"{len(missing)} data sets", "small")), hover=names)], [NO_DATA]
