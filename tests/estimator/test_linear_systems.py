"""SHARE: one ridge system and one conjugate gradient, which agree with NumPy's dense solvers."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.estimator.conjugate_gradient import conjugate_gradient
from superproto.estimator.kernel_ridge import regularized, solve_ridge


def positive_definite(n: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(3 * n, n))
    return rows.T @ rows


@pytest.mark.parametrize("jacobi", [False, True])
def test_every_row_is_the_solution_of_its_own_system(jacobi: bool) -> None:
    matrix, rng = positive_definite(12), np.random.default_rng(1)
    right = rng.normal(size=(5, 12)) * np.array([1, 10, 1e-6, 1e6, 0])[:, None]
    diagonal = np.diag(matrix) if jacobi else np.ones(12)
    found = conjugate_gradient(
        rng.normal(size=(5, 12)), right, lambda Y: Y @ matrix, lambda R: R / diagonal, 1e-12, 200
    )
    assert found == pytest.approx(np.linalg.solve(matrix, right.T).T, rel=1e-8, abs=1e-10)


def test_a_start_that_solves_the_systems_is_returned_as_it_is() -> None:
    matrix, start = positive_definite(6), np.random.default_rng(2).normal(size=(3, 6))
    right = start @ matrix
    assert np.array_equal(conjugate_gradient(start, right, lambda Y: Y @ matrix, lambda R: R, 1e-12, 50), start)


def test_the_ridge_is_relative_to_the_mean_eigenvalue() -> None:
    kernel, right = positive_definite(7), np.random.default_rng(3).normal(size=(7, 4))
    shift = 0.3 * np.linalg.eigvalsh(kernel).mean()
    assert solve_ridge(kernel, right, 0.3) == pytest.approx(np.linalg.solve(kernel + shift * np.eye(7), right))
    assert solve_ridge(100 * kernel, right, 0.3) == pytest.approx(solve_ridge(kernel, right, 0.3) / 100)


def test_a_kernel_of_zeros_is_no_singular_system_and_the_kernel_stays_as_it_was() -> None:
    kernel = np.zeros((3, 3))
    assert np.isfinite(solve_ridge(kernel, np.ones((3, 1)), 0.1)).all()
    regularized(kernel, 0.1)
    assert not kernel.any()
