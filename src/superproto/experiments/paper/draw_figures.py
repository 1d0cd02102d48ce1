"""The paper's figures, drawn from what was measured. Each takes {data set: content} and gives blocks for the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from superproto.experiments.paper.framework import framework
from superproto.experiments.paper.measurements import SWEEPS
from superproto.experiments.speed.machine import fitted_exponent
from superproto.reporting.charts.charts import Series, bar_chart, line_chart, scatter_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.markup import tag
from superproto.reporting.page import figure_with, note_paragraph, paragraph, side_by_side, table

FigureContent = dict[str, dict[str, Any]]


def draw_framework(_: FigureContent) -> list[Any]:
    """Fig. 4."""
    return [
        figure_with(
            framework(),
            "Samples place prototypes (encode); prototypes and descriptions share their codes over super-prototypes "
            "(align); the pool's labels follow from the prototypes and move them again (assign). Names are the fitted "
            "attributes of superproto.HPL.",
        )
    ]


def draw_convergence(found: FigureContent) -> list[Any]:
    """Fig. 5a."""
    kinds = list(dict.fromkeys(kind for content in found.values() for kind in content))
    charts = []
    for kind in kinds:
        lines = [
            Series(
                data,
                range(1, len(values) + 1),
                _falling(values),
                hovers=[f"{data}, sweep {i + 1}: {v:.6g}" for i, v in enumerate(values)],
            )
            for data, content in found.items()
            if (values := content.get(kind, {}).get("objective"))
        ]
        chart = line_chart(
            lines, "sweep", "objective (1 first, 0 last)", log=(True, False), says=f"Convergence, {kind}", width=430
        )
        charts.append(figure_with(chart, f"{kind[0].upper()}{kind[1:]}."))
    rows = [
        [data, *(str(content[kind]["sweeps"]) if kind in content else "–" for kind in kinds)]
        for data, content in found.items()
    ]
    rising = sum(np.any(np.diff(c[kind]["objective"]) > 0) for c in found.values() for kind in c)
    return [
        paragraph(f"The objective never rises: it rose in {rising} of {sum(map(len, found.values()))} fits."),
        side_by_side(*charts),
        table(["sweeps until it rests", *kinds], rows),
        note_paragraph("The paper: at most 100 iterations, usually fewer than 60."),
    ]


def draw_timing(found: FigureContent) -> list[Any]:
    """Fig. 5b."""
    kinds = list(dict.fromkeys(kind for content in found.values() for kind in content))
    charts = []
    rows: list[list[str]] = []
    for kind in kinds:
        lines = []
        for data, content in found.items():
            points = content.get(kind, [])
            sizes, sweep = [p["pool"] for p in points], [p["sweep_seconds"] for p in points]
            hovers = [
                f"{data}, {p['pool']} samples: {p['sweeps']} sweeps of {p['sweep_seconds']:.3g} s, {p['seconds']:.3g} s"
                for p in points
            ]
            lines.append(Series(data, sizes, sweep, hovers=hovers))
            total = [p["seconds"] for p in points]
            rows.append(
                [
                    data,
                    kind,
                    f"{fitted_exponent(sizes, sweep):.2f}",
                    f"{fitted_exponent(sizes, total):.2f}",
                    f"{total[-1]:.1f}",
                ]
            )
        chart = line_chart(
            lines,
            "samples in the pool",
            "seconds of one core for a sweep",
            log=(True, True),
            says=f"Time against pool size, {kind}",
            width=430,
        )
        charts.append(figure_with(chart, f"{kind[0].upper()}{kind[1:]}."))
    return [
        side_by_side(*charts),
        table(
            ["data", "model", "exponent of a sweep", "exponent of the fit", "fit of all, s of one core"], rows, left=2
        ),
        note_paragraph(
            f"Fits of at most {SWEEPS} sweeps on a tenth to all of the pool. Exponents c of seconds ∝ samples^c, by "
            "least squares of the logarithms. The paper claims linear time (c = 1) for one iteration; below 1, work "
            "that does not depend on the pool (the Gram matrix of the labeled samples, the eigendecompositions, the "
            "codes) weighs more than the pool."
        ),
    ]


def draw_predictability(found: FigureContent) -> list[Any]:
    """Fig. 3."""
    blocks: list[Any] = []
    for data, content in found.items():
        entries = content["attributes"]
        shown = entries if len(entries) <= 50 else [*entries[:20], *entries[-20:]]
        chart = bar_chart(
            [name for name, _, _ in shown],
            [[0.5 if np.isnan(auc) else auc for _, auc, _ in shown]],
            "area under the curve (0.5: guessing)",
            limits=(0.3, 1.0),
            reference=0.5,
            bar=10,
            says=f"How well each attribute of {data} is foretold on classes not trained on",
            hovers=[[f"{name}: area {auc:.3f}, correlation {r:.2f}" for name, auc, r in shown]],
            text=lambda value: f"{value:.2f}",
        )
        cut = "" if shown is entries else f" The 20 most and the 20 least visible of {len(entries)}."
        blocks.append(
            figure_with(
                chart,
                f"{data}: how well each attribute is foretold from the features on classes that were not "
                f"trained on, over {content['folds']} folds of classes.{cut} " + " ".join(content["says"]),
            )
        )
    return blocks


def draw_embedding(found: FigureContent) -> list[Any]:
    """Fig. 6."""
    blocks: list[Any] = []
    for data, content in found.items():
        unseen = content["unseen"]
        number = {c: i for i, c in enumerate(unseen)}
        names = [content["names"][c] for c in unseen]
        truth = content["truth"]
        panels = []
        for title, labels in (
            ("true labels", truth),
            ("predicted, ZSL", content["zsl"]),
            ("predicted, GZSL", content["gzsl"]),
        ):
            hovers = [
                f"{content['names'][t]}" + ("" if t == p else f", called {content['names'][p]}")
                for t, p in zip(truth, labels)
            ]
            chart = scatter_chart(
                content["x"], content["y"],
                [number.get(p, len(unseen)) for p in labels],
                [*names, "a seen class"],
                hovers=hovers, size=2.6, width=335, height=320, with_legend=title == "true labels",
                hollow=[p not in number for p in labels],
                says=f"t-SNE of {data}, {title}",
            )  # fmt: skip
            right = float(np.mean(np.equal(truth, labels)))
            panels.append(
                figure_with(
                    chart, f"{title}" + ("" if labels is truth else f": {percent(right)} of these points right")
                )
            )
        blocks += [tag("h3", data), side_by_side(*panels)]
    return [
        paragraph(
            "Samples of the unseen classes (at most 1000) by t-SNE in the whitened space; the same points three times."
        ),
        *blocks,
    ]


def draw_parameters(found: FigureContent) -> list[Any]:
    """Fig. 7."""
    charts = []
    for name, says in {
        "rho": "ρ: samples against structure",
        "omega": "ω: descriptions against prototypes in the codes",
        "alpha": "α: unseen against seen part",
        "theta": "θ: super-prototypes for each class",
    }.items():
        lines = [
            Series(
                data,
                content["curves"][name]["values"],
                content["curves"][name][which],
                dashed=which == "test",
                hovers=[
                    f"{data}, {which} classes, {says.partition(':')[0]} = {value:g}: {percent(accuracy)}"
                    for value, accuracy in zip(content["curves"][name]["values"], content["curves"][name][which])
                ],
            )
            for data, content in found.items()
            for which in ("validation", "test")
        ]
        chart = line_chart(
            lines, says.partition(":")[0], "per-class accuracy", says=says, y_text=percent, width=470, x_limits=(0, 1)
        )
        default = next(iter(found.values()))["defaults"][name]
        shown = "as many as seen classes" if default is None else f"{default:g}"
        charts.append(figure_with(chart, f"{says}. Default: {shown}."))
    return [
        paragraph(
            "One parameter varies, the others keep their defaults. Solid: validation classes, which are seen classes "
            "held out; dashed: the test classes, shown for comparison and used for no choice."
        ),
        side_by_side(*charts[:2]),
        side_by_side(*charts[2:]),
    ]


def _falling(values: Sequence[float]) -> list[float]:
    """1 for the first value, 0 for the last."""
    span = (values[0] - values[-1]) or 1.0
    return [(value - values[-1]) / span for value in values]
