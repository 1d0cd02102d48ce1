"""Every figure by name: its title on the page, and the function that draws it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from superproto.experiments.paper.draw_figures import (
    draw_convergence,
    draw_embedding,
    draw_framework,
    draw_parameters,
    draw_predictability,
    draw_timing,
)
from superproto.reporting.model_figures import draw_digits, draw_portrait, draw_super_prototypes

Drawing = Callable[[dict[str, dict[str, Any]]], list[Any]]
DRAWINGS: dict[str, tuple[str, Drawing]] = {
    "digits": ("The embedded digits", draw_digits),
    "predictability": ("Figure 3: which attributes can be seen", draw_predictability),
    "framework": ("Figure 4: the framework", draw_framework),
    "convergence": ("Figure 5a: convergence", draw_convergence),
    "timing": ("Figure 5b: time against the size of the pool", draw_timing),
    "embedding": ("Figure 6: the pool, true and predicted", draw_embedding),
    "parameters": ("Figure 7: the parameters", draw_parameters),
    "portrait": ("Beyond the paper: a close look", draw_portrait),
    "super-prototypes": ("Beyond the paper: what super-prototypes mean", draw_super_prototypes),
}
