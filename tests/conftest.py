"""Fixtures of all tests: random numbers, the real packs (a test skips where they are absent), optional packages."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import sklearn.utils  # noqa: F401  (loads the libraries whose threads are limited below)
from threadpoolctl import threadpool_limits

PACKS = Path(os.environ.get("SUPERPROTO_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
OPTIONAL = ("dask", "distributed", "h5py", "optuna", "pandas", "polars", "pyarrow", "zarr")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Small products gain nothing from a second thread, and lose much where other processes use the cores."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # of processes that a test starts
    with threadpool_limits(1):
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator of random numbers, new in each test."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def pack() -> Callable[[str], Path]:
    """``pack("cub_efficientnet_lite0")`` is that pack's path; the test skips where the packs are absent."""

    def find(name: str) -> Path:
        path = PACKS / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"needs the data pack {path.name} (set SUPERPROTO_DATA to its folder)")
        return path

    return find


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of optional packages skip, with the reason, where `make test-extras` has not installed them."""
    missing = [name for name in OPTIONAL if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"needs optional packages ({', '.join(missing)}): make test-extras"
        for item in items:
            if item.get_closest_marker("extra"):
                item.add_marker(pytest.mark.skip(reason=reason))
