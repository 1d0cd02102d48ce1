"""RESEARCH: measure the time of a fit relative to something measured in the same run, and its memory.

Each study returns one entry: sizes, median seconds, ratios, and whether the ratios are within their bounds.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.experiments.records import Entry
from superproto.experiments.speed.answer_studies import explorer_answers
from superproto.experiments.speed.data import CUB, IMAGENET, Size, cub_sized, synthetic, write_features
from superproto.experiments.speed.description_study import picture_descriptions
from superproto.experiments.speed.explorer_studies import explorer_page, explorer_refit, explorer_rows
from superproto.experiments.speed.fit_parts import Ledger, LedgerRows, fit_in_parts
from superproto.experiments.speed.machine import Rates, fitted_exponent, peak_memory, time_together
from superproto.experiments.speed.picture_studies import many_pictures, picture_rate
from superproto.hpl.estimator import HPL
from superproto.samples.chunks import Array, rows_of

REPEATS = 5
BASE = Size(labeled=4000, pool=4000, features=256, seen=100, unseen=50, attributes=64)
POOLS = (20_000, 60_000, 200_000, 600_000)
FEATURE_COUNTS = (256, 512, 1024)
CLASSES = (50, 200, 800)
ON_DISK = Size(labeled=20_000, pool=400_000, features=64, seen=200, unseen=200, attributes=32)
POOLS_ON_DISK = (500_000, 1_000_000, 2_000_000)
MOST_MEMORY = 3e9
# The first default parameters of HPL(), before parts were added that improve the accuracy.
FOUNDATION: dict[str, Any] = {
    "omega": 0.5,
    "max_iter": 100,
    "tol": 1e-4,
    "alignment_scale": 0.5,
    "temperature": 0.01,
}
FOUNDATION_CONSTANTS: dict[str, Any] = {"code_ridge": 0.0, "own_vote": 1.0, "refine": False, "forecast": False}
_FOUNDATION_PACKS = ("cub_efficientnet_lite0.npz", "flo_efficientnet_lite0.npz")


def entry_of(X: Array, y: Array, A: Array, *, kept: dict[str, bool] | None = None, **measured: Any) -> Entry:
    """Return an entry: sizes of the task, measurements, and which bounds were kept."""
    sizes = {"labeled": int((y >= 0).sum()), "pool": int((y < 0).sum()), "features": X.shape[1], "classes": len(A)}
    return {"sizes": sizes, **measured, "kept": {name: bool(value) for name, value in (kept or {}).items()}}


# -- a fit beside others on the same data: scikit-learn, bare algebra, Sylvester solves, its own past ------------------


def against_others(folder: Path, rates: Rates) -> Entry:
    """Compare a fit at CUB's size (d = 2048) with scikit-learn's clustering, mixtures and label spreading."""
    from sklearn.cluster import KMeans
    from sklearn.mixture import GaussianMixture
    from sklearn.semi_supervised import LabelSpreading

    X, y, A = cub_sized(folder)
    pool, n = X[y < 0], _unseen(y, A)
    seconds = time_together(
        {
            "fit": lambda: HPL().fit(X, y, semantics=A),
            "KMeans(n_init=10)": lambda: KMeans(n, n_init=10, random_state=0).fit(pool),
            "GaussianMixture(diag)": lambda: GaussianMixture(n, covariance_type="diag", random_state=0).fit(pool),
            "LabelSpreading(knn)": lambda: LabelSpreading(kernel="knn").fit(X, y),
        },
        REPEATS,
    )
    ratios = {f"{name} / fit": value / seconds["fit"] for name, value in seconds.items() if name != "fit"}
    kept = {f"{name} > 1": ratios[name] > 1 for name in ("KMeans(n_init=10) / fit", "LabelSpreading(knn) / fit")}
    return entry_of(X, y, A, seconds=seconds, ratios=ratios, kept=kept)


def against_floor(folder: Path, rates: Rates) -> Entry:
    """Compare a fit at CUB's size (d = 2048) with one Gram matrix and eigh per domain, and with Sylvester solves."""
    X, y, A = cub_sized(folder)
    labeled, pool = X[y >= 0], X[y < 0]
    iterations: list[int] = []
    contenders = {
        "fit": lambda: HPL(callback=lambda done: iterations.append(done.iteration)).fit(X, y, semantics=A),
        "grams": lambda: [_gram_and_eigh(rows) for rows in (labeled, pool)],
    }
    seconds = time_together(contenders, REPEATS)
    seconds["one Sylvester solve"] = _sylvester_seconds(pool, _unseen(y, A))
    # The unseen prototypes and the seen ones in every outer iteration, the unseen ones once more at the end.
    updates = 2 * len(iterations) // REPEATS + 1
    seconds["Sylvester solves"] = updates * seconds["one Sylvester solve"]
    ratios = {
        "fit / grams": seconds["fit"] / seconds["grams"],
        "Sylvester solves / fit": seconds["Sylvester solves"] / seconds["fit"],
    }
    kept = {
        "fit / grams < 3": ratios["fit / grams"] < 3,
        "Sylvester solves / fit >= 30": ratios["Sylvester solves / fit"] >= 30,
    }
    return entry_of(X, y, A, seconds=seconds, ratios=ratios, kept=kept, updates=updates)


