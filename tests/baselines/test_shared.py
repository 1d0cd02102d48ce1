"""What several baselines share: predicted prototypes, graphs, mixtures, losses and parameter checks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.stats import multivariate_normal, norm
from sklearn.cluster import KMeans
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.mixture import GaussianMixture

from builders import no_moments
from superproto.baselines._shared.class_vectors import class_vectors, shares_space
from superproto.baselines._shared.gaussians import Gaussians, Moments, expectation_maximization, lloyd, log_joint
from superproto.baselines._shared.graphs import (
    cosine_graph,
    nearest_neighbors,
    row_groups,
)
from superproto.baselines._shared.losses import (
    cross_entropy,
    logistic,
    minimize_linear,
    squared_hinge,
    structured_hinge,
)
from superproto.baselines._shared.mixtures import log_densities, mixture_objective, update_assignments
from superproto.baselines._shared.predicted_prototypes import (
    class_means,
    class_variances,
    median_squared_distance,
    predict_unseen_prototypes,
    sparse_weights,
    unit_semantics,
)
from superproto.baselines._shared.ranking import ranking_gradient
from superproto.baselines.ale import rank_weighted
from superproto.baselines.devise import every_violation
from superproto.baselines.registry import METHODS
from superproto.baselines.sje import worst_violation
from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.estimator.validation import check_problem
from superproto.samples.kernels import unit_rows
from superproto.samples.whitening import Metric


def descriptions_and_means() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Descriptions of 9 seen and 4 unseen classes, and the means of the seen ones."""
    rng = np.random.default_rng(0)
    seen, unseen, means = (unit_semantics(rng.normal(size=shape)) for shape in ((9, 6), (4, 6), (9, 11)))
    return seen, unseen, means


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_predicted_prototypes_are_scikit_learns_kernel_ridge(kernel):
    A_seen, A_unseen, means = descriptions_and_means()
    width = median_squared_distance(A_seen)
    alpha = 0.1 * (1.0 if kernel == "rbf" else (A_seen**2).sum() / len(A_seen))
    reference = KernelRidge(alpha=alpha, kernel=kernel, gamma=1 / width).fit(A_seen, means).predict(A_unseen)
    np.testing.assert_allclose(predict_unseen_prototypes(means, A_seen, A_unseen, 0.1, kernel), reference, atol=1e-8)


def test_without_ridge_a_seen_description_gets_its_own_mean():
    A_seen, _, means = descriptions_and_means()
    found = predict_unseen_prototypes(means, A_seen, A_seen[2:4], 1e-9, "rbf")
    np.testing.assert_allclose(found, means[2:4], atol=1e-6)


def test_class_moments_leave_unlabeled_rows_out(rng):
    X, labels = rng.normal(size=(30, 3)), rng.integers(-1, 4, size=30)
    means = class_means(X, labels, 5)
    variances = class_variances(X, labels, means)
    for c in range(4):
        np.testing.assert_allclose(means[c], X[labels == c].mean(axis=0))
        np.testing.assert_allclose(variances[c], X[labels == c].var(axis=0))
    assert not means[4].any()


