"""RESEARCH: measure a machine and a process: seconds of competing functions, peak rates, and memory."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter, strftime
from typing import Any, NamedTuple

import numpy as np


class Rates(NamedTuple):
    """Peak rates of this machine: float32 operations per second, and bytes read per second."""

    flops: float
    bandwidth: float


def time_together(contenders: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the median seconds of each function. They run in turns, so that other load affects all of them equally."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, run in contenders.items():
            start = perf_counter()
            run()
            seconds[name].append(perf_counter() - start)
    return {name: median(found) for name, found in seconds.items()}


def measure_rates(size: int = 2048, repeats: int = 5) -> Rates:
    """Measure the rate of a large float32 product, and of reading an array larger than every cache."""
    square = np.ones((size, size), dtype=np.float32)
    long = np.ones(2**25, dtype=np.float32)
    best = {"product": np.inf, "sum": np.inf}
    for _ in range(repeats):
        for name, run in (("product", lambda: square @ square), ("sum", lambda: long.max())):
            start = perf_counter()
            run()
            best[name] = min(best[name], perf_counter() - start)
    return Rates(2 * size**3 / best["product"], long.nbytes / best["sum"])


def machine_context(rates: Rates) -> dict[str, Any]:
    """Return the description of the machine and the date, for an entry."""
    machine = {"processors": os.cpu_count(), "threads": _threads(), "load": _load(), **rates._asdict()}
    return {"machine": machine, "when": strftime("%Y-%m-%d")}


def _threads() -> int:
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    return max((pool["num_threads"] for pool in threadpool_info()), default=1)


def _load() -> float:
    """Return the load average: measurements on a busy machine are less reliable."""
    return round(os.getloadavg()[0], 1) if platform.system() != "Windows" else 0.0


def fitted_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the exponent p of the power law seconds ~ size^p, by least squares of the logarithms.

    >>> round(fitted_exponent([10, 100, 1000], [2, 20, 200]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def anonymous_bytes(process: int | str = "self") -> int:
    """Return the anonymous memory of a process, without memory-mapped files, in bytes.

    It is 0 on systems other than Linux, and for a process that has ended.
    """
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return 1024 * int(text.split("RssAnon:")[1].split()[0]) if "RssAnon:" in text else 0


@contextmanager
def peak_memory(interval: float = 0.01, process: int | str = "self") -> Iterator[dict[str, int]]:
    """Yield {"before", "peak"}: the anonymous bytes of a process before the block, and their maximum within it."""
    found = dict.fromkeys(("before", "peak"), anonymous_bytes(process))
    over = threading.Event()

    def watch() -> None:
        while not over.wait(interval):
            found["peak"] = max(found["peak"], anonymous_bytes(process))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield found
    finally:
        over.set()
        watcher.join()
