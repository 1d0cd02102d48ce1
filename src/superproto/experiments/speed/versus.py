"""COMPARE a fit with others on the same data, in turns: scikit-learn, bare algebra, Sylvester solves, its own past."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from superproto.experiments.speed.data import CUB, cub_sized, synthetic
from superproto.experiments.speed.entries import Entry, entry_of
from superproto.experiments.speed.machine import Rates, time_together
from superproto.hpl.estimator import HPL
from superproto.samples.chunks import Array

VERSUS_REPEATS = 5
# The defaults that HPL() began with, before anything was added for accuracy.
FOUNDATION: dict[str, Any] = {
    "omega": 0.5,
    "max_iter": 100,
    "tol": 1e-4,
    "alignment_scale": 0.5,
    "temperature": 0.01,
    "code_ridge": 0.0,
    "n_prototypes": 1,
    "own_vote": 1.0,
    "mend": False,
}
_FOUNDATION_PACKS = ("cub_efficientnet_lite0.npz", "flo_efficientnet_lite0.npz")


def against_others(folder: Path, rates: Rates) -> Entry:
    """At CUB's size, d = 2048: the whole fit against scikit-learn's clustering, mixtures and label spreading."""
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
        VERSUS_REPEATS,
    )
    ratios = {f"{name} / fit": value / seconds["fit"] for name, value in seconds.items() if name != "fit"}
    kept = {f"{name} > 1": ratios[name] > 1 for name in ("KMeans(n_init=10) / fit", "LabelSpreading(knn) / fit")}
    return entry_of(X, y, A, seconds=seconds, ratios=ratios, kept=kept)


def against_floor(folder: Path, rates: Rates) -> Entry:
    """At CUB's size, d = 2048: the whole fit against one Gram and eigh per domain, and against Sylvester solves."""
    X, y, A = cub_sized(folder)
    labeled, pool = X[y >= 0], X[y < 0]
    sweeps: list[int] = []
    contenders = {
        "fit": lambda: HPL(callback=lambda sweep: sweeps.append(sweep.iteration)).fit(X, y, semantics=A),
        "grams": lambda: [_gram_and_eigh(rows) for rows in (labeled, pool)],
    }
    seconds = time_together(contenders, VERSUS_REPEATS)
    seconds["one Sylvester solve"] = _sylvester_seconds(pool, _unseen(y, A))
    # The unseen prototypes and the seen ones in every outer iteration, the unseen ones once more at the end.
    updates = 2 * len(sweeps) // VERSUS_REPEATS + 1
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
    """The fit against the defaults that it began with, and against the published loop in the same whitened space."""
    seconds: dict[str, float] = {}
    ratios: dict[str, float] = {}
    for name, X, y, A in _foundation_tasks(folder):
        makers = {"fit": HPL, "foundation": partial(HPL, **FOUNDATION)}
        found = time_together({kind: partial(_fit, make, X, y, A) for kind, make in makers.items()}, VERSUS_REPEATS)
        # So much slower that once is enough.
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
    """One update of the unseen prototypes as a Sylvester equation, (X'X + I) P' + P' C'C = right."""
    from scipy import linalg

    gram, counts = (pool.T @ pool).astype(np.float64), np.bincount(np.arange(len(pool)) % n_classes)
    right = np.random.default_rng(0).normal(size=(pool.shape[1], n_classes))
    start = perf_counter()
    linalg.solve_sylvester(gram + np.eye(len(gram)), np.diag(counts.astype(np.float64)), right)
    return perf_counter() - start
