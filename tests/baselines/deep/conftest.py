"""All tests here need torch, and run it on one thread: small products gain nothing from a second one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def torch() -> Iterator[Any]:
    """The torch package with one thread; the test skips where it is not installed."""
    package = pytest.importorskip("torch", reason="needs torch: make test-extras")
    threads = package.get_num_threads()
    package.set_num_threads(1)
    package.manual_seed(0)
    yield package
    package.set_num_threads(threads)
