"""TransCLIP, StatA, EM-Dirichlet and InMaP: every update is the minimum that its docstring says it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import psi
from scipy.stats import dirichlet, multivariate_normal

from superproto.baselines._shared.gaussians import Moments
from superproto.baselines._shared.graphs import cosine_graph
from superproto.baselines._shared.mixtures import log_densities, mixture_objective, soft_moments, update_assignments
from superproto.baselines.em_dirichlet import fit_dirichlets, inverse_digamma, log_dirichlet
from superproto.baselines.inmap import even_out, proxy_loss
from superproto.baselines.registry import METHODS
from superproto.baselines.stata import anchored_gaussians
from superproto.baselines.transclip import shared_gaussians
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows


@pytest.fixture
def pool() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    X = unit_rows(rng.normal(size=(30, 5)))
    return {
        "X": X,
        "z": rng.dirichlet(np.ones(3), size=30),
        "density": rng.normal(size=(30, 3)),
        "zero_shot": np.log(rng.dirichlet(np.ones(3), size=30)),
        "rng": rng,
    }


def nothing(n: int, d: int) -> Moments:
    return Moments(np.zeros(n), np.zeros((n, d)), np.zeros((n, d)))


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


def test_the_shared_variance_minimizes_the_likelihood_term(pool):
    X, z, rng = pool["X"], pool["z"], pool["rng"]
    means, variance = shared_gaussians(soft_moments(X, z, nothing(3, 5)), np.zeros((3, 5)), np.zeros((1, 5)))

    def loss(v: np.ndarray) -> float:
        return -float((z * log_densities(X, means, v)).sum())

    assert all(loss(variance) < loss(variance * np.exp(0.1 * rng.normal(size=(1, 5)))) for _ in range(20))


def test_unit_means_minimize_the_likelihood_term_when_the_variance_is_isotropic(pool):
    X, z, rng = pool["X"], pool["z"], pool["rng"]
    means, _ = shared_gaussians(soft_moments(X, z, nothing(3, 5)), np.zeros((3, 5)), np.zeros((1, 5)))
    even = np.ones((1, 5))

    def loss(m: np.ndarray) -> float:
        return -float((z * log_densities(X, m, even)).sum())

    assert np.linalg.norm(means, axis=1) == pytest.approx(np.ones(3))
    assert all(loss(means) < loss(unit_rows(means + 0.1 * rng.normal(size=(3, 5)))) for _ in range(20))


def test_anchored_variances_minimize_likelihood_and_divergence_from_the_anchor(pool):
    X, z, rng = pool["X"], pool["z"], pool["rng"]
    anchor, spread = unit_rows(rng.normal(size=(3, 5))), rng.uniform(0.1, 0.5, size=(1, 5))
    means, variances = anchored_gaussians(soft_moments(X, z, nothing(3, 5)), anchor, spread, 2.0)

    def loss(v: np.ndarray) -> float:
        divergence = 0.5 * (np.log(v / spread) + (spread + (anchor - means) ** 2) / v - 1).sum()
        return 2.0 * float(divergence) - float((z * log_densities(X, means, v)).sum())

    assert all(loss(variances) < loss(variances * np.exp(0.1 * rng.normal(size=(3, 5)))) for _ in range(20))


def test_a_class_that_nobody_chooses_stays_at_its_anchor(pool):
    anchor, spread = unit_rows(pool["rng"].normal(size=(3, 5))), np.full((1, 5), 0.2)
    means, variances = anchored_gaussians(nothing(3, 5), anchor, spread, 1.0)
    assert means == pytest.approx(anchor)
    assert variances == pytest.approx(np.broadcast_to(spread, (3, 5)))


def test_stata_stands_a_pool_in_which_most_classes_are_missing():
    task = make_task(n_seen=20, n_unseen=10, separation=4, effective_classes=2, random_state=0)
    truth, scores = task.truth[task.asked], {}
    for name in ("prototypes", "stata"):
        model = METHODS[name]().fit(task.X, task.y, semantics=task.semantics)
        scores[name] = np.mean(model.transduction_[task.asked] == truth)
    assert scores["stata"] >= scores["prototypes"]


def test_digamma_is_inverted():
    values = np.array([1e-4, 0.1, 1.0, 5.0, 300.0])
    assert inverse_digamma(psi(values)) == pytest.approx(values, rel=1e-8)


def test_dirichlets_satisfy_the_likelihood_equation_and_density_is_scipys():
    rng = np.random.default_rng(0)
    alphas = np.array([[2.0, 1.0, 4.0]])
    samples = rng.dirichlet(alphas[0], size=4000)
    logs = np.log(samples)
    found = fit_dirichlets(logs.mean(axis=0, keepdims=True), np.ones((1, 3)), n_steps=500)
    assert psi(found) - psi(found.sum()) == pytest.approx(logs.mean(axis=0, keepdims=True), abs=1e-6)
    assert found == pytest.approx(alphas, rel=0.1)
    assert log_dirichlet(logs[:5], alphas)[:, 0] == pytest.approx([dirichlet(alphas[0]).logpdf(s) for s in samples[:5]])


def test_em_dirichlet_keeps_classes_apart_whose_softmax_is_at_the_corners():
    task = make_task(n_seen=20, n_unseen=4, n_features=24, n_attributes=10, samples_per_class=15, separation=6.0)
    model = METHODS["em-dirichlet"](logit_scale=500.0).fit(task.X, task.y, semantics=task.semantics)
    assert np.mean(model.transduction_[task.asked] == task.truth[task.asked]) > 0.9


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
