"""BENCH: how long a fit takes, always beside something measured in the same run, and what it takes of memory.

Each study returns one entry: sizes, median seconds, ratios, and whether the ratios keep their bounds. Entries are
appended to a file of JSON lines.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, strftime
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from superproto.hpl import HPL
from superproto.measuring import Rates, exponent, measure_rates, peak_memory, time_together
from superproto.records import versions
from superproto.rows import Array, ArrayRows
from superproto.stopwatch import measured

__all__ = ["STUDIES", "Entry", "bench", "context", "write_entry"]

Entry = dict[str, Any]
CUB_PACK = "cub_vgg_fc7_4096.npz"


def bench(folder: Path, only: list[str] | None = None) -> Iterator[Entry]:
    """The entries of the studies, one after the other."""
    rates = measure_rates()
    for name in only or STUDIES:
        start = perf_counter()
        with warnings.catch_warnings():
            # A bench measures time: what the labels of random data look like is of no interest here.
            warnings.simplefilter("ignore")
            entry = STUDIES[name](folder, rates)
        yield {"study": name, **entry, "took": round(perf_counter() - start, 1), **context(rates)}


def context(rates: Rates) -> Entry:
    """Where and with what an entry was measured."""
    machine = {"processors": os.cpu_count(), "threads": _threads(), "load": _load(), **rates._asdict()}
    return {"machine": machine, "when": strftime("%Y-%m-%d"), "versions": versions()}


def write_entry(path: str | os.PathLike[str], entry: Entry) -> None:
    """Append the entry's line."""
    with open(path, "a", encoding="utf-8") as handle:
        handle.write(json.dumps(entry, allow_nan=False) + "\n")


# -- studies -----------------------------------------------------------------------------------------------------------


def against_floor(folder: Path, rates: Rates, repeats: int = 3) -> Entry:
    """At CUB's size, d = 2048: the whole fit against one Gram and eigh per domain, and against Sylvester solves."""
    from scipy import linalg

    X, y, A = _cub_sized(folder)
    labeled, pool = X[y >= 0], X[y < 0]

    def grams() -> None:
        for rows in (labeled, pool):
            linalg.eigh((rows.T @ rows).astype(np.float64), overwrite_a=True, check_finite=False, driver="evd")

    fits: list[HPL] = []
    seconds = time_together({"fit": lambda: fits.append(HPL().fit(X, y, semantics=A)), "grams": grams}, repeats)
    seen = int(y.max()) + 1
    gram, counts = (pool.T @ pool).astype(np.float64), np.bincount(np.arange(len(pool)) % (len(A) - seen))
    right = np.random.default_rng(0).normal(size=(X.shape[1], len(counts)))
    start = perf_counter()
    linalg.solve_sylvester(gram + np.eye(len(gram)), np.diag(counts.astype(np.float64)), right)
    seconds["one Sylvester solve"] = perf_counter() - start
    updates = 2 * fits[-1].n_iter_ + 1
    seconds["Sylvester solves"] = updates * seconds["one Sylvester solve"]
    ratios = {
        "fit / grams": seconds["fit"] / seconds["grams"],
        "Sylvester solves / fit": seconds["Sylvester solves"] / seconds["fit"],
    }
    kept = {
        "fit / grams < 3": ratios["fit / grams"] < 3,
        "Sylvester solves / fit >= 30": ratios["Sylvester solves / fit"] >= 30,
    }
    return _entry(X, y, A, seconds, ratios, kept, updates=updates, iterations=fits[-1].n_iter_)


def against_others(folder: Path, rates: Rates, repeats: int = 3) -> Entry:
    """At CUB's size, d = 2048: the whole fit against scikit-learn's clustering, mixtures and label spreading."""
    from sklearn.cluster import KMeans
    from sklearn.mixture import GaussianMixture
    from sklearn.semi_supervised import LabelSpreading

    X, y, A = _cub_sized(folder)
    pool, n = X[y < 0], len(A) - int(y.max()) - 1
    seconds = time_together(
        {
            "fit": lambda: HPL().fit(X, y, semantics=A),
            "KMeans(n_init=10)": lambda: KMeans(n, n_init=10, random_state=0).fit(pool),
            "GaussianMixture(diag)": lambda: GaussianMixture(n, covariance_type="diag", random_state=0).fit(pool),
            "LabelSpreading(knn)": lambda: LabelSpreading(kernel="knn").fit(X, y),
        },
        repeats,
    )
    ratios = {f"{name} / fit": value / seconds["fit"] for name, value in seconds.items() if name != "fit"}
    kept = {f"{name} > 1": ratios[name] > 1 for name in ("KMeans(n_init=10) / fit", "LabelSpreading(knn) / fit")}
    return _entry(X, y, A, seconds, ratios, kept)


