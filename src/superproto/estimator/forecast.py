"""SHARE: the accuracy to expect on classes without labels, as a fitted model stores it."""

from __future__ import annotations

from typing import NamedTuple


class Forecast(NamedTuple):
    """The per-class accuracy to expect on unseen classes, and the chance level; NaN if too few classes are seen."""

    accuracy: float
    chance: float


NO_FORECAST = Forecast(float("nan"), float("nan"))
