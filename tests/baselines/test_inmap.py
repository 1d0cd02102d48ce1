"""InMaP: equal class sizes, and the gradient of its loss."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

from superproto.baselines.inmap import even_out, proxy_loss


def test_even_out_at_full_strength_makes_classes_equally_large():
    P = np.random.default_rng(0).dirichlet([5, 1, 1], size=200)
    assert even_out(P, 0.0) is P
    even = even_out(P, 1.0, n_rounds=200)
    assert even.sum(axis=0) == pytest.approx(np.full(3, 200 / 3), rel=1e-3)
    assert even.sum(axis=1) == pytest.approx(np.ones(200))


def test_the_gradient_of_the_proxies_is_that_of_their_loss(pool):
    X, targets = pool["X"], pool["z"]
    start = pool["rng"].normal(size=15)
    arguments = (X, targets, 4.0)
    error = check_grad(lambda w: proxy_loss(w, *arguments)[0], lambda w: proxy_loss(w, *arguments)[1], start)
    assert error < 1e-5
