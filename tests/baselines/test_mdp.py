"""MDP: its centers before and after it has seen unlabeled samples."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows

TASK = make_task(n_seen=10, n_unseen=4, n_features=8, n_attributes=6, samples_per_class=20, random_state=2)


def test_without_a_pool_the_mixture_is_its_start():
    known = ~TASK.asked
    assert METHODS["mdp"]().fit(TASK.X[known], TASK.y[known], semantics=TASK.semantics).n_iter_ == 1


@pytest.mark.parametrize("mixture", ["kmeans", "gmm"])
def test_mdp_moves_its_centers_to_the_pool(mixture):
    model = METHODS["mdp"](mixture=mixture).fit(TASK.X, TASK.y, semantics=TASK.semantics)
    labels = model.transduction_[TASK.asked]
    X = unit_rows(TASK.X[TASK.asked].astype(np.float64))
    for c in np.unique(labels):
        assert np.linalg.norm(model.means_[c] - X[labels == c].mean(axis=0)) < (1e-5 if mixture == "kmeans" else 0.1)