def breakdown(folder: Path, rates: Rates) -> Entry:
    """Where the seconds of a fit at CUB's size go, beside what the machine's own rates allow at best."""
    X, y, A = _cub_sized(folder)
    with measured() as spent:
        start = perf_counter()
        model = HPL().fit(X, y, semantics=A)
        total = perf_counter() - start
    n_pool, d, n = int((y < 0).sum()), X.shape[1], len(A) - int(y.max()) - 1
    seconds = {
        "read": spent.get("read", 0.0),
        "passes": spent.get("passes", 0.0),
        "eigh and metric": spent.get("whiten", 0.0),
        "small algebra": total - sum(spent.get(name, 0.0) for name in ("read", "passes", "whiten")),
        "fit": total,
    }
    flops = (len(X) - n_pool) * d**2 + 2 * len(X) * d**2 + model.n_iter_ * 4 * n_pool * n * d
    seen = 3 * X.nbytes + model.n_iter_ * 2 * n_pool * d * X.itemsize
    floor = {"flops of the passes": flops / rates.flops, "bytes of the passes": seen / rates.bandwidth}
    seconds.update({f"floor: {name}": value for name, value in floor.items()})
    ratios = {"passes / floor": seconds["passes"] / max(floor.values())}
    return _entry(X, y, A, seconds, ratios, {}, iterations=model.n_iter_)


def outer_iteration(folder: Path, rates: Rates) -> Entry:
    """At 50,000 pool samples: an outer iteration against one product X @ P.T, hard and soft; passes per iteration."""
    X, y, A = _synthetic(10_000, 50_000, 1024, 100, 50, 85)
    pool, P = X[y < 0], np.ones((50, 1024), dtype=np.float32)
    seconds = time_together({"X @ P.T": lambda: pool @ P.T}, 7)
    ratios, visits = {}, {}
    for name, temperature in (("hard", 0.0), ("soft", 0.01)):
        seconds[f"{name} iteration"], visits[name] = _iteration(X, y, A, temperature)
        ratios[f"{name} iteration / X @ P.T"] = seconds[f"{name} iteration"] / seconds["X @ P.T"]
    kept = {"hard <= 3": ratios["hard iteration / X @ P.T"] <= 3, "soft <= 6": ratios["soft iteration / X @ P.T"] <= 6}
    return _entry(X, y, A, seconds, ratios, kept, visits_per_iteration=visits)


def growth(folder: Path, rates: Rates) -> Entry:
    """Seconds of ten iterations as the pool, the features, the classes or the super-prototypes grow."""
    base = {"labeled": 2000, "pool": 4000, "features": 128, "seen": 40, "unseen": 20, "attributes": 32}
    ranges = {"pool": [10_000, 30_000, 100_000, 300_000], "features": [256, 512, 1024], "unseen": [20, 80, 320]}
    curves: dict[str, Any] = {}
    for name, sizes in ranges.items():
        # What a pool of 100 costs is what the other sizes cost: the rest is the pool's own.
        fixed = _ten_iterations(*_synthetic(*({**base, "pool": 100}.values()))) if name == "pool" else 0.0
        seconds = [_ten_iterations(*_synthetic(*({**base, name: size}.values()))) - fixed for size in sizes]
        curves[name] = {"sizes": sizes, "seconds": [max(value, 1e-6) for value in seconds]}
    task, classes = _synthetic(*base.values()), base["seen"] + base["unseen"]
    counts = [3, 12, 36]
    curves["super-prototypes"] = {
        "sizes": counts,
        "seconds": [_ten_iterations(*task, theta=count / classes) for count in counts],
    }
    exponents = {name: exponent(curve["sizes"], curve["seconds"]) for name, curve in curves.items()}
    kept = {"pool: 1.0 +- 0.1": abs(exponents["pool"] - 1) <= 0.1}
    return {"sizes": base, "curves": curves, "exponents": exponents, "kept": kept}


