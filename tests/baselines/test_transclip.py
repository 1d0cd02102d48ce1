"""TransCLIP: means and the shared variance minimize the likelihood term."""

from __future__ import annotations

import numpy as np
import pytest

from builders import no_moments
from superproto.baselines._shared.mixtures import log_densities, soft_moments
from superproto.baselines.transclip import shared_gaussians
from superproto.samples.kernels import unit_rows


def test_the_shared_variance_minimizes_the_likelihood_term(pool):
    X, z, rng = pool["X"], pool["z"], pool["rng"]
    means, variance = shared_gaussians(soft_moments(X, z, no_moments(3, 5)), np.zeros((3, 5)), np.zeros((1, 5)))

    def loss(v: np.ndarray) -> float:
        return -float((z * log_densities(X, means, v)).sum())

    assert all(loss(variance) < loss(variance * np.exp(0.1 * rng.normal(size=(1, 5)))) for _ in range(20))


def test_unit_means_minimize_the_likelihood_term_when_the_variance_is_isotropic(pool):
    X, z, rng = pool["X"], pool["z"], pool["rng"]
    means, _ = shared_gaussians(soft_moments(X, z, no_moments(3, 5)), np.zeros((3, 5)), np.zeros((1, 5)))
    even = np.ones((1, 5))

    def loss(m: np.ndarray) -> float:
        return -float((z * log_densities(X, m, even)).sum())

    assert np.linalg.norm(means, axis=1) == pytest.approx(np.ones(3))
    assert all(loss(means) < loss(unit_rows(means + 0.1 * rng.normal(size=(3, 5)))) for _ in range(20))
