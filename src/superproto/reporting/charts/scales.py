"""Scale numbers to pixels, linearly or logarithmically, with round ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Scale:
    """A map of low to start and high to end, linear or logarithmic between them."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, value = (
            (math.log10(v) for v in (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        )
        return self.start + (self.end - self.start) * (float(value) - low) / (high - low)

    def ticks(self, about: int = 5) -> list[float]:
        """Return round numbers inside the scale: powers of ten (times 2 and 5 if few), or multiples of 1, 2 or 5."""
        if self.log:
            return _log_ticks(self.low, self.high)
        step = _round_step((self.high - self.low) / about)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def scale_over(
    values: Iterable[float],
    start: float,
    end: float,
    *,
    log: bool = False,
    limits: tuple[float | None, float | None] = (None, None),
) -> Scale:
    """Return a scale that contains all finite values with a margin. `limits` fix either end."""
    array = np.asarray([v for v in values if math.isfinite(v) and (v > 0 or not log)], dtype=float)
    low, high = (float(array.min()), float(array.max())) if len(array) else (1.0, 2.0)
    if log:
        low, high = low / 1.15, high * 1.15
    else:
        # A span below the rounding error of its numbers would put every tick at the same place.
        room = 0.05 * (high - low) if high - low > 1e-9 * max(abs(low), abs(high)) else 0.05 * abs(high) or 0.5
        low, high = low - room, high + room
    low = low if limits[0] is None else limits[0]
    high = high if limits[1] is None else limits[1]
    return Scale(low, high if high > low else low + 1.0, start, end, log)


def label_of(value: float) -> str:
    """Format the number of a tick.

    >>> label_of(0.30000000000000004), label_of(20000), label_of(-2.0)
    ('0.3', '20,000', '−2')
    """
    if value != 0 and (abs(value) >= 1e7 or abs(value) < 1e-4):
        text = f"{value:.3g}"
    elif abs(value) >= 1e4:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.6g}"
    return text.replace("-", "−")


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1,) if math.log10(high / low) > 3 else (1, 2, 5)
    return [factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high]
