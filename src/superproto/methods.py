"""FIT: a method by its name, with its parameters checked before any data are read."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from .baselines import METHODS
from .errors import UserError

__all__ = ["FROM_THE_TASK", "find_method", "make_model", "nearest", "parameters_of"]

# Not the user's to give as parameters: the task and the seed decide them.
FROM_THE_TASK = {"candidates": "It follows from the setting.", "random_state": "Give the seed instead."}
# How a fit is watched, not what it computes.
_WATCHING = ("verbose", "callback", "checkpoint")
_SIMPLE = (bool, int, float, str, NoneType)


def nearest(name: str, known: Iterable[str]) -> str:
    """The cure for a misspelt name: the nearest known one, or all of them."""
    known = list(known)
    near = difflib.get_close_matches(name.lower(), known, 1)
    return f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(known)}."


def find_method(name: str) -> type:
    """The class of a method."""
    if name not in METHODS:
        raise UserError(f"there is no method '{name}'. {nearest(name, METHODS)}")
    return METHODS[name]


def make_model(
    method: str, params: Mapping[str, Any] | None = None, *, candidates: str = "unseen", seed: int | None = 0
) -> Any:
    """The method with these parameters, unfitted; names and types are checked here, ranges by `fit`."""
    kind = find_method(method)
    accepted = inspect.signature(kind).parameters
    hints = get_type_hints(kind.__init__)  # type: ignore[misc]
    for name, value in (params or {}).items():
        if name in FROM_THE_TASK:
            raise UserError(f"{name} is not a parameter to choose. {FROM_THE_TASK[name]}")
        if name not in accepted:
            choices = [known for known in accepted if known not in (*FROM_THE_TASK, *_WATCHING)]
            raise UserError(f"{method} has no parameter '{name}'. {nearest(name, choices)}")
        _check_type(name, value, hints.get(name, Any))
    fixed = {"candidates": candidates, "random_state": seed}
    return kind(**{name: value for name, value in fixed.items() if name in accepted}, **(params or {}))


def parameters_of(model: Any) -> dict[str, Any]:
    """Every parameter that decides the result, defaults included; the task's and the seed's are recorded apart."""
    return {
        name: _plain(value)
        for name, value in model.get_params(deep=False).items()
        if name not in (*FROM_THE_TASK, *_WATCHING)
    }


def _check_type(name: str, value: Any, wanted: Any) -> None:
    """Refuse a value that the parameter's annotation rules out; whole numbers are numbers, True is not."""
    kinds = get_args(wanted) if get_origin(wanted) in (Union, UnionType) else (wanted,)
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{name} is {value}, but it must be finite.")
    if any(get_origin(kind) is Callable for kind in kinds) and value is not None and not callable(value):
        raise UserError(f"{name} is {value!r}, but it must be a function. Give it in Python.")
    if not all(kind in _SIMPLE for kind in kinds):
        return
    accepted = {*kinds, *([int] if float in kinds else [])}
    if type(value) not in accepted and not (hasattr(value, "item") and type(value.item()) in accepted):
        words = {bool: "true or false", int: "a whole number", float: "a number", str: "a word", NoneType: "none"}
        raise UserError(f"{name} is {value!r}, but it must be {' or '.join(words[kind] for kind in kinds)}.")


def _plain(value: Any) -> Any:
    """What JSON can hold: numbers, words and lists as they are, anything else by its name."""
    if isinstance(value, _SIMPLE):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return type(value).__name__
