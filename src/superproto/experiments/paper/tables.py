"""Tables II to VI as HTML: what the paper reports beside what the records hold. No number is typed by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from superproto.experiments.paper.comparison import Direction, directions
from superproto.experiments.paper.published import DATASETS, published_rows
from superproto.experiments.plans import Data, PaperTable, Plan, Variant, settings_of
from superproto.experiments.records import Results, Score
from superproto.reporting.markup import Markup, join, tag
from superproto.reporting.page import folded_section, paragraph, table

NO_DATA = tag("span", "no data", class_="missing", title="This data set is not at hand: see --data.")
NOT_RUN = tag("span", "not run", class_="missing")
NOT_GIVEN = tag("span", "–", class_="missing")
_OURS = {"prototypes": "prototypes from descriptions", "hpl": "HPL(), the default here"}
_TYPES = {"inductive": "ind.", "transductive": "trans."}
_SIZES = ("attributes", "classes", "train_classes", "val_classes", "unseen_classes", "samples")
_SPLITS = ("ss_labeled", "ss_unseen", "ps_labeled", "ps_seen", "ps_unseen")


def measured_data(plan: Plan, results: Results) -> list[Data]:
    """The data sets of the plan that a record speaks of."""
    return [data for data in plan.data if data.name in results.tasks()]


def _missing_column(plan: Plan, shown: list[Data]) -> tuple[list[object], list[object]]:
    """The heading and the cell of the column that the data sets not shown share; nothing where all are shown."""
    missing = [data for data in plan.data if data not in shown]
    if not missing:
        return [], []
    names = ", ".join(f"{data.title} {data.features}" for data in missing)
    return [tag("span", "others", tag("small", f"{len(missing)} data sets"), title=names)], [NO_DATA]


def data_sets_table(plan: Plan, results: Results) -> Markup:
    """Table II: the paper's statistics, and those of the data at hand."""
    columns = ["data set", "k", "all", "train", "val", "unseen", "images", "labeled", "unseen"]
    columns += ["labeled", "seen", "unseen"]
    rows, classes = [], []
    for row in published_rows("II"):
        rows.append([f"{row.dataset} (paper)", *(_count(row.values, key) for key in (*_SIZES, *_SPLITS))])
        classes.append("")
    found = results.figure("sizes")
    for data in plan.data:
        if data.name in found:
            own = [_count(found[data.name], key) for key in (*_SIZES, *_SPLITS)]
            rows.append([f"{data.title} ({data.features}, at hand)", *own])
        else:
            rows.append([f"{data.title} ({data.features})", NO_DATA, *[""] * (len(_SIZES) + len(_SPLITS) - 1)])
        classes.append("ours rule" if len(rows) == len(published_rows("II")) + 1 else "ours")
    groups = [("", 2), ("classes", 4), ("", 1), ("images, SS", 2), ("images, PS", 3)]
    return table(columns, rows, classes=classes, groups=groups)


def accuracy_table(plan: Plan, results: Results, chosen: PaperTable) -> Markup:
    """Tables III and IV: per-class accuracy in percent; measured cells are plain / whitened."""
    published = published_rows("III" if chosen.number == 3 else "IV")
    data = [entry for entry in measured_data(plan, results) if results.has(entry.name, chosen.protocol)]
    sets = [name for name in DATASETS if any(name in row.values for row in published)]
    with_features = chosen.number == 3
    best = {name: max(row.values.get(name, 0) for row in published) for name in sets}
    cell = _accuracy_cell(results, chosen)
    heading, tail = _missing_column(plan, data)
    rows: list[list[object]] = []
    classes: list[str] = []
    for row in published:
        words: list[object] = [_TYPES[row.type], row.method, *([row.features] if with_features else []), row.model]
        numbers = [_published(row.values.get(name), best[name]) for name in sets]
        rows.append([*words, *numbers, *(cell(entry, row.ours) for entry in data), *tail])
        classes.append("rule" if len(rows) > 1 and rows[-2][0] != _TYPES[row.type] else "")
    for method in (m for m in chosen.methods if m not in {row.ours for row in published}):
        words = ["", _OURS.get(method, method), *([""] if with_features else []), ""]
        rows.append([*words, *[NOT_GIVEN] * len(sets), *(cell(entry, method) for entry in data), *tail])
        classes.append("ours")
    first = ["type", "method", *(["features"] if with_features else []), "model"]
    columns = [*first, *sets, *(_heading(entry) for entry in data), *heading]
    width = len(data) + len(tail)
    groups = [("", len(first)), ("published, %", len(sets)), ("measured here, %: plain / whitened features", width)]
    return table(columns, rows, classes=classes, left=len(first), groups=groups)


