"""BENCH at the size of the paper's largest set: 200,000 + 54,000 samples of 4,096 features, 1,000 + 360 classes.

The features stay on the disk; what is measured is the time, where it goes, and the memory that no file backs.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from superproto.bench import Entry, context
from superproto.errors import UserError
from superproto.hpl import HPL
from superproto.measuring import measure_rates, peak_memory
from superproto.rows import Array
from superproto.stopwatch import measured

__all__ = ["IMAGENET", "Size", "bench_large", "write_features"]

MOST_MEMORY = 3e9


class Size(NamedTuple):
    """How large a synthetic task is."""

    labeled: int
    pool: int
    features: int
    seen: int
    unseen: int
    attributes: int


IMAGENET = Size(200_000, 54_000, 4096, 1000, 360, 1000)


def write_features(path: Path, size: Size, step: int = 4096) -> tuple[Array, Array, Array]:
    """Features into a .npy file, a part at a time; labels (-1 in the pool), truth and descriptions are returned."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(size.seen + size.unseen, size.attributes))
    centers = (A @ rng.normal(size=(size.attributes, size.features))).astype(np.float32)
    centers /= np.float32(np.sqrt(size.attributes))
    truth = np.concatenate([np.arange(size.labeled) % size.seen, size.seen + np.arange(size.pool) % size.unseen])
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(len(truth), size.features))
    for start in range(0, len(truth), step):
        part = slice(start, min(start + step, len(truth)))
        noise = rng.standard_normal((part.stop - part.start, size.features), dtype=np.float32)
        file[part] = centers[truth[part]] + np.float32(3) * noise
    file.flush()
    return np.where(np.arange(len(truth)) < size.labeled, truth, -1), truth, A


def bench_large(folder: Path, size: Size = IMAGENET, **options: Any) -> Entry:
    """Write the features, fit with progress on standard error, remove them; time, breakdown, floor and memory."""
    path, rates = folder / "features.npy", measure_rates()
    needed, free = 4 * (size.labeled + size.pool) * size.features, _free_bytes(folder)
    if free < 1.2 * needed:
        raise UserError(f"{folder} has {free / 1e9:.1f} GB free, but the features take {needed / 1e9:.1f} GB.")
    try:
        y, truth, A = write_features(path, size)
        with peak_memory(0.05) as memory, measured() as spent, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = perf_counter()
            model = HPL(verbose=1, **options).fit(np.load(path, mmap_mode="r"), y, semantics=A)
            total = perf_counter() - start
    finally:
        path.unlink(missing_ok=True)
    rows, d = size.labeled + size.pool, size.features
    flops = size.labeled * d**2 + 2 * rows * d**2 + model.n_iter_ * 4 * size.pool * size.unseen * d
    seconds = {
        **{name: spent.get(name, 0.0) for name in ("read", "passes", "whiten")},
        "small algebra": total - sum(spent.get(name, 0.0) for name in ("read", "passes", "whiten")),
        "fit": total,
        "floor: flops of the passes": flops / rates.flops,
        "floor: bytes of the passes": (3 * needed + model.n_iter_ * 8 * size.pool * d) / rates.bandwidth,
    }
    asked = y < 0
    return {
        "study": "large",
        "sizes": size._asdict(),
        "seconds": seconds,
        "iterations": model.n_iter_,
        "bytes": memory,
        "accuracy": float(np.mean(model.transduction_[asked] == truth[asked])),
        "kept": {"anonymous memory <= 3 GB": memory["peak"] <= MOST_MEMORY},
        **context(rates),
    }


def _free_bytes(folder: Path) -> int:
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder. Give a folder with room for the features.")
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize
