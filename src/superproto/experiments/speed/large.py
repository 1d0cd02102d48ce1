"""BENCH at the size of the paper's largest set: 200,000 + 54,000 samples of 4,096 features, 1,000 + 360 classes.

The features stay on the disk; what is measured is the time, where it goes, and the memory that no file backs.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.experiments.speed.data import IMAGENET, Size, write_features
from superproto.experiments.speed.entries import Entry, context
from superproto.experiments.speed.fit_parts import fit_in_parts
from superproto.experiments.speed.machine import measure_rates, peak_memory

MOST_MEMORY = 3e9


def bench_large(folder: Path, size: Size = IMAGENET, **options: Any) -> Entry:
    """Write the features, fit with progress on standard error, remove them; time, breakdown, floor and memory."""
    _check_room(folder, 4 * (size.labeled + size.pool) * size.features)
    path, rates = folder / "features.npy", measure_rates()
    try:
        y, truth, A = write_features(path, size)
        with peak_memory(0.05) as memory, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, found = fit_in_parts(np.load(path, mmap_mode="r"), y, A, rates, verbose=1, **options)
    finally:
        path.unlink(missing_ok=True)
    asked = y < 0
    return {
        "study": "large",
        "sizes": size._asdict(),
        **found,
        "ratios": {"fit / floor": found["seconds"]["fit"] / sum(found["floor"].values())},
        "bytes": memory,
        "accuracy": float(np.mean(model.transduction_[asked] == truth[asked])),
        "kept": {"anonymous memory <= 3 GB": memory["peak"] <= MOST_MEMORY},
        **context(rates),
    }


def _check_room(folder: Path, needed: int) -> None:
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder. Give a folder with room for the features.")
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free < 1.2 * needed:
        raise UserError(f"{folder} has {free / 1e9:.1f} GB free, but the features take {needed / 1e9:.1f} GB.")