def generalized_table(plan: Plan, results: Results, chosen: PaperTable) -> Markup:
    """Table V: U, S and H in percent; each of our methods with plain and with whitened features in a row of its own."""
    published, data = published_rows("V"), measured_data(plan, results)
    heading, tail = _missing_column(plan, measured_data(plan, results))
    sets = DATASETS[:4]
    rows: list[list[object]] = []
    classes: list[str] = []

    def add(words: list[object], published: list[object], method: str, params: dict[str, Any], style: str) -> None:
        rows.append([*words, *published, *(_generalized(results, entry, method, params) for entry in data), *tail])
        classes.append(style)

    for row in published:
        starts = rows and rows[-1][0] != _TYPES[row.type]
        numbers = [_three(row.values.get(name)) for name in sets]
        for params in settings_of(row.ours) if row.ours in chosen.methods else [{}]:
            words: list[object] = [_TYPES[row.type], row.method, "whitened" if params.get("whiten") else "plain"]
            add(words, numbers, row.ours, params, "rule" if starts and not params.get("whiten") else "")
            numbers = [""] * len(sets)
    for method in (m for m in chosen.methods if m not in {row.ours for row in published}):
        add(["", _OURS.get(method, method), "whitened"], [NOT_GIVEN] * len(sets), method, {}, "ours")
    groups = [("", 3), ("published: U S H, %", len(sets)), ("measured here: U S H, %", len(data) + len(tail))]
    columns = ["type", "method", "features", *sets, *(_heading(entry) for entry in data), *heading]
    return table(columns, rows, classes=classes, left=3, groups=groups)


def ablation_tables(plan: Plan, results: Results) -> Markup:
    """Table VI: accuracy, then seconds; measured with plain and with whitened features."""
    return join(
        join([tag("h3", title), _ablation(plan, results, measure, name)])
        for title, measure, name in (
            ("Accuracy, %", "accuracy", "per_class_accuracy"),
            ("Time, seconds (measured: of one core)", "seconds", "cpu_seconds"),
        )
    )


def direction_tables(plan: Plan, results: Results) -> list[Markup]:
    """Table VI's directions against the paper's: those that differ with their measurement, the others folded."""
    found = directions(plan, results)
    if not found:
        return []
    counts = [sum(d.agrees is kind for d in found) for kind in (True, None, False)]
    says = (
        f"Of {len(found)} comparisons with the paper's directions {counts[0]} agree, {counts[1]} show no difference "
        f"here, and {counts[2]} differ; each of the latter has its measurement beside it."
    )
    differing = [d for d in found if d.agrees is False]
    others = [d for d in found if d.agrees is not False]
    return [
        paragraph(says),
        _direction_table(differing),
        folded_section("The other comparisons", _direction_table(others)),
    ]


def _direction_table(found: list[Direction]) -> Markup:
    rows = [
        [
            d.ablation,
            tag("span", f"{d.variant} against {d.reference}", class_="wrap"),
            f"{d.data}{', whitened' if d.whitened else ''}",
            _changes(d, d.published, d.published_range),
            _changes(d, d.here),
            {None: "level", True: "agrees", False: "differs"}[d.agrees],
            tag("span", d.says, class_="wrap left") if d.agrees is not True else "",
        ]
        for d in found
    ]
    columns = ["", "compared", "data", "paper: mean (range)", "here", "direction", "measured here"]
    return table(columns, rows, left=3)