def against_foundation(folder: Path, rates: Rates) -> Entry:
    """Compare a fit with the first default parameters, and with the published algorithm in the same whitened space."""
    seconds: dict[str, float] = {}
    ratios: dict[str, float] = {}
    for name, X, y, A in _foundation_tasks(folder):
        makers = {"fit": HPL, "foundation": partial(HPL.with_constants(**FOUNDATION_CONSTANTS), **FOUNDATION)}
        found = time_together({kind: partial(_fit, make, X, y, A) for kind, make in makers.items()}, REPEATS)
        # Much slower, so one repeat is enough.
        published = partial(_fit, partial(HPL.as_published, whiten=True), X, y, A)
        found |= time_together({"published": published}, 1)
        seconds |= {f"{name}: {kind}": value for kind, value in found.items()}
        ratios |= {f"{name}: fit / {kind}": found["fit"] / found[kind] for kind in ("foundation", "published")}
    kept = {f"{name} <= 2": value <= 2 for name, value in ratios.items() if name.endswith("foundation")}
    return entry_of(X, y, A, seconds=seconds, ratios=ratios, kept=kept)


def _foundation_tasks(folder: Path) -> list[tuple[str, Array, Array, Array]]:
    found = []
    for name in _FOUNDATION_PACKS:
        if (folder / name).exists():
            from superproto.datasets import load

            task = load(folder / name)
            found.append((name.removesuffix(".npz"), task.X, task.y, task.semantics))
    return found or [("synthetic", *synthetic(CUB._replace(features=1280)))]


def _fit(make: Any, X: Array, y: Array, A: Array) -> HPL:
    fitted: HPL = make().fit(X, y, semantics=A)
    return fitted


def _unseen(y: Array, A: Array) -> int:
    return len(A) - len(np.unique(y[y >= 0]))


def _gram_and_eigh(rows: Array) -> Any:
    from scipy import linalg

    return linalg.eigh((rows.T @ rows).astype(np.float64), overwrite_a=True, check_finite=False, driver="evd")


def _sylvester_seconds(pool: Array, n_classes: int) -> float:
    """Measure one update of the unseen prototypes as a Sylvester equation, (X'X + I) P' + P' C'C = right."""
    from scipy import linalg

    gram, counts = (pool.T @ pool).astype(np.float64), np.bincount(np.arange(len(pool)) % n_classes)
    right = np.random.default_rng(0).normal(size=(pool.shape[1], n_classes))
    start = perf_counter()
    linalg.solve_sylvester(gram + np.eye(len(gram)), np.diag(counts.astype(np.float64)), right)
    return perf_counter() - start


# -- how a fit's cost is made up, and how it grows ---------------------------------------------------------------------


