"""DSRL: its codes against nonnegative least squares."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines.dsrl import nonnegative_codes


def test_nonnegative_codes_are_those_of_nonnegative_least_squares():
    from scipy.optimize import nnls

    rng = np.random.default_rng(0)
    X, D = rng.normal(size=(10, 6)), rng.normal(size=(4, 6))
    codes = nonnegative_codes(X @ D.T, D @ D.T, 0.0, np.zeros((10, 4)), n_iterations=500)
    assert codes == pytest.approx(np.array([nnls(D.T, x)[0] for x in X]), abs=1e-6)
