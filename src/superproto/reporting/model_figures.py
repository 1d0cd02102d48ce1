"""Beyond the paper, drawn: classes, mix-ups, doubt, the seen-unseen trade, super-prototypes and their tree, digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from superproto.reporting.charts.charts import Series, bar_chart, line_chart, scatter_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.charts.trees import dendrogram
from superproto.reporting.markup import Markup, join, tag
from superproto.reporting.page import figure_with, folded_section, note_paragraph, side_by_side, table

Content = dict[str, dict[str, Any]]
# A share of fewer samples says little.
_ENOUGH = 10


def draw_portrait(found: Content) -> list[Any]:
    """Beyond the paper: classes, mix-ups, reliability, the seen-unseen trade, super-prototypes and tree."""
    blocks: list[Any] = [
        tag("h3", "Seen against unseen"),
        _trade(found),
        tag("h3", "How far to trust a probability"),
        _reliability(found),
    ]
    for data, content in found.items():
        blocks += [tag("h3", f"Classes of {data}"), _classes(content)]
    return blocks


def draw_super_prototypes(found: Content) -> list[Any]:
    """The super-prototypes in words, and the tree that the codes induce."""
    blocks: list[Any] = []
    for data, content in found.items():
        tree = content["tree"]
        drawn = dendrogram(tree["merges"], tree["names"], tree["unseen"], says=f"Tree of the classes of {data}")
        figure = figure_with(
            drawn, "Classes joined by the likeness of their codes; hollow orange marks are unseen classes."
        )
        named = not content["super_prototypes"]["shown"][0]["attributes"][0][0].startswith("attribute ")
        blocks += [tag("h3", data), super_prototype_table(content["super_prototypes"], named)]
        blocks.append(
            figure
            if len(tree["names"]) <= 60
            else folded_section(f"The tree of all {len(tree['names'])} classes", figure)
        )
    return blocks


def draw_digits(found: Content) -> list[Any]:
    """The embedded digits, every choice of three."""
    content = found["digits"]
    before, after = (np.array([choice[i] for choice in content["choices"]]) for i in (1, 2))
    chart = scatter_chart(
        before, after, [int(choice[0] == content["unseen"]) for choice in content["choices"]],
        ["a choice of three unseen digits", "the demo's"],
        hovers=[f"{', '.join(map(str, c))}: {percent(a)} → {percent(b)}" for c, a, b in content["choices"]],
        labels=("inductive accuracy", "transductive accuracy"), limits=((0, 1), (0, 1)), diagonal=True, text=percent,
        size=4.5, width=520, height=420, says="Digits: accuracy with and without the pool",
    )  # fmt: skip
    return [
        figure_with(
            chart,
            f"Inductive {100 * before.mean():.1f} ± {100 * before.std():.1f} %, transductive "
            f"{100 * after.mean():.1f} ± {100 * after.std():.1f} % (mean ± standard deviation over all "
            f"{len(before)} choices).",
        )
    ]


def super_prototype_table(content: dict[str, Any], named: bool = True) -> Markup:
    """Each super-prototype that the unseen classes lean on: its share, its attributes, its classes."""
    rows = [
        [
            f"{entry['index'] + 1}",
            percent(entry["weight"]),
            *([tag("span", ", ".join(name for name, _ in entry["attributes"]), class_="wrap")] if named else []),
            tag("span", *_class_list(entry["classes"]), class_="wrap"),
        ]
        for entry in content["shown"]
    ]
    columns = [
        "super-prototype",
        "share of the unseen codes",
        *(["attributes above average in it"] if named else []),
        "classes made of it (weight)",
    ]
    intro = note_paragraph(
        f"The {len(rows)} of {content['number']} super-prototypes that the unseen classes lean on most; unseen classes "
        "in bold."
    )
    return join([intro, table(columns, rows, left=4)])


def _class_list(entries: Sequence[Sequence[Any]]) -> list[object]:
    parts: list[object] = []
    for name, weight, unseen in entries:
        text = f"{name} ({f'{weight:+.2f}'.replace('-', '−')})"
        parts += [tag("b", text) if unseen else text, ", "]
    return parts[:-1]


def _trade(found: Content) -> Markup:
    lines = [
        Series(f"{data} ({c['trade']['ausuc']:.3f})", c["trade"]["unseen"], c["trade"]["seen"], marked=False)
        for data, c in found.items()
    ]
    stands = [Series(data, [c["trade"]["at"]["unseen"]], [c["trade"]["at"]["seen"]]) for data, c in found.items()]
    chart = line_chart(
        lines,
        "accuracy on unseen classes, U",
        "accuracy on seen classes, S",
        says="Seen against unseen",
        y_text=percent,
        x_limits=(0, 1),
        y_limits=(0, 1),
    )
    rows = [
        [
            s.name,
            *(percent(found[s.name]["trade"]["at"][k]) for k in ("unseen", "seen", "harmonic_mean")),
            f"{found[s.name]['trade']['ausuc']:.3f}",
        ]
        for s in stands
    ]
    return side_by_side(
        figure_with(chart, "What a bias against seen classes can reach (area under the curve in brackets)."),
        join([table(["HPL(), no bias added", "U", "S", "H", "AUSUC"], rows)]),
    )


def _reliability(found: Content) -> Markup:
    charts = []
    for setting in ("zsl", "gzsl"):
        lines = [_reliability_line(data, content["reliability"][setting]) for data, content in found.items()]
        lines.append(Series("perfect", [0, 1], [0, 1], dashed=True, marked=False))
        chart = line_chart(
            lines,
            "predicted probability",
            "share that was right",
            says=f"Reliability, {setting}",
            x_limits=(0, 1),
            y_limits=(0, 1),
            y_text=percent,
            width=430,
        )
        says = f"{setting.upper()}: on the dashed line probabilities mean what they say. Bins of at least {_ENOUGH}."
        charts.append(figure_with(chart, says))
    return side_by_side(*charts)


def _reliability_line(data: str, bins: Sequence[dict[str, Any]]) -> Series:
    bins = [b for b in bins if b["samples"] >= _ENOUGH]
    hovers = [
        f"{data}: {percent(b['confidence'])} sure, {percent(b['accuracy'])} right, {b['samples']} samples" for b in bins
    ]
    return Series(data, [b["confidence"] for b in bins], [b["accuracy"] for b in bins], hovers=hovers)


def _classes(content: dict[str, Any]) -> Markup:
    entries = content["classes"]
    shown = entries if len(entries) <= 25 else [*entries[:12], *entries[-6:]]
    chart = bar_chart(
        [entry["name"] for entry in shown], [[entry["accuracy"] for entry in shown]], "accuracy", limits=(0, 1), bar=10,
        width=500,
        says="Accuracy by class", text=percent,
        hovers=[[f"{e['name']}: {percent(e['accuracy'])} of {e['samples']}" for e in shown]],
    )  # fmt: skip
    cut = "" if shown is entries else f"The 12 hardest and the 6 easiest of {len(entries)} unseen classes."
    rows = [[p["truth"], p["called"], str(p["samples"]), percent(p["share"])] for p in content["pairs"][:12]]
    pairs = table(["is", "called", "samples", "of the class"], rows, left=2)
    return side_by_side(
        figure_with(chart, cut or "All unseen classes, the hardest first."),
        join([note_paragraph("Mixed up most"), pairs]),
    )
