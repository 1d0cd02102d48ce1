"""The accuracy to expect on classes without labels, as a model keeps it."""

from __future__ import annotations

from typing import NamedTuple


class Forecast(NamedTuple):
    """The per-class accuracy to expect on the unseen classes, and that of guessing; NaN where too few are seen."""

    accuracy: float
    chance: float


NO_FORECAST = Forecast(float("nan"), float("nan"))