def _changes(direction: Direction, value: float, span: Sequence[float] = ()) -> str:
    accuracy = direction.measure == "accuracy"
    text = f"{round(value, 1) + 0.0:+.1f} points" if accuracy else f"time × {value:.2f}"
    ends = " to ".join(f"{end:+.1f}" if accuracy else f"{end:.2f}" for end in span)
    return (f"{text} ({ends})" if ends else text).replace("-", "−")


def _ablation(plan: Plan, results: Results, measure: str, name: str) -> Markup:
    published = {(r.ablation, r.method): r for r in published_rows("VI") if r.measure == measure}
    data = [entry for entry in measured_data(plan, results) if entry.allows("hpl1")]
    plain = [entry for entry in data if entry.plain_ablations]
    columns = [(False, entry) for entry in plain] + [(True, entry) for entry in data]
    sets, rows, classes = DATASETS[:4], [], []
    heading, tail = _missing_column(plan, measured_data(plan, results))
    scale = 100 if measure == "accuracy" else 1
    for ablation in plan.ablations:
        for variant in ablation.variants:
            row = published[ablation.index, variant.row]
            own = [_variant(results, entry, variant, whiten, name, scale) for whiten, entry in columns]
            rows.append([ablation.index, variant.row, *(f"{row.values[s]:.1f}" for s in sets), *own, *tail])
            classes.append("rule" if len(rows) > 1 and rows[-2][0] != ablation.index else "")
    unit = "%" if measure == "accuracy" else "s"
    groups = [
        ("", 2),
        (f"published, {unit}", 4),
        (f"as published, {unit}", len(plain)),
        (f"whitened, {unit}", len(data)),
        ("", len(tail)),
    ]
    head = ["ablation", "variant", *sets, *(_heading(entry) for _, entry in columns), *heading]
    return table(head, rows, classes=classes, left=2, groups=groups)


def _variant(results: Results, data: Data, variant: Variant, whiten: bool, name: str, scale: float) -> object:
    score = results.value(name, data.name, variant.method, {**variant.params, "whiten": whiten})
    return NOT_RUN if score is None else _number(score, scale)


def _accuracy_cell(results: Results, chosen: PaperTable) -> Callable[[Data, str], object]:
    where = {"setting": chosen.setting, "protocol": chosen.protocol}

    def cell(data: Data, method: str) -> object:
        if method not in chosen.methods:
            return NOT_GIVEN
        headline = "top5" if data.dataset == "ImageNet" else "per_class_accuracy"
        found = [results.value(headline, data.name, method, params, **where) for params in settings_of(method)]
        if all(score is None for score in found):
            return NOT_RUN if data.allows(method) and results.has(data.name, chosen.protocol) else NOT_GIVEN
        return join((NOT_RUN if score is None else _number(score) for score in found), " / ")

    return cell


def _generalized(results: Results, data: Data, method: str, params: dict[str, Any]) -> object:
    if not method:
        return NOT_GIVEN
    names = ("unseen", "seen", "harmonic_mean")
    found = [results.value(name, data.name, method, params, setting="gzsl") for name in names]
    return NOT_GIVEN if found[0] is None else _three({n: 100 * s.mean for n, s in zip(names, found) if s})


def _three(values: dict[str, float] | None) -> object:
    if not values:
        return NOT_GIVEN
    text = [f"{values[n]:.1f}" if n in values else "–" for n in ("unseen", "seen")]
    return join([" ".join(text), " ", tag("b", f"{values['harmonic_mean']:.1f}")])


def _published(value: float | None, best: float) -> object:
    if value is None:
        return NOT_GIVEN
    return tag("b", f"{value:.1f}") if value == best else f"{value:.1f}"


def _number(score: Score, scale: float = 100) -> str:
    spread = f" ± {scale * score.spread:.1f}" if score.trials > 1 and score.spread else ""
    return f"{scale * score.mean:.1f}{spread}"


def _heading(data: Data) -> Markup:
    return join([data.title.split(" ")[0], tag("small", data.features)])


def _count(values: dict[str, Any], key: str) -> object:
    return f"{values[key]}" if values.get(key) is not None else NOT_GIVEN
