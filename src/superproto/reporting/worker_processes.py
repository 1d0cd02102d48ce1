"""SHOW: apply a function to many values in worker processes.

Workers ignore Ctrl-C from the start, because the parent process handles it. They end when the parent ends, even if it
was killed.
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
    """Return ``[function(value) for value in values]``, computed in ``jobs`` processes; call ``tick(1)`` after each."""
    if jobs <= 1:
        return list(_ticked(map(function, values), tick))
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_leave_with, initargs=(os.getpid(),))
    try:
        with _interrupts_ignored():
            # The workers start here and inherit this signal handler.
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
    """Start a thread in a worker that ends the worker soon after the parent ended or was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
