"""KEEP what a bench found: one JSON line for each study, with the machine it was measured on."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from time import strftime
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.experiments.records import versions
from superproto.experiments.speed.machine import Rates
from superproto.samples.chunks import Array

Entry = dict[str, Any]


def entry_of(X: Array, y: Array, A: Array, *, kept: dict[str, bool] | None = None, **measured: Any) -> Entry:
    """Sizes of the task, what was measured, and which bounds were kept."""
    sizes = {"labeled": int((y >= 0).sum()), "pool": int((y < 0).sum()), "features": X.shape[1], "classes": len(A)}
    return {"sizes": sizes, **measured, "kept": {name: bool(value) for name, value in (kept or {}).items()}}


def context(rates: Rates) -> Entry:
    """Where and with what an entry was measured."""
    machine = {"processors": os.cpu_count(), "threads": _threads(), "load": _load(), **rates._asdict()}
    return {"machine": machine, "when": strftime("%Y-%m-%d"), "versions": versions()}


def write_entry(path: str | os.PathLike[str], entry: Entry) -> None:
    """Append the entry's line."""
    with open(path, "a", encoding="utf-8") as handle:
        handle.write(json.dumps(entry, allow_nan=False) + "\n")


def last_entries(path: str | os.PathLike[str]) -> dict[str, Entry]:
    """The latest entry of each study, by the study's name; empty where there is no file."""
    if not Path(path).exists():
        return {}
    found: dict[str, Entry] = {}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        try:
            entry = json.loads(line)
            found[entry["study"]] = entry
        except (ValueError, KeyError, TypeError):
            raise UserError(f"{path}: line {number} is no entry of a bench. Delete the line.") from None
    return found


def _threads() -> int:
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    return max((pool["num_threads"] for pool in threadpool_info()), default=1)


def _load() -> float:
    """What else the machine was doing: a ratio from a busy one is to be read with care."""
    return round(os.getloadavg()[0], 1) if platform.system() != "Windows" else 0.0
