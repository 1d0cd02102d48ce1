"""Fixtures: where the real packs are, and a skip with a reason where they are not."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import pytest

PACKS = Path(os.environ.get("SUPERPROTO_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def pack() -> Callable[[str], Path]:
    """``pack("cub_efficientnet_lite0")`` is that pack's path; the test skips where the packs are not at hand."""

    def find(name: str) -> Path:
        path = PACKS / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"needs the data pack {path.name} (set SUPERPROTO_DATA to its folder)")
        return path

    return find


OPTIONAL = ("dask", "distributed", "h5py", "optuna", "pandas", "polars", "pyarrow", "zarr")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of optional packages skip, with the reason, where `make test-extras` has not installed them."""
    missing = [name for name in OPTIONAL if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"needs optional packages ({', '.join(missing)}): make test-extras"
        for item in items:
            if item.get_closest_marker("extra"):
                item.add_marker(pytest.mark.skip(reason=reason))