def memory(folder: Path, rates: Rates) -> Entry:
    """Anonymous memory of a fit on a memory-mapped file, as the number of samples grows."""
    found = {}
    with tempfile.TemporaryDirectory() as place:
        for n in (20_000, 40_000, 80_000):
            X, y, A = _synthetic(n // 2, n // 2, 512, 100, 50, 64)
            np.save(Path(place) / "x.npy", X)
            del X
            mapped = np.load(Path(place) / "x.npy", mmap_mode="r")
            with peak_memory() as taken:
                HPL(max_iter=5).fit(mapped, y, semantics=A)
            found[n] = taken["peak"] - taken["before"]
    per_sample = (found[80_000] - found[20_000]) / 60_000
    return {
        "sizes": {"features": 512, "classes": 150},
        "bytes": {f"{n} samples": value for n, value in found.items()},
        "ratios": {"bytes per sample": per_sample, "bytes per sample / bytes of a row": per_sample / 2048},
    }


STUDIES: dict[str, Callable[[Path, Rates], Entry]] = {
    "against-floor": against_floor,
    "against-others": against_others,
    "breakdown": breakdown,
    "outer-iteration": outer_iteration,
    "growth": growth,
    "memory": memory,
}


# -- the parts ---------------------------------------------------------------------------------------------------------


class _CountedRows(ArrayRows):
    """Rows that count the visits to any selection of them."""

    counter: dict[str, int]

    def __init__(self, array: Any, index: Array | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(array, index, dtype=dtype)
        self.counter = {"visits": 0}

    def select(self, index: Array | None = None, dtype: DTypeLike | None = None) -> _CountedRows:
        chosen = _CountedRows(self.array, index, dtype)
        chosen.counter = self.counter
        return chosen

    def visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        self.counter["visits"] += 1
        return super().visit(function, *aligned)


def _iteration(X: Array, y: Array, A: Array, temperature: float) -> tuple[float, float]:
    """Median seconds of an outer iteration, and how often each one visits the pool."""
    times: list[float] = []
    visits: list[int] = []
    rows = _CountedRows(X)

    def note(_: Any) -> None:
        times.append(perf_counter())
        visits.append(rows.counter["visits"])

    HPL(max_iter=12, tol=0.0, temperature=temperature, callback=note).fit(rows, y, semantics=A)
    return float(np.median(np.diff(times))), float(np.median(np.diff(visits)))


def _ten_iterations(X: Array, y: Array, A: Array, **options: Any) -> float:
    return time_together({"fit": lambda: HPL(max_iter=10, tol=0.0, **options).fit(X, y, semantics=A)}, 3)["fit"]


def _cub_sized(folder: Path) -> tuple[Array, Array, Array]:
    """CUB with 2048 of its VGG features, or noise of the same shape where the pack is not at hand."""
    if (folder / CUB_PACK).exists():
        from superproto.datasets import load

        task = load(folder / CUB_PACK)
        return np.ascontiguousarray(task.X[:, :2048], dtype=np.float32), task.y, task.semantics
    return _synthetic(7057, 2967, 2048, 150, 50, 312)


def _synthetic(n_labeled: int, n_pool: int, d: int, m: int, n: int, k: int) -> tuple[Array, Array, Array]:
    """float32 samples around centers that are linear in their descriptions."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(m + n, k))
    centers = (A @ rng.normal(size=(k, d))).astype(np.float32) / np.float32(np.sqrt(k))
    truth = np.concatenate([np.arange(n_labeled) % m, m + np.arange(n_pool) % n])
    X = rng.standard_normal((n_labeled + n_pool, d), dtype=np.float32) * 3
    X += centers[truth]
    return X, np.where(np.arange(len(truth)) < n_labeled, truth, -1), A


def _entry(X: Array, y: Array, A: Array, seconds: Any, ratios: Any, kept: Any, **more: Any) -> Entry:
    sizes = {"labeled": int((y >= 0).sum()), "pool": int((y < 0).sum()), "features": X.shape[1], "classes": len(A)}
    return {"sizes": sizes, "seconds": seconds, "ratios": ratios, "kept": {k: bool(v) for k, v in kept.items()}, **more}


def _threads() -> int:
    from threadpoolctl import threadpool_info

    return max((pool["num_threads"] for pool in threadpool_info()), default=1)


def _load() -> float:
    """What else the machine was doing: a ratio from a busy one is to be read with care."""
    return round(os.getloadavg()[0], 1) if platform.system() != "Windows" else 0.0
