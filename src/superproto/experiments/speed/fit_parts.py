"""SPLIT the seconds of a fit into its parts, each beside the least that the machine's own rates allow for it.

The floor of a pass is the longer of two times: its products at the rate of a large float32 product, its bytes at the
rate at which memory is read. Both are counted from the visits that the fit really made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from superproto.experiments.speed.machine import Rates
from superproto.hpl.estimator import HPL
from superproto.samples.chunks import UNLABELED, Array, ChunkedRows, rows_of
from superproto.samples.timing import measured

# Everything else that visits rows assigns them to classes, sums them up or labels them.
_PARTS = {"moments": "Gram", "second_moment": "Gram", "lengths": "whiten", "inspect": "check"}
PARTS = ("read", "check", "Gram", "factor", "whiten", "passes", "small algebra")


@dataclass
class Spent:
    """What the visits of one kind have cost so far."""

    seconds: float = 0.0
    visits: int = 0
    products: float = 0.0
    read: float = 0.0

    def floor(self, rates: Rates) -> float:
        """The least seconds that these products and these bytes take."""
        return max(self.products / rates.flops, self.read / rates.bandwidth)


class Ledger(dict[str, Spent]):
    """Cost by kind of pass; ``clock`` is where the stopwatch writes, so that reading is not counted as computing."""

    def __init__(self, clock: dict[str, float] | None = None) -> None:
        super().__init__()
        self.clock = {} if clock is None else clock

    @property
    def visits(self) -> int:
        """Visits of any kind, to any selection of rows."""
        return sum(spent.visits for spent in self.values())


class LedgerRows:
    """Rows that keep account of every visit to any selection of them."""

    def __init__(self, rows: ChunkedRows, ledger: Ledger) -> None:
        self.rows = rows
        self.ledger = ledger
        self.n_rows, self.n_columns, self.dtype = rows.n_rows, rows.n_columns, rows.dtype

    def select(self, index: Array | None = None, dtype: DTypeLike | None = None) -> LedgerRows:
        return LedgerRows(self.rows.select(index, dtype), self.ledger)

    def visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        name, bound = _named(function)
        spent = self.ledger.setdefault(name, Spent())
        spent.visits += 1
        spent.products += _products(name, bound, aligned, self.n_rows, self.n_columns)
        spent.read += self.n_rows * self.n_columns * self.dtype.itemsize
        start, read = perf_counter(), self.ledger.clock.get("read", 0.0)
        try:
            # Until the last result is taken: adding results up belongs to the pass.
            yield from self.rows.visit(function, *aligned)
        finally:
            spent.seconds += perf_counter() - start - (self.ledger.clock.get("read", 0.0) - read)


def fit_in_parts(X: Any, y: Array, A: Array, rates: Rates, **options: Any) -> tuple[HPL, dict[str, Any]]:
    """A fit, with ``seconds`` and ``floor`` of its parts, its outer iterations, and ``visits`` by kind of pass."""
    sweeps: list[int] = []
    with measured() as clock:
        ledger, start = Ledger(clock), perf_counter()
        model = HPL(callback=lambda sweep: sweeps.append(sweep.iteration), **options)
        model.fit(LedgerRows(rows_of(X), ledger), y, semantics=A)
        total = perf_counter() - start
    seconds, floor = dict.fromkeys(PARTS, 0.0), dict.fromkeys(PARTS[1:-1], 0.0)
    for name, spent in ledger.items():
        seconds[_PARTS.get(name, "passes")] += spent.seconds
        floor[_PARTS.get(name, "passes")] += spent.floor(rates)
    seconds["read"], seconds["factor"] = clock.get("read", 0.0), clock.get("whiten", 0.0)
    # float64 at half the rate: the Cholesky factor and its inverse.
    floor["factor"] = 2 * 2 / 3 * X.shape[1] ** 3 / rates.flops
    seconds["small algebra"] = total - sum(seconds.values())
    visits = {name: spent.visits for name, spent in ledger.items()}
    return model, {"seconds": {**seconds, "fit": total}, "floor": floor, "visits": visits, "iterations": len(sweeps)}


def _named(function: Any) -> tuple[str, dict[str, Any]]:
    """What a pass computes, and the small arrays bound in it; a function of a function's rows counts as the latter."""
    bound = function.keywords if isinstance(function, partial) else {}
    if "function" in bound:
        return _named(bound["function"])
    return (function.func if isinstance(function, partial) else function).__name__, bound


def _products(name: str, bound: dict[str, Any], aligned: tuple[Array, ...], n: int, d: int) -> float:
    """Additions and multiplications of a pass's matrix products; a symmetric or triangular one is done by half."""
    if name == "moments":
        return float(np.count_nonzero(aligned[0] != UNLABELED)) * d * d
    if name == "second_moment":
        return float(n) * d * d
    if name == "lengths":
        return float(n) * d * d if bound["metric"].mean is not None else 0.0
    if name in ("scores", "hard"):
        return 2.0 * n * d * len(bound["folded"])
    if name == "soft":
        return 4.0 * n * d * len(bound["folded"])
    if name == "soft_sums":
        return 2.0 * n * d * aligned[2].shape[1]
    if name == "ask_chunk":
        # float64, at half the rate.
        return 4.0 * n * d * len(bound["model"].classes_)
    return 0.0
