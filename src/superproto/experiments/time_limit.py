"""RESEARCH: stop a fit that takes too long."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


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
