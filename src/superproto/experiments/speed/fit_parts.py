"""RESEARCH: divide the time of a fit into parts, each compared with the least time that the machine allows (the floor).

The floor of a pass is the longer of two times: its multiplications at the rate of a large float32 product, and its
bytes at the rate of reading memory. Both are counted from the visits that the fit made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from inspect import unwrap
from time import perf_counter
from typing import Any, NamedTuple

from numpy.typing import DTypeLike

from superproto.estimator.base import ask_chunk
from superproto.experiments.speed.machine import Rates
from superproto.hpl.estimator import HPL
from superproto.samples import kernels
from superproto.samples.chunks import UNLABELED, Array, ChunkedRows, rows_of
from superproto.samples.timing import measured

PARTS = ("read", "check", "Gram", "factor", "whiten", "passes", "small algebra")


class Cost(NamedTuple):
    """The part of a fit that a kernel belongs to, and the additions and multiplications of its matrix products.

    ``products`` is called with the numbers of rows and columns, the arrays bound in the kernel, and the arrays aligned
    with the rows. A kernel without an entry in ``COSTS`` belongs to "passes", and its products are not counted.
    """

    part: str = "passes"
    products: Callable[[int, int, dict[str, Any], tuple[Array, ...]], float] = lambda n, d, bound, aligned: 0.0


# Symmetric and triangular products need half of the multiplications; float64 has half the rate.
COSTS: dict[Callable[..., Any], Cost] = {
    kernels.inspect: Cost("check"),
    kernels.moments: Cost("Gram", lambda n, d, bound, aligned: float((aligned[0] != UNLABELED).sum()) * d * d),
    kernels.second_moment: Cost("Gram", lambda n, d, bound, aligned: n * d * d),
    kernels.lengths: Cost("whiten", lambda n, d, bound, aligned: 0 if bound["metric"].mean is None else n * d * d),
    kernels.scores: Cost("passes", lambda n, d, bound, aligned: 2 * n * d * len(bound["folded"])),
    kernels.hard: Cost("passes", lambda n, d, bound, aligned: 2 * n * d * len(bound["folded"])),
    kernels.soft: Cost("passes", lambda n, d, bound, aligned: 4 * n * d * len(bound["folded"])),
    kernels.soft_sums: Cost("passes", lambda n, d, bound, aligned: 2 * n * d * aligned[2].shape[1]),
    ask_chunk: Cost("passes", lambda n, d, bound, aligned: 4 * n * d * len(bound["model"].classes_)),
}


@dataclass
class Spent:
    """The cost of the visits with one kernel so far, and the part of a fit that they belong to."""

    part: str
    seconds: float = 0.0
    visits: int = 0
    products: float = 0.0
    read: float = 0.0

    def floor(self, rates: Rates) -> float:
        """Return the least seconds for these products and bytes."""
        return max(self.products / rates.flops, self.read / rates.bandwidth)


class Ledger(dict[str, Spent]):
    """The cost by kernel. ``clock`` has the seconds by span, so that reading is not counted as computing."""

    def __init__(self, clock: dict[str, float] | None = None) -> None:
        super().__init__()
        self.clock = {} if clock is None else clock

    @property
    def visits(self) -> int:
        """The number of visits with any kernel, to any selection of rows."""
        return sum(spent.visits for spent in self.values())


class LedgerRows:
    """Rows that record the cost of every visit to any selection of them."""

    def __init__(self, rows: ChunkedRows, ledger: Ledger) -> None:
        self.rows = rows
        self.ledger = ledger
        self.n_rows, self.n_columns, self.dtype = rows.n_rows, rows.n_columns, rows.dtype

    def select(self, index: Array | None = None, dtype: DTypeLike | None = None) -> LedgerRows:
        return LedgerRows(self.rows.select(index, dtype), self.ledger)

    def visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        kernel, bound = _kernel(function)
        cost = COSTS.get(kernel, Cost())
        spent = self.ledger.setdefault(kernel.__name__, Spent(cost.part))
        spent.visits += 1
        spent.products += cost.products(self.n_rows, self.n_columns, bound, aligned)
        spent.read += self.n_rows * self.n_columns * self.dtype.itemsize
        start, read = perf_counter(), self.ledger.clock.get("read", 0.0)
        try:
            # Measure until the last result is consumed, because adding results up belongs to the pass.
            yield from self.rows.visit(function, *aligned)
        finally:
            spent.seconds += perf_counter() - start - (self.ledger.clock.get("read", 0.0) - read)


def fit_in_parts(X: Any, y: Array, A: Array, rates: Rates, **options: Any) -> tuple[HPL, dict[str, Any]]:
    """Fit a model; return it with ``seconds`` and ``floor`` of its parts, its iterations, and ``visits`` by kernel."""
    iterations: list[int] = []
    with measured() as clock:
        ledger, start = Ledger(clock), perf_counter()
        model = HPL(callback=lambda done: iterations.append(done.iteration), **options)
        model.fit(LedgerRows(rows_of(X), ledger), y, semantics=A)
        total = perf_counter() - start
    seconds, floor = dict.fromkeys(PARTS, 0.0), dict.fromkeys(PARTS[1:-1], 0.0)
    for spent in ledger.values():
        seconds[spent.part] += spent.seconds
        floor[spent.part] += spent.floor(rates)
    seconds["read"], seconds["factor"] = clock.get("read", 0.0), clock.get("whiten", 0.0)
    # float64 at half the rate: the Cholesky factor and its inverse.
    floor["factor"] = 2 * 2 / 3 * X.shape[1] ** 3 / rates.flops
    seconds["small algebra"] = total - sum(seconds.values())
    visits = {name: spent.visits for name, spent in ledger.items()}
    return model, {
        "seconds": {**seconds, "fit": total},
        "floor": floor,
        "visits": visits,
        "iterations": len(iterations),
    }


def _kernel(function: Any) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return the kernel of a visit and the arrays bound in it, without functions that only prepare the rows."""
    bound = function.keywords if isinstance(function, partial) else {}
    if "function" in bound:
        return _kernel(bound["function"])
    return unwrap(function.func if isinstance(function, partial) else function), bound
