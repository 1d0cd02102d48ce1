"""READ: measure how long the parts of a computation take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from time import perf_counter

_current: ContextVar[dict[str, float] | None] = ContextVar("superproto_seconds", default=None)


@contextmanager
def measured() -> Iterator[dict[str, float]]:
    """Measure the seconds of every :func:`span` inside the block, by name.

    Each second is counted once, in the innermost span.

    >>> with measured() as seconds:
    ...     with span("fit"):
    ...         with span("whiten"):
    ...             pass
    >>> sorted(seconds)
    ['fit', 'whiten']
    """
    seconds: dict[str, float] = {}
    token = _current.set(seconds)
    try:
        yield seconds
    finally:
        _current.reset(token)


def span(name: str) -> AbstractContextManager[None]:
    """Count the block's seconds under this name, without those of inner spans. Outside :func:`measured` do nothing."""
    seconds = _current.get()
    return nullcontext() if seconds is None else _counted(name, seconds)


@contextmanager
def _counted(name: str, seconds: dict[str, float]) -> Iterator[None]:
    start, counted = perf_counter(), sum(seconds.values())
    try:
        yield
    finally:
        inner = sum(seconds.values()) - counted
        seconds[name] = seconds.get(name, 0.0) + perf_counter() - start - inner
