"""RESEARCH: draw the paper's figures from measurements.

Each function takes {data set: content of its record} and returns charts and tables by name. The macro with the name of
the figure in reporting/templates/figures.html arranges them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from superproto.experiments.paper.measurements import TIMED_ITERATIONS
from superproto.experiments.speed.machine import fitted_exponent
from superproto.reporting.charts.charts import Series, bar_chart, line_chart, scatter_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.model_figures import Measured, draw_digits, draw_portrait, draw_super_prototypes
from superproto.reporting.table import Table

_PARAMETERS = {
    "rho": "ρ: weight of the samples relative to the structure",
    "omega": "ω: weight of the descriptions relative to the prototypes in the codes",
    "alpha": "α: weight of the unseen relative to the seen classes",
    "theta": "θ: super-prototypes per class",
}


def draw_framework(_: Measured) -> dict[str, Any]:
    """Return nothing: Fig. 4 is the static file templates/framework.svg."""
    return {}


def draw_convergence(found: Measured) -> dict[str, Any]:
    """Draw Fig. 5a: the objective by iteration, and the number of iterations until convergence."""
    kinds = _kinds(found)
    rows = [
        [data, *(str(content[kind]["sweeps"]) if kind in content else "–" for kind in kinds)]
        for data, content in found.items()
    ]
    return {
        "charts": [(_convergence_chart(found, kind), _sentence(kind)) for kind in kinds],
        "iterations": Table(["iterations until convergence", *kinds], rows),
        "n_rising": sum(bool(np.any(np.diff(c[kind]["objective"]) > 0)) for c in found.values() for kind in c),
        "n_fits": sum(map(len, found.values())),
    }


def _convergence_chart(found: Measured, kind: str) -> Markup:
    lines = [
        Series(
            data,
            range(1, len(values) + 1),
            _falling(values),
            hovers=[f"{data}, iteration {i + 1}: {v:.6g}" for i, v in enumerate(values)],
        )
        for data, content in found.items()
        if (values := content.get(kind, {}).get("objective"))
    ]
    return line_chart(
        lines, "iteration", "objective (1 first, 0 last)", log=(True, False), alt=f"Convergence, {kind}", width=430
    )


def draw_timing(found: Measured) -> dict[str, Any]:
    """Draw Fig. 5b: seconds of an iteration by the number of unlabeled samples, with fitted exponents."""
    kinds = _kinds(found)
    columns = ["data", "model", "exponent of an iteration", "exponent of the fit", "fit of all, s of one core"]
    rows = []
    for kind in kinds:
        for data, content in found.items():
            points = content.get(kind, [])
            sizes, iteration, total = ([p[key] for p in points] for key in ("pool", "sweep_seconds", "seconds"))
            exponents = (f"{fitted_exponent(sizes, seconds):.2f}" for seconds in (iteration, total))
            rows.append([data, kind, *exponents, f"{total[-1]:.1f}"])
    return {
        "charts": [(_timing_chart(found, kind), _sentence(kind)) for kind in kinds],
        "exponents": Table(columns, rows, text_columns=2),
        "max_iterations": TIMED_ITERATIONS,
    }


def _timing_chart(found: Measured, kind: str) -> Markup:
    lines = []
    for data, content in found.items():
        points = content.get(kind, [])
        hovers = [
            f"{data}, {p['pool']} samples: {p['sweeps']} iterations of {p['sweep_seconds']:.3g} s, {p['seconds']:.3g} s"
            for p in points
        ]
        lines.append(Series(data, [p["pool"] for p in points], [p["sweep_seconds"] for p in points], hovers=hovers))
    return line_chart(
        lines, "samples in the pool", "seconds of one core for an iteration", log=(True, True),
        alt=f"Time against pool size, {kind}", width=430,
    )  # fmt: skip


def draw_predictability(found: Measured) -> dict[str, Any]:
    """Draw Fig. 3: how well features of held-out classes predict each attribute."""
    drawn = {}
    for data, content in found.items():
        entries = content["attributes"]
        shown = entries if len(entries) <= 50 else [*entries[:20], *entries[-20:]]
        chart = bar_chart(
            [name for name, _, _ in shown], [[0.5 if np.isnan(auc) else auc for _, auc, _ in shown]],
            "area under the curve (0.5: chance)", limits=(0.3, 1.0), reference=0.5, bar=10,
            alt=f"How well features of held-out classes predict each attribute of {data}",
            hovers=[[f"{name}: area {auc:.3f}, correlation {r:.2f}" for name, auc, r in shown]],
            text=lambda value: f"{value:.2f}",
        )  # fmt: skip
        drawn[data] = {
            "chart": chart,
            "folds": content["folds"],
            "cut": len(shown) < len(entries),
            "n_attributes": len(entries),
            "summary": " ".join(content["says"]),
        }
    return {"data": drawn}


def draw_embedding(found: Measured) -> dict[str, Any]:
    """Draw Fig. 6: three panels with the same points, colored by true and by predicted classes."""
    return {"data": {data: _embedding_panels(data, content) for data, content in found.items()}}


def _embedding_panels(data: str, content: Mapping[str, Any]) -> list[tuple[Markup, str]]:
    truth = content["truth"]
    panels = [(_embedding_chart(data, "true labels", content, truth), "true labels")]
    for title, labels in (("predicted, ZSL", content["zsl"]), ("predicted, GZSL", content["gzsl"])):
        correct = percent(float(np.mean(np.equal(truth, labels))))
        panels.append((_embedding_chart(data, title, content, labels), f"{title}: {correct} of these points correct"))
    return panels


def _embedding_chart(data: str, title: str, content: Mapping[str, Any], labels: Sequence[int]) -> Markup:
    unseen, names, truth = content["unseen"], content["names"], content["truth"]
    number = {c: i for i, c in enumerate(unseen)}
    return scatter_chart(
        content["x"], content["y"],
        [number.get(p, len(unseen)) for p in labels],
        [*(names[c] for c in unseen), "a seen class"],
        hovers=[names[t] if t == p else f"{names[t]}, labeled {names[p]}" for t, p in zip(truth, labels)],
        size=2.6, width=335, height=320, with_legend=labels is truth,
        hollow=[p not in number for p in labels],
        alt=f"t-SNE of {data}, {title}",
    )  # fmt: skip


def draw_parameters(found: Measured) -> dict[str, Any]:
    """Draw Fig. 7: the accuracy as one parameter varies."""
    charts = []
    for name, title in _PARAMETERS.items():
        default = next(iter(found.values()))["defaults"][name]
        shown = "as many as seen classes" if default is None else f"{default:g}"
        charts.append((_parameter_chart(found, name, title), f"{title}. Default: {shown}."))
    return {"charts": charts}


def _parameter_chart(found: Measured, name: str, title: str) -> Markup:
    letter = title.partition(":")[0]
    lines = []
    for data, content in found.items():
        curve = content["curves"][name]
        for which in ("validation", "test"):
            hovers = [
                f"{data}, {which} classes, {letter} = {value:g}: {percent(accuracy)}"
                for value, accuracy in zip(curve["values"], curve[which])
            ]
            lines.append(Series(data, curve["values"], curve[which], dashed=which == "test", hovers=hovers))
    return line_chart(lines, letter, "per-class accuracy", alt=title, y_text=percent, width=470, x_limits=(0, 1))


def _kinds(found: Measured) -> list[str]:
    return list(dict.fromkeys(kind for content in found.values() for kind in content))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _falling(values: Sequence[float]) -> list[float]:
    """Scale values so that the first is 1 and the last is 0."""
    span = (values[0] - values[-1]) or 1.0
    return [(value - values[-1]) / span for value in values]


class Drawing(NamedTuple):
    """A figure: its title on the page, and the function that draws it."""

    title: str
    draw: Callable[[Measured], dict[str, Any]]

    def section(self, name: str, found: Measured) -> dict[str, Any]:
        """Return the figure's title, macro and charts for a page; the charts are None if nothing was measured."""
        measured = bool(found) or name == "framework"
        drawn = self.draw(found) if measured else None
        return {"title": self.title, "macro": name.replace("-", "_"), "drawn": drawn}


DRAWINGS = {
    "digits": Drawing("The embedded digits", draw_digits),
    "predictability": Drawing("Figure 3: predictability of the attributes", draw_predictability),
    "framework": Drawing("Figure 4: the framework", draw_framework),
    "convergence": Drawing("Figure 5a: convergence", draw_convergence),
    "timing": Drawing("Figure 5b: time by the number of unlabeled samples", draw_timing),
    "embedding": Drawing("Figure 6: unlabeled samples, true and predicted classes", draw_embedding),
    "parameters": Drawing("Figure 7: the parameters", draw_parameters),
    "portrait": Drawing("Beyond the paper: diagnostics", draw_portrait),
    "super-prototypes": Drawing("Beyond the paper: the super-prototypes", draw_super_prototypes),
}
