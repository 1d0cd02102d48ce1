"""Definition: GFZSL against SciPy, its EM against scikit-learn's mixture, MDP and `kmeans` against its K-means."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from superproto.baselines._shared.gaussians import Gaussians, Moments, expectation_maximization, lloyd, log_joint
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows

RNG = np.random.default_rng(1)
TASK = make_task(n_seen=10, n_unseen=4, n_features=8, n_attributes=6, samples_per_class=20, random_state=2)
NOTHING = Moments(np.zeros(3), np.zeros((3, 5)), np.zeros((3, 5)))


def test_the_log_joint_is_scipys_density():
    X, means, variances = RNG.normal(size=(6, 5)), RNG.normal(size=(3, 5)), RNG.uniform(0.2, 2, size=(3, 5))
    weights = np.log([0.2, 0.3, 0.5])
    expected = np.array([norm.logpdf(X, m, np.sqrt(v)).sum(axis=1) for m, v in zip(means, variances)]).T + weights
    found = log_joint(X, Gaussians(means, variances, weights)) - 2.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_em_takes_the_steps_of_scikit_learns_mixture_started_alike():
    X = RNG.normal(size=(90, 5)) + np.repeat(2 * RNG.normal(size=(3, 5)), 30, axis=0)
    start = Gaussians(RNG.normal(size=(3, 5)), np.ones((3, 5)), np.full(3, -np.log(3)))
    found, steps = expectation_maximization(X, start, NOTHING, floor=0.05, max_iter=7, tol=-np.inf)
    reference = GaussianMixture(
        3,
        covariance_type="diag",
        reg_covar=0.05,
        tol=0,
        max_iter=7,
        means_init=start.means,
        precisions_init=1 / start.variances,
        weights_init=np.full(3, 1 / 3),
        init_params="random_from_data",
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference.fit(X)
    assert steps == 7
    np.testing.assert_allclose(found.means, reference.means_, atol=1e-8)
    np.testing.assert_allclose(found.variances, reference.covariances_, atol=1e-8)
    np.testing.assert_allclose(np.exp(found.log_weights), reference.weights_, atol=1e-8)


def test_labeled_rows_stay_in_their_component():
    X = np.zeros((4, 1))
    labeled = Moments(np.array([0.0, 6.0]), np.array([[0.0], [60.0]]), np.array([[0.0], [600.0]]))
    start = Gaussians(np.array([[0.0], [10.0]]), np.ones((2, 1)), np.log([0.5, 0.5]))
    found, _ = expectation_maximization(X, start, labeled, floor=0.1, max_iter=3, tol=1e-9)
    np.testing.assert_allclose(found.means.ravel(), [0, 10], atol=1e-6)


def test_lloyd_is_k_means_from_the_same_centers_and_an_empty_class_stays():
    X = RNG.normal(size=(80, 5))
    centers = X[:3]
    found, _ = lloyd(X, centers, NOTHING, 100)
    reference = KMeans(3, init=centers, n_init=1, tol=0).fit(X).cluster_centers_
    np.testing.assert_allclose(found, reference, atol=1e-8)
    far = np.vstack([centers[:2], np.full((1, 5), 99.0)])
    np.testing.assert_allclose(lloyd(X, far, NOTHING, 100)[0][2], 99.0)


def test_gfzsl_without_a_ridge_on_variances_knows_a_twin_of_a_seen_class():
    X = unit_rows(np.asarray(TASK.X, dtype=np.float64))
    A = np.vstack([TASK.semantics, TASK.semantics[:1] * 3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = METHODS["gfzsl"](ridge=1e-9, variance_ridge=1e-9, kernel="rbf").fit(X, TASK.y, semantics=A)
    np.testing.assert_allclose(model.means_[-1], model.means_[0], atol=1e-4)
    np.testing.assert_allclose(model.variances_[-1], model.variances_[0], rtol=1e-3)


@pytest.mark.parametrize("name", ["gfzsl-em", "mdp"])
def test_without_a_pool_the_mixtures_are_their_start(name):
    known = ~TASK.asked
    model = METHODS[name]().fit(TASK.X[known], TASK.y[known], semantics=TASK.semantics)
    assert model.n_iter_ == 1
    if name == "gfzsl-em":
        start = METHODS["gfzsl"]().fit(TASK.X[known], TASK.y[known], semantics=TASK.semantics)
        np.testing.assert_allclose(model.means_, start.means_)


@pytest.mark.parametrize("mixture", ["kmeans", "gmm"])
def test_mdp_moves_its_centers_to_the_pool(mixture):
    model = METHODS["mdp"](mixture=mixture).fit(TASK.X, TASK.y, semantics=TASK.semantics)
    labels = model.transduction_[TASK.asked]
    X = unit_rows(TASK.X[TASK.asked].astype(np.float64))
    for c in np.unique(labels):
        assert np.linalg.norm(model.means_[c] - X[labels == c].mean(axis=0)) < (1e-5 if mixture == "kmeans" else 0.1)


def test_k_means_from_the_prototypes_is_scikit_learns_from_the_same_start():
    start = METHODS["prototypes"]().fit(TASK.X, TASK.y, semantics=TASK.semantics)
    asked, unseen = TASK.asked, TASK.unseen_classes
    pool = unit_rows(TASK.X[asked])
    reference = KMeans(len(unseen), init=start.classifiers_[unseen], n_init=1, tol=0).fit(pool)
    found = METHODS["kmeans"]().fit(TASK.X, TASK.y, semantics=TASK.semantics)
    np.testing.assert_array_equal(found.transduction_[asked], unseen[reference.labels_])
    np.testing.assert_allclose(found.centers_[unseen], reference.cluster_centers_, atol=1e-5)