def breakdown(folder: Path, rates: Rates) -> Entry:
    """Divide the time of a fit at CUB's size into parts, and compare with the least time that the machine allows."""
    X, y, A = cub_sized(folder)
    runs = sorted((fit_in_parts(X, y, A, rates) for _ in range(REPEATS)), key=lambda run: run[1]["seconds"]["fit"])
    _, found = runs[REPEATS // 2]
    passes = {name: found["seconds"][name] for name in ("Gram", "whiten", "passes")}
    ratios = {f"{name} / floor": value / found["floor"][name] for name, value in passes.items()}
    return entry_of(X, y, A, **found, ratios=ratios)


def outer_iteration(folder: Path, rates: Rates) -> Entry:
    """Compare an outer iteration on 50,000 unlabeled samples with one product X @ P.T; count passes per iteration."""
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
    """Return the median seconds of an outer iteration, and the median number of its passes over the samples."""
    times: list[float] = []
    visits: list[int] = []
    ledger = Ledger()

    def note(_: Any) -> None:
        times.append(perf_counter())
        visits.append(ledger.visits)

    HPL(max_iter=12, tol=0.0, callback=note, **options).fit(LedgerRows(rows_of(X), ledger), y, semantics=A)
    return float(np.median(np.diff(times))), float(np.median(np.diff(visits)))


def growth(folder: Path, rates: Rates) -> Entry:
    """Measure five iterations as the numbers of unlabeled samples, features, classes or super-prototypes grow."""
    # The time of a pool of 100 samples is the fixed cost; it is subtracted from that of larger pools.
    fixed, classes = _five_iterations(BASE._replace(pool=100)), BASE.seen + BASE.unseen
    counts = [round(share * classes) for share in (0.1, 0.3, 0.9)]
    curves: dict[str, dict[str, list[float]]] = {
        "pool": _curve(POOLS, lambda n: _five_iterations(BASE._replace(pool=n)) - fixed),
        "features": _curve(FEATURE_COUNTS, lambda d: _five_iterations(BASE._replace(features=d))),
        "unseen classes": _curve(CLASSES, lambda n: _five_iterations(BASE._replace(unseen=n))),
        "super-prototypes": _curve(counts, lambda q: _five_iterations(BASE, theta=q / classes)),
    }
    exponents = {name: fitted_exponent(curve["sizes"], curve["seconds"]) for name, curve in curves.items()}
    kept = {"pool: 1.0 +- 0.1": abs(exponents["pool"] - 1) <= 0.1}
    return {"sizes": BASE._asdict(), "curves": curves, "exponents": exponents, "kept": kept}


def _curve(sizes: Any, seconds_at: Any) -> dict[str, list[float]]:
    return {"sizes": list(sizes), "seconds": [max(seconds_at(size), 1e-6) for size in sizes]}


def _five_iterations(size: Size, **options: Any) -> float:
    X, y, A = synthetic(size)
    fit = {"fit": lambda: HPL.with_constants(refine=False)(max_iter=5, tol=0.0, **options).fit(X, y, semantics=A)}
    return time_together(fit, REPEATS)["fit"]


def memory(folder: Path, rates: Rates) -> Entry:
    """Measure the anonymous memory of a fit on a memory-mapped file, for pools too large for the score cache."""
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


def large(folder: Path, rates: Rates, size: Size = IMAGENET, **options: Any) -> Entry:
    """Measure a fit of ImageNet's size: 200,000 + 54,000 samples of 4,096 features, 1,000 + 360 classes.

    Features are written to the disk and deleted afterwards; progress is printed on standard error. The entry has the
    time of each part and the anonymous memory.
    """
    check_room(folder, size)
    path = folder / "features.npy"
    try:
        y, truth, A = write_features(path, size)
        with peak_memory(0.05) as taken:
            model, found = fit_in_parts(np.load(path, mmap_mode="r"), y, A, rates, verbose=1, **options)
    finally:
        path.unlink(missing_ok=True)
    unlabeled = y < 0
    return {
        "sizes": size._asdict(),
        **found,
        "ratios": {"fit / floor": found["seconds"]["fit"] / sum(found["floor"].values())},
        "bytes": taken,
        "accuracy": float(np.mean(model.transduction_[unlabeled] == truth[unlabeled])),
        "kept": {"anonymous memory <= 3 GB": taken["peak"] <= MOST_MEMORY},
    }


def check_room(folder: Path, size: Size = IMAGENET) -> None:
    """Raise if the features of a task of this size cannot be written to the folder."""
    needed = 4 * (size.labeled + size.pool) * size.features
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder. Give a folder with space for the features.")
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free < 1.2 * needed:
        raise UserError(f"{folder} has {free / 1e9:.1f} GB free, but the features take {needed / 1e9:.1f} GB.")


STUDIES: dict[str, Callable[[Path, Rates], Entry]] = {
    "against-others": against_others,
    "against-floor": against_floor,
    "against-foundation": against_foundation,
    "breakdown": breakdown,
    "outer-iteration": outer_iteration,
    "growth": growth,
    "memory": memory,
    "picture-rate": picture_rate,
    "many-pictures": many_pictures,
    "picture-descriptions": picture_descriptions,
    "explorer-page": explorer_page,
    "explorer-refit": explorer_refit,
    "explorer-rows": explorer_rows,
    "explorer-answers": explorer_answers,
}
