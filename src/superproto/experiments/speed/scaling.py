"""MEASURE how a fit's cost is made up and how it grows: its parts, an iteration, seconds by size, memory by samples."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from superproto.experiments.speed.data import Size, cub_sized, synthetic, write_features
from superproto.experiments.speed.entries import Entry, entry_of
from superproto.experiments.speed.fit_parts import Ledger, LedgerRows, fit_in_parts
from superproto.experiments.speed.machine import Rates, exponent, peak_memory, time_together
from superproto.hpl.estimator import HPL
from superproto.samples.chunks import Array, rows_of

REPEATS = 5
BASE = Size(labeled=4000, pool=4000, features=256, seen=100, unseen=50, attributes=64)
POOLS = (20_000, 60_000, 200_000, 600_000)
FEATURE_COUNTS = (256, 512, 1024)
CLASSES = (50, 200, 800)
ON_DISK = Size(labeled=20_000, pool=400_000, features=64, seen=200, unseen=200, attributes=32)
POOLS_ON_DISK = (500_000, 1_000_000, 2_000_000)


def breakdown(folder: Path, rates: Rates) -> Entry:
    """Where the seconds of a fit at CUB's size go, beside what the machine's own rates allow at best."""
    X, y, A = cub_sized(folder)
    runs = sorted((fit_in_parts(X, y, A, rates) for _ in range(REPEATS)), key=lambda run: run[1]["seconds"]["fit"])
    _, found = runs[REPEATS // 2]
    passes = {name: found["seconds"][name] for name in ("Gram", "whiten", "passes")}
    ratios = {f"{name} / floor": value / found["floor"][name] for name, value in passes.items()}
    return entry_of(X, y, A, **found, ratios=ratios)


def outer_iteration(folder: Path, rates: Rates) -> Entry:
    """At 50,000 pool samples: an outer iteration against one product X @ P.T, hard and soft; passes per iteration."""
    X, y, A = synthetic(Size(10_000, 50_000, 1024, 100, 50, 85))
    pool, P = X[y < 0], np.ones((50, 1024), dtype=np.float32)
    seconds = time_together({"X @ P.T": lambda: pool @ P.T}, 11)
    ratios, visits = {}, {}
    for name, options in (("hard", {"temperature": 0.0}), ("soft", {})):
        seconds[f"{name} iteration"], visits[name] = iteration(X, y, A, **options)
        ratios[f"{name} iteration / X @ P.T"] = seconds[f"{name} iteration"] / seconds["X @ P.T"]
    kept = {"hard <= 3": ratios["hard iteration / X @ P.T"] <= 3, "soft <= 6": ratios["soft iteration / X @ P.T"] <= 6}
    return entry_of(X, y, A, seconds=seconds, ratios=ratios, kept=kept, visits_per_iteration=visits)


def iteration(X: Array, y: Array, A: Array, **options: Any) -> tuple[float, float]:
    """Median seconds of an outer iteration, and how often each one visits the pool."""
    times: list[float] = []
    visits: list[int] = []
    ledger = Ledger()

    def note(_: Any) -> None:
        times.append(perf_counter())
        visits.append(ledger.visits)

    HPL(max_iter=12, tol=0.0, callback=note, **options).fit(LedgerRows(rows_of(X), ledger), y, semantics=A)
    return float(np.median(np.diff(times))), float(np.median(np.diff(visits)))


def growth(folder: Path, rates: Rates) -> Entry:
    """Seconds of five iterations as the pool, the features, the classes or the super-prototypes grow."""
    # What a pool of 100 costs, every pool costs: the rest is the pool's own.
    fixed, classes = _five_iterations(BASE._replace(pool=100)), BASE.seen + BASE.unseen
    counts = [round(share * classes) for share in (0.1, 0.3, 0.9)]
    curves: dict[str, dict[str, list[float]]] = {
        "pool": _curve(POOLS, lambda n: _five_iterations(BASE._replace(pool=n)) - fixed),
        "features": _curve(FEATURE_COUNTS, lambda d: _five_iterations(BASE._replace(features=d))),
        "unseen classes": _curve(CLASSES, lambda n: _five_iterations(BASE._replace(unseen=n))),
        "super-prototypes": _curve(counts, lambda q: _five_iterations(BASE, theta=q / classes)),
    }
    exponents = {name: exponent(curve["sizes"], curve["seconds"]) for name, curve in curves.items()}
    kept = {"pool: 1.0 +- 0.1": abs(exponents["pool"] - 1) <= 0.1}
    return {"sizes": BASE._asdict(), "curves": curves, "exponents": exponents, "kept": kept}


def _curve(sizes: Any, seconds_at: Any) -> dict[str, list[float]]:
    return {"sizes": list(sizes), "seconds": [max(seconds_at(size), 1e-6) for size in sizes]}


def _five_iterations(size: Size, **options: Any) -> float:
    X, y, A = synthetic(size)
    fit = {"fit": lambda: HPL.with_constants(refine=False)(max_iter=5, tol=0.0, **options).fit(X, y, semantics=A)}
    return time_together(fit, REPEATS)["fit"]


def memory(folder: Path, rates: Rates) -> Entry:
    """Anonymous memory of a fit on a memory-mapped file, as the pool grows beyond what is kept of its scores."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "x.npy"
        for n in POOLS_ON_DISK:
            y, _, A = write_features(path, ON_DISK._replace(pool=n))
            with peak_memory() as taken:
                HPL(max_iter=2, prior=None).fit(np.load(path, mmap_mode="r"), y, semantics=A)
            found[f"{n:,} pool samples"] = taken["peak"] - taken["before"]
    first, *_, last = found.values()
    per_sample = (last - first) / (POOLS_ON_DISK[-1] - POOLS_ON_DISK[0])
    sizes = {"features": ON_DISK.features, "classes": ON_DISK.seen + ON_DISK.unseen}
    return {"sizes": sizes, "bytes": found, "ratios": {"bytes per sample": per_sample}}
