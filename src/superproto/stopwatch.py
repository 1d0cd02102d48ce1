"""Where the time goes: named spans that cost nothing unless somebody measures, and a limit to a block's time."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from types import FrameType

__all__ = ["TimeUp", "limited", "measured", "span"]

_current: ContextVar[dict[str, float] | None] = ContextVar("superproto_seconds", default=None)


@contextmanager
def measured() -> Iterator[dict[str, float]]:
    """The seconds of every span inside the block, by name. Each second is counted once, in the innermost span.

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


@contextmanager
def span(name: str) -> Iterator[None]:
    """Count the block's seconds under this name, less those of the spans inside it."""
    seconds = _current.get()
    if seconds is None:
        yield
        return
    start, counted = perf_counter(), sum(seconds.values())
    try:
        yield
    finally:
        inner = sum(seconds.values()) - counted
        seconds[name] = seconds.get(name, 0.0) + perf_counter() - start - inner


class TimeUp(Exception):
    """A block ran longer than it may."""


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise `TimeUp` in a block that runs longer, as soon as Python has the word again; None: no limit.

    It takes the alarm clock of Unix, which rings in the main thread alone; elsewhere the block runs to its end.
    """
    if seconds is None or not hasattr(signal, "setitimer") or threading.current_thread() != threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeUp(f"not finished within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
