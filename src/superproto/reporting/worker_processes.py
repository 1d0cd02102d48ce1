"""SHOW: the same function for many values, in worker processes that leave when they should.

Workers ignore Ctrl-C, which is the parent's to handle, from their first instruction on; and they end when the parent
does, however it ended.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any


def map_in_processes(
    function: Callable[[Any], Any], values: Sequence[Any], jobs: int, tick: Callable[[int], None] | None = None
) -> list[Any]:
    """``[function(value) for value in values]`` in so many processes; ``tick(1)`` hears of each that is done."""
    if jobs <= 1:
        return list(_ticked(map(function, values), tick))
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_leave_with, initargs=(os.getpid(),))
    try:
        with _interrupts_ignored():
            # The workers start here, and inherit that.
            futures = [pool.submit(function, value) for value in values]
        return list(_ticked((future.result() for future in futures), tick))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ticked(results: Iterator[Any], tick: Callable[[int], None] | None) -> Iterator[Any]:
    for result in results:
        if tick is not None:
            tick(1)
        yield result


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leave_with(parent: int) -> None:
    """In a worker: end soon after the parent, also where it was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