def test_sparse_weights_are_the_lasso_and_vanish_at_one():
    A_seen, A_unseen, _ = descriptions_and_means()
    found = sparse_weights(A_seen, A_unseen, 0.2)
    penalty = 0.2 * np.abs(A_seen @ A_unseen[1]).max() / A_seen.shape[1]
    reference = Lasso(alpha=penalty, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(A_seen.T, A_unseen[1]).coef_
    np.testing.assert_allclose(found[1], reference, atol=1e-4)
    assert not sparse_weights(A_seen, A_unseen, 1.0).any()
    assert not sparse_weights(A_seen, np.zeros((1, 6)), 0.1).any()


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("prototypes", {"ridge": -1}, "ridge is -1, but it must be at least 0"),
        ("sae", {"lam": 0}, "lam is 0, but it must be larger than 0"),
        ("prototypes", {"kernel": "poly"}, "kernel is 'poly'. Give one of 'linear', 'rbf'"),
        ("sync", {"loss": "ovo"}, "loss is 'ovo'. Give one of 'one-vs-all', 'struct'"),
        *(
            (name, {"alpha": 1.5}, r"alpha is 1\.5, but it must be at least 0 and less than 1")
            for name in ("label-spreading", "zlap", "dsrl", "ale-trans", "tmv-hlp")
        ),
        ("dipl", {"alpha": 2}, "alpha is 2, but it must be between 0 and 1"),
        ("zlap", {"n_neighbors": 0}, "n_neighbors is 0, but it must be larger than 0"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_value(name, params, words):
    task = make_task(n_seen=4, n_unseen=2, samples_per_class=4)
    with pytest.raises(UserError, match=words):
        METHODS[name](**params).fit(task.X, task.y, semantics=task.semantics)


def test_nearest_finds_what_sorting_all_cosines_finds(rows, monkeypatch):
    monkeypatch.setattr("superproto.baselines._shared.graphs.chunk_length", lambda *_: 7)
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -np.inf)
    index, values = nearest_neighbors(rows, 5)
    assert np.sort(values, axis=1) == pytest.approx(np.sort(cosines, axis=1)[:, -5:])
    assert np.take_along_axis(cosines, index, axis=1) == pytest.approx(values)


def test_a_single_row_has_no_neighbor(rows):
    assert nearest_neighbors(rows[:1], 3)[0].shape == (1, 0)
    assert nearest_neighbors(rows[:2], 3)[0].tolist() == [[1], [0]]


def test_equal_rows_are_one_group(rows):
    doubled = np.vstack([rows[:3], rows[:3] + 1e-8])
    groups = row_groups(doubled)
    assert (groups[:3] == groups[3:]).all()
    assert len(set(groups)) == 3


def test_text_in_the_space_of_the_images_is_taken_as_class_vectors():
    rng = np.random.default_rng(0)
    text = rng.normal(size=(6, 20))
    labels = np.repeat(np.arange(4), 10)
    X = unit_rows(text[labels] + 0.5 * rng.normal(size=(40, 20)))
    shared = check_problem(labels, text)
    assert shares_space(X, shared, Metric())
    assert class_vectors(X, shared, Metric()) == pytest.approx(unit_rows(text))
    # As many attributes as features, but of another kind.
    assert not shares_space(X, check_problem(labels, rng.normal(size=(6, 20))), Metric())


def test_the_log_joint_is_scipys_density(rng):
    X, means, variances = rng.normal(size=(6, 5)), rng.normal(size=(3, 5)), rng.uniform(0.2, 2, size=(3, 5))
    weights = np.log([0.2, 0.3, 0.5])
    expected = np.array([norm.logpdf(X, m, np.sqrt(v)).sum(axis=1) for m, v in zip(means, variances)]).T + weights
    found = log_joint(X, Gaussians(means, variances, weights)) - 2.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_em_takes_the_steps_of_scikit_learns_mixture_started_alike(rng):
    X = rng.normal(size=(90, 5)) + np.repeat(2 * rng.normal(size=(3, 5)), 30, axis=0)
    start = Gaussians(rng.normal(size=(3, 5)), np.ones((3, 5)), np.full(3, -np.log(3)))
    found, steps = expectation_maximization(X, start, no_moments(3, 5), floor=0.05, max_iter=7, tol=-np.inf)
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


def test_lloyd_is_k_means_from_the_same_centers_and_an_empty_class_stays(rng):
    X = rng.normal(size=(80, 5))
    centers = X[:3]
    found, _ = lloyd(X, centers, no_moments(3, 5), 100)
    reference = KMeans(3, init=centers, n_init=1, tol=0).fit(X).cluster_centers_
    np.testing.assert_allclose(found, reference, atol=1e-8)
    far = np.vstack([centers[:2], np.full((1, 5), 99.0)])
    np.testing.assert_allclose(lloyd(X, far, no_moments(3, 5), 100)[0][2], 99.0)


def test_densities_are_those_of_scipy(pool):
    rng, X = pool["rng"], pool["X"]
    means, variances = rng.normal(size=(3, 5)), rng.uniform(0.1, 2, size=(3, 5))
    theirs = np.stack([multivariate_normal(m, np.diag(v)).logpdf(X) for m, v in zip(means, variances)], axis=1)
    ours = log_densities(X, means, variances)
    assert ours - theirs == pytest.approx(np.full((30, 3), 2.5 * np.log(2 * np.pi)))


def test_assignments_minimize_the_objective_with_its_neighbor_term_linearized(pool):
    rng, z_old = pool["rng"], pool["z"]
    graph = cosine_graph(pool["X"], 3)
    graph = (graph + graph.T) / 6
    pull = graph @ z_old

    def surrogate(z: np.ndarray) -> float:
        return float((z * (np.log(z) - pool["density"] - pool["zero_shot"] - pull)).sum())

    best = update_assignments(pool["density"], pool["zero_shot"], pull)
    for _ in range(50):
        other = 0.9 * best + 0.1 * rng.dirichlet(np.ones(3), size=30)
        assert surrogate(best) < surrogate(other)


def test_the_objective_never_rises_over_rounds_of_assignments(pool):
    # Adding the largest row sum to the diagonal makes the quadratic term convex, which the tangent argument needs.
    graph = cosine_graph(pool["X"], 3)
    graph = (graph + graph.T) / 6
    graph.setdiag(np.asarray(graph.sum(axis=1)).ravel())
    graph = graph.tocsr()
    z, values = pool["z"], []
    for _ in range(20):
        z = update_assignments(pool["density"], pool["zero_shot"], graph @ z)
        values.append(mixture_objective(z, pool["density"], pool["zero_shot"], graph))
    assert (np.diff(values) <= 1e-10).all()


RNG = np.random.default_rng(5)


LABELS = RNG.integers(4, size=20)


LOSSES = {
    "squared hinge": squared_hinge(np.where(LABELS[:, None] == np.arange(4), 1.0, -1.0)),
    "structured": structured_hinge(LABELS, RNG.uniform(0.5, 1.5, size=(4, 4))),
    "cross entropy": cross_entropy(LABELS),
    "logistic": logistic(RNG.normal(size=(20, 2, 2)), RNG.uniform(size=(20, 2))),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_returns_its_own_gradient(name, rng):
    loss = LOSSES[name]
    F = rng.normal(size=80)
    error = check_grad(lambda f: loss(f.reshape(20, 4))[0], lambda f: loss(f.reshape(20, 4))[1].ravel(), F)
    assert error < 1e-5


def test_cross_entropy_finds_scikit_learns_logistic_regression(rng):
    X = rng.normal(size=(20, 3))
    found, steps = minimize_linear(X, LOSSES["cross entropy"], 4, 0.1, 500)
    reference = LogisticRegression(C=1 / (20 * 0.1), fit_intercept=False, tol=1e-8, max_iter=1000).fit(X, LABELS)
    np.testing.assert_allclose(found, reference.coef_, atol=1e-3)
    assert 1 < steps < 500


@pytest.mark.parametrize("weighting", [every_violation, worst_violation, rank_weighted])
def test_the_gradient_is_that_of_the_loss(weighting, rng):
    X, A, W = rng.normal(size=(12, 4)), rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    labels = rng.integers(5, size=12)
    gradient, value = ranking_gradient(X, labels, A, W, 1.0, weighting)
    assert value > 0
    for index in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[index] = 1e-6
        up, down = (ranking_gradient(X, labels, A, W + s, 1.0, weighting)[1] for s in (step, -step))
        assert (up - down) / 2e-6 == pytest.approx(gradient[index], abs=1e-5)


@pytest.mark.parametrize("name", ["ale", "devise", "sje"])
def test_margin_and_step_together_change_nothing(name):
    task = make_task(n_seen=6, n_unseen=3, n_features=10, samples_per_class=10)
    X = task.X.astype(np.float64)
    one, four = (
        METHODS[name](margin=s, learning_rate=0.5 * s, random_state=0).fit(X, task.y, semantics=task.semantics)
        for s in (1.0, 4.0)
    )
    np.testing.assert_allclose(four.classifiers_, 4 * one.classifiers_, rtol=1e-6, atol=1e-9)
