"""BENCH: how long a fit takes, always beside something measured in the same run, and what it takes of memory.

Each study returns one entry: sizes, median seconds, ratios, and whether the ratios keep their bounds. Entries are
appended to a file of JSON lines, from which ``docs/scale.md`` has its numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter

from superproto.experiments.speed.entries import Entry, context
from superproto.experiments.speed.machine import Rates, measure_rates
from superproto.experiments.speed.scaling import breakdown, growth, memory, outer_iteration
from superproto.experiments.speed.versus import against_floor, against_foundation, against_others

__all__ = ["STUDIES", "bench"]
STUDIES: dict[str, Callable[[Path, Rates], Entry]] = {
    "against-others": against_others,
    "against-floor": against_floor,
    "against-foundation": against_foundation,
    "breakdown": breakdown,
    "outer-iteration": outer_iteration,
    "growth": growth,
    "memory": memory,
}


def bench(folder: Path, only: Sequence[str] | None = None) -> Iterator[Entry]:
    """The entries of the studies, one after the other; ``folder`` holds the data packs, where there are any."""
    for name in only or STUDIES:
        start, rates = perf_counter(), measure_rates()
        with warnings.catch_warnings():
            # A bench measures time: what the labels of random data look like is of no interest here.
            warnings.simplefilter("ignore")
            entry = STUDIES[name](folder, rates)
        yield {"study": name, **entry, "took": round(perf_counter() - start, 1), **context(rates)}
