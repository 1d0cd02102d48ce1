"""SCORE: the search space of each method's parameters.

The spaces of HPL are listed explicitly. That of a baseline is derived from its constructor: every allowed word, and
numbers within a factor of their default. Parameters that do not define the model (iterations, tolerance) are not tuned,
nor are ``candidates`` and ``random_state``, which belong to the task.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from superproto.baselines.registry import METHODS, find_method, nearest
from superproto.errors import UserError


@dataclass(frozen=True)
class Span:
    """The numbers from ``low`` to ``high``: on a logarithmic scale with ``log``, integers with ``whole``.

    >>> Span(0.01, 1.0, log=True).points(3)
    [0.01, 0.1, 1.0]
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def points(self, n: int) -> list[float]:
        """Return n values spread over the span, including both ends."""
        spread = np.geomspace if self.log else np.linspace
        return list(dict.fromkeys(self.tidy(value) for value in spread(self.low, self.high, n).tolist()))

    def tidy(self, value: float) -> float:
        """Round a value to four significant digits, or to an integer with ``whole``."""
        return round(value) if self.whole else float(f"{value:.4g}")


Space = Mapping[str, Span | Sequence[Any]]
_WHITENING: Span | Sequence[Any] = (False, 0.03, 0.1, 0.3, 1.0)
_HPL: dict[str, Span | Sequence[Any]] = {
    "rho": Span(0.2, 0.95),
    # omega / (1 - omega) is the weight of descriptions in the codes: each value is about three times the one before.
    "omega": (0.5, 0.75, 0.9, 0.97, 0.99, 0.997),
    "alpha": Span(0.2, 0.95),
    "theta": (None, 0.3, 0.5, 0.7),
    "whiten": (True, 0.03, 0.1, 0.3, 1.0),
    "alignment_scale": Span(0.1, 2.0, log=True),
    "temperature": Span(0.003, 0.3, log=True),
}
_PAPER: dict[str, Span | Sequence[Any]] = {
    **{name: _HPL[name] for name in ("rho", "alpha", "theta")},
    "omega": Span(0.1, 0.9),
    "whiten": _WHITENING,
}
_WRITTEN_OUT = {"hpl": _HPL, "hpl-published": _PAPER, "hpl1": _PAPER}
_LEFT_ALONE = {"candidates", "random_state", "seen_bias", "tol", "verbose", "callback", "checkpoint", "seed"}
_FACTOR = 10.0


def default_space(method: str) -> dict[str, Span | Sequence[Any]]:
    """Return the default search space of a method.

    >>> default_space("prototypes")["kernel"]
    ('linear', 'rbf')
    """
    kind = find_method(method)
    accepted = inspect.signature(kind).parameters
    if method in _WRITTEN_OUT:
        return {name: values for name, values in _WRITTEN_OUT[method].items() if name in accepted}
    words: Mapping[str, tuple[str, ...]] = getattr(kind, "_choices", {})
    found = {name: _declared(name, entry.default, words, kind) for name, entry in accepted.items()}
    return {name: values for name, values in found.items() if values is not None}


def _declared(name: str, default: Any, words: Mapping[str, tuple[str, ...]], kind: type) -> Span | Sequence[Any] | None:
    """Return the values to try for one parameter of a constructor; None if it is not tuned."""
    if name in words:
        return words[name]
    if name == "whiten":
        return _WHITENING
    if name in _LEFT_ALONE or "iter" in name or "epoch" in name:
        return None
    if isinstance(default, bool):
        return (default, not default)
    if isinstance(default, int) and default > 0:
        return Span(max(1, default // 3), max(3, default * 3), log=True, whole=True)
    if isinstance(default, float) and default > 0:
        unbounded = name in (*getattr(kind, "_positive", ()), *getattr(kind, "_nonnegative", ())) or default >= 1
        return Span(default / _FACTOR, default * _FACTOR, log=True) if unbounded else Span(0.05, 0.95)
    return None


def check_space(method: str, space: Space | None) -> dict[str, Span | Sequence[Any]]:
    """Return the given space if it is valid for the method, or the method's default space."""
    if space is None:
        return default_space(method)
    accepted = [name for name in inspect.signature(METHODS[method]).parameters if name not in _LEFT_ALONE]
    for name, values in space.items():
        if name not in accepted:
            raise UserError(f"{method} has no parameter '{name}' to tune. {nearest(name, accepted)}")
        if isinstance(values, Span):
            if not (np.isfinite([values.low, values.high]).all() and values.low < values.high):
                raise UserError(f"space['{name}'] goes from {values.low} to {values.high}. Give the smaller end first.")
            if values.log and values.low <= 0:
                raise UserError(f"space['{name}'] starts at {values.low}, but a logarithmic span starts above 0.")
        elif isinstance(values, (str, bytes)) or not isinstance(values, Sequence) or not values:
            raise UserError(f"space['{name}'] is {values!r}. Give a Span, or a list of values to try.")
    if not space:
        raise UserError("space is empty. Name at least one parameter, or omit space to use the default.")
    return dict(space)


def default_values(method: str, space: Space) -> dict[str, Any]:
    """Return the defaults of the parameters of a space that lie within it."""
    accepted = inspect.signature(find_method(method)).parameters
    return {name: accepted[name].default for name, values in space.items() if _holds(values, accepted[name].default)}


def _holds(values: Span | Sequence[Any], value: Any) -> bool:
    if isinstance(values, Span):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and values.low <= value <= values.high
    return any(type(one) is type(value) and one == value for one in values)


def grid_of(space: Space, defaults: Mapping[str, Any] | None = None, points: int = 3) -> dict[str, list[Any]]:
    """Return the values of the grid for each parameter, including the default."""
    grid = {name: v.points(points) if isinstance(v, Span) else list(v) for name, v in space.items()}
    for name, value in (defaults or {}).items():
        if isinstance(space[name], Span) and value not in grid[name]:
            grid[name] = sorted([*grid[name], value])
    return grid
