"""StatA: its anchored Gaussians are minima, and absent classes do it no harm."""

from __future__ import annotations

import numpy as np
import pytest

from builders import no_moments
from superproto.baselines._shared.mixtures import log_densities, soft_moments
from superproto.baselines.registry import METHODS
from superproto.baselines.stata import anchored_gaussians
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows


def test_anchored_variances_minimize_likelihood_and_divergence_from_the_anchor(pool):
    X, z, rng = pool["X"], pool["z"], pool["rng"]
    anchor, spread = unit_rows(rng.normal(size=(3, 5))), rng.uniform(0.1, 0.5, size=(1, 5))
    means, variances = anchored_gaussians(soft_moments(X, z, no_moments(3, 5)), anchor, spread, 2.0)

    def loss(v: np.ndarray) -> float:
        divergence = 0.5 * (np.log(v / spread) + (spread + (anchor - means) ** 2) / v - 1).sum()
        return 2.0 * float(divergence) - float((z * log_densities(X, means, v)).sum())

    assert all(loss(variances) < loss(variances * np.exp(0.1 * rng.normal(size=(3, 5)))) for _ in range(20))


def test_a_class_that_nobody_chooses_stays_at_its_anchor(pool):
    anchor, spread = unit_rows(pool["rng"].normal(size=(3, 5))), np.full((1, 5), 0.2)
    means, variances = anchored_gaussians(no_moments(3, 5), anchor, spread, 1.0)
    assert means == pytest.approx(anchor)
    assert variances == pytest.approx(np.broadcast_to(spread, (3, 5)))


def test_stata_stands_a_pool_in_which_most_classes_are_missing():
    task = make_task(n_seen=20, n_unseen=10, separation=4, effective_classes=2, random_state=0)
    truth, scores = task.truth[task.asked], {}
    for name in ("prototypes", "stata"):
        model = METHODS[name]().fit(task.X, task.y, semantics=task.semantics)
        scores[name] = np.mean(model.transduction_[task.asked] == truth)
    assert scores["stata"] >= scores["prototypes"]
