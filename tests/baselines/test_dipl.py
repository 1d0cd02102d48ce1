"""DIPL: its map against closed forms and SciPy, its cost and its ties by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from superproto.baselines._shared.projections import invariant_map, spectrum
from superproto.baselines.dipl import shared_ties, two_sided_cost
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows


@pytest.fixture
def pair() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 4)), rng.normal(size=(30, 6))


@pytest.mark.parametrize(("alpha", "closed_form"), [(0, lambda A, X: np.linalg.pinv(A) @ X), (1, None)])
def test_dipl_at_the_ends_of_alpha_is_least_squares_one_way(pair, alpha, closed_form):
    A, X = pair
    expected = closed_form(A, X) if closed_form else (np.linalg.pinv(X) @ A).T
    assert invariant_map(spectrum(A), spectrum(X), A.T @ X, alpha) == pytest.approx(expected)


@pytest.mark.parametrize("alpha", [0.2, 0.7])
def test_dipl_between_is_the_sylvester_equation_of_scipy(pair, alpha):
    A, X = pair
    expected = linalg.solve_sylvester((1 - alpha) * A.T @ A, alpha * X.T @ X, A.T @ X)
    assert invariant_map(spectrum(A), spectrum(X), A.T @ X, alpha) == pytest.approx(expected)


def test_few_rows_give_the_same_map_as_the_full_equation():
    rng = np.random.default_rng(0)
    A, X = rng.normal(size=(3, 5)), rng.normal(size=(3, 7))
    W = invariant_map(spectrum(A), spectrum(X), A.T @ X, 0.4)
    left = 0.6 * A.T @ A @ W + 0.4 * W @ X.T @ X
    assert left == pytest.approx(A.T @ X)


@pytest.mark.parametrize("alpha", [0, 1])
def test_the_whole_of_dipl_without_a_pool_is_its_closed_form(alpha):
    task = make_task(n_seen=8, n_unseen=3, n_features=6, n_attributes=4, random_state=0).inductive()
    model = METHODS["dipl"](alpha=alpha).fit(task.X.astype(np.float64), task.y, semantics=task.semantics)
    rows = unit_rows(np.asarray(task.X, dtype=np.float64))
    rows = unit_rows(rows - rows.mean(axis=0))
    A = unit_rows(np.asarray(task.semantics, dtype=np.float64))[task.y]
    expected = np.linalg.pinv(A) @ rows if alpha == 0 else (np.linalg.pinv(rows) @ A).T
    assert model.map_ == pytest.approx(expected, abs=1e-6)


def test_ties_share_the_weight():
    weights = shared_ties(np.array([[1.0, 1.01, 2.0], [3.0, 1.0, 1.5]]), tolerance=0.02)
    assert weights.tolist() == [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]


def test_the_cost_of_dipl_is_both_distances_at_unit_length(pair):
    A, X = pair
    W = np.random.default_rng(1).normal(size=(4, 6))
    x, a = X[0], A[1]
    visual = np.sum((x / np.linalg.norm(x) - a @ W / np.linalg.norm(a @ W)) ** 2)
    semantic = np.sum((W @ x / np.linalg.norm(W @ x) - a / np.linalg.norm(a)) ** 2)
    assert two_sided_cost(X, A, W, 0.3)[0, 1] == pytest.approx(0.7 * visual + 0.3 * semantic)


def test_superclasses_are_an_option_of_dipl():
    task = make_task(n_seen=12, n_unseen=4, separation=5, random_state=0)
    model = METHODS["dipl"](n_superclasses=5, random_state=0).fit(task.X, task.y, semantics=task.semantics)
    assert np.mean(model.transduction_[task.asked] == task.truth[task.asked]) > 0.8
