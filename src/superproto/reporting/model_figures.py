"""SHOW: figures about a model: class accuracies, confusions, reliability, super-prototypes, the tree of classes.

Each function takes measurements by data set, and returns charts and tables by name for templates/figures.html.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from superproto.reporting.charts.charts import Series, bar_chart, line_chart, scatter_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.charts.trees import dendrogram
from superproto.reporting.table import Content, Table, TableCell, Text

Measured = Mapping[str, Mapping[str, Any]]
# A bin with fewer samples is not shown in the reliability diagram.
MIN_BIN_SAMPLES = 10
# A tree with more classes is folded when the page opens.
MAX_OPEN_TREE = 60


def draw_portrait(found: Measured) -> dict[str, Any]:
    """Draw charts beyond the paper: seen-unseen curve, reliability, and the class accuracies of each data set."""
    return {
        "trade": _trade_chart(found),
        "trade_table": _trade_table(found),
        "reliability": {setting: _reliability(found, setting) for setting in ("zsl", "gzsl")},
        "min_bin_samples": MIN_BIN_SAMPLES,
        "classes": {data: _classes(content) for data, content in found.items()},
    }


def draw_super_prototypes(found: Measured) -> dict[str, Any]:
    """List the super-prototypes, and draw the tree of classes by their codes."""
    drawn = {}
    for data, content in found.items():
        named = not content["super_prototypes"]["shown"][0]["attributes"][0][0].startswith("attribute ")
        tree = content["tree"]
        drawn[data] = {
            **draw_tree(tree["merges"], tree["names"], tree["unseen"], f"Tree of the classes of {data}"),
            **list_super_prototypes(content["super_prototypes"], named),
        }
    return {"data": drawn}


def draw_tree(
    merges: Sequence[Sequence[float]], names: Sequence[str], unseen: Sequence[bool], alt: str
) -> dict[str, Any]:
    """Draw the tree of the classes; return also their number, and whether the tree is folded."""
    tree = dendrogram(merges, names, unseen, alt=alt)
    return {"tree": tree, "n_classes": len(names), "folded": len(names) > MAX_OPEN_TREE}


def draw_digits(found: Measured) -> dict[str, Any]:
    """Draw the accuracy on digits with and without the unlabeled samples, for every choice of three unseen digits."""
    content = found["digits"]
    before, after = (np.array([choice[i] for choice in content["choices"]]) for i in (1, 2))
    chart = scatter_chart(
        before, after, [int(choice[0] == content["unseen"]) for choice in content["choices"]],
        ["a choice of three unseen digits", "the demo's"],
        hovers=[f"{', '.join(map(str, c))}: {percent(a)} → {percent(b)}" for c, a, b in content["choices"]],
        labels=("inductive accuracy", "transductive accuracy"), limits=((0, 1), (0, 1)), diagonal=True, text=percent,
        size=4.5, width=520, height=420, alt="Digits: accuracy with and without the pool",
    )  # fmt: skip
    spreads = {
        "inductive": mean_and_deviation(before),
        "transductive": mean_and_deviation(after),
    }
    return {"chart": chart, "n_choices": len(before), **spreads}


def mean_and_deviation(fractions: np.ndarray) -> str:
    """Format the mean ± standard deviation in percent."""
    return f"{100 * fractions.mean():.1f} ± {100 * fractions.std():.1f} %"


def list_super_prototypes(content: Mapping[str, Any], named: bool = True) -> dict[str, Any]:
    """Return the table of super-prototypes with the largest codes in unseen classes: attributes and classes of each.

    Without names of attributes (``named=False``) the column of attributes is omitted.
    """
    rows: list[list[Content]] = [
        [
            f"{entry['index'] + 1}",
            percent(entry["weight"]),
            *([TableCell((", ".join(name for name, _ in entry["attributes"]),), wrap=True)] if named else []),
            TableCell(_class_list(entry["classes"]), wrap=True),
        ]
        for entry in content["shown"]
    ]
    columns = [
        "super-prototype",
        "share of the unseen codes",
        *(["attributes above average in it"] if named else []),
        "classes made of it (weight)",
    ]
    table = Table(columns, rows, text_columns=len(columns))
    return {"super_prototypes": table, "n_shown": len(rows), "n_super_prototypes": content["number"]}


def _class_list(entries: Sequence[Sequence[Any]]) -> tuple[str | Text, ...]:
    parts: list[str | Text] = []
    for name, weight, unseen in entries:
        text = f"{name} ({f'{weight:+.2f}'.replace('-', '−')})"
        parts += [Text(text, "bold") if unseen else text, ", "]
    return tuple(parts[:-1])


def _trade_chart(found: Measured) -> Markup:
    lines = [
        Series(f"{data} ({c['trade']['ausuc']:.3f})", c["trade"]["unseen"], c["trade"]["seen"], marked=False)
        for data, c in found.items()
    ]
    return line_chart(
        lines, "accuracy on unseen classes, U", "accuracy on seen classes, S", alt="Seen-unseen curve",
        y_text=percent, x_limits=(0, 1), y_limits=(0, 1),
    )  # fmt: skip


def _trade_table(found: Measured) -> Table:
    rows = [
        [
            data,
            *(percent(content["trade"]["at"][name]) for name in ("unseen", "seen", "harmonic_mean")),
            f"{content['trade']['ausuc']:.3f}",
        ]
        for data, content in found.items()
    ]
    return Table(["HPL(), no bias added", "U", "S", "H", "AUSUC"], rows)


def _reliability(found: Measured, setting: str) -> Markup:
    lines = [_reliability_line(data, content["reliability"][setting]) for data, content in found.items()]
    lines.append(Series("perfect", [0, 1], [0, 1], dashed=True, marked=False))
    return line_chart(
        lines, "predicted probability", "accuracy", alt=f"Reliability, {setting}",
        x_limits=(0, 1), y_limits=(0, 1), y_text=percent, width=430,
    )  # fmt: skip


def _reliability_line(data: str, bins: Sequence[Mapping[str, Any]]) -> Series:
    bins = [b for b in bins if b["samples"] >= MIN_BIN_SAMPLES]
    hovers = [
        f"{data}: probability {percent(b['confidence'])}, accuracy {percent(b['accuracy'])}, {b['samples']} samples"
        for b in bins
    ]
    return Series(data, [b["confidence"] for b in bins], [b["accuracy"] for b in bins], hovers=hovers)


def _classes(content: Mapping[str, Any]) -> dict[str, Any]:
    entries = content["classes"]
    shown = entries if len(entries) <= 25 else [*entries[:12], *entries[-6:]]
    chart = bar_chart(
        [entry["name"] for entry in shown], [[entry["accuracy"] for entry in shown]], "accuracy", limits=(0, 1), bar=10,
        width=500, alt="Accuracy by class", text=percent,
        hovers=[[f"{e['name']}: {percent(e['accuracy'])} of {e['samples']}" for e in shown]],
    )  # fmt: skip
    pairs = confusion_table(content["pairs"][:12])
    return {"chart": chart, "cut": len(shown) < len(entries), "n_classes": len(entries), "pairs": pairs}


def confusion_table(pairs: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of confused pairs of classes: the true one, the predicted one, and how often."""
    rows = [[p["truth"], p["called"], p["samples"], percent(p["share"])] for p in pairs]
    return Table(["true class", "label", "samples", "share of the class"], rows, text_columns=2)
