"""Fixtures of the baselines: unit rows, and unlabeled samples with assignments and densities for three classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from superproto.samples.kernels import unit_rows


@pytest.fixture
def rows() -> np.ndarray:
    """40 rows of length 1."""
    return unit_rows(np.random.default_rng(0).normal(size=(40, 6)))


@pytest.fixture
def pool(rng: np.random.Generator) -> dict[str, Any]:
    """30 rows X with soft assignments z, log-densities and log-probabilities of a zero-shot classifier."""
    return {
        "X": unit_rows(rng.normal(size=(30, 5))),
        "z": rng.dirichlet(np.ones(3), size=30),
        "density": rng.normal(size=(30, 3)),
        "zero_shot": np.log(rng.dirichlet(np.ones(3), size=30)),
        "rng": rng,
    }
