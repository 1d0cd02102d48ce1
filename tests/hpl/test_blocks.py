"""Definitions: every block of the solver against an independent solver, a closed form, or the meaning of a minimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from scipy.special import softmax

from superproto.hpl.objective import assignment, sphere
from superproto.hpl.objective.alignment import (
    one_way_codes,
    one_way_codes_of_descriptions,
    prototypes_of_codes,
    two_way_codes,
    two_way_codes_of_descriptions,
    two_way_prototypes,
)
from superproto.hpl.objective.dictionary import (
    dictionary_by_blocks,
    dictionary_by_gradient,
    dictionary_objective,
    project_rows,
    two_way_dictionary,
)
from superproto.hpl.objective.least_squares import (
    encoding_cost,
    least_squares_prototypes,
    quadratic_form,
    spectrum_of_gram,
    spectrum_of_rows,
)
from superproto.hpl.seen_classes import predict_prototypes
from superproto.samples import kernels
from superproto.samples.chunks import ArrayRows
from superproto.samples.whitened import WhitenedSamples
from superproto.samples.whitening import Metric

BETA, LAM = 1.5, 0.8


@pytest.fixture(params=[(40, 7), (5, 9)], ids=["N>d", "N<d"])
def scene(request):
    """Random samples of a few classes, with codes and super-prototypes."""
    n, d = request.param
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    labels = np.arange(n) % 4
    C = np.eye(4)[labels]
    return {
        "X": X, "C": C, "counts": C.sum(axis=0), "sums": C.T @ X, "rng": rng,
        "P": rng.normal(size=(4, d)), "A": rng.normal(size=(4, 6)), "Z": rng.normal(size=(4, 3)),
        "D_v": project_rows(rng.normal(size=(3, d))), "D_c": project_rows(rng.normal(size=(3, 6))),
        "spectrum": spectrum_of_rows(X) if n < d else spectrum_of_gram(X.T @ X),
    }  # fmt: skip


def nudges_raise(value, point, rng, tol=1e-9):
    """No small step in any direction lowers ``value`` at ``point``."""
    best = value(point)
    for size in (1e-1, 1e-3, 1e-5):
        for _ in range(20):
            step = rng.normal(size=point.shape)
            assert value(point + size * step / np.linalg.norm(step)) >= best - tol * abs(best)


def encoding(scene, P, t=1.0):
    X, C = scene["X"], scene["C"]
    return t * ((X @ P.T - C) ** 2).sum() + ((X - C @ P) ** 2).sum()


def align(scene, P, Z, D_v, D_c):
    return ((P - Z @ D_v) ** 2).sum() + LAM * ((scene["A"] - Z @ D_c) ** 2).sum()


def test_prototypes_solve_the_sylvester_equation(scene):
    X, C, Z, D_v = scene["X"], scene["C"], scene["Z"], scene["D_v"]
    P = least_squares_prototypes(scene["spectrum"], scene["counts"], scene["sums"], Z @ D_v, BETA, np.ones(4), 1.0)
    left, right = BETA * X.T @ X + np.eye(X.shape[1]), BETA * C.T @ C
    expected = linalg.solve_sylvester(left, right, 2 * BETA * X.T @ C + (Z @ D_v).T).T
    np.testing.assert_allclose(P, expected, atol=1e-8)


@pytest.mark.parametrize("t", [0.0, 0.3, 1.0])
def test_prototypes_are_a_minimum_of_their_block(scene, t):
    kappa = np.array([1.0, 2.0, 0.5, 7.0])
    target = scene["Z"] @ scene["D_v"]
    P = least_squares_prototypes(scene["spectrum"], scene["counts"], scene["sums"], target, BETA, kappa, t)

    def value(P):
        return BETA * encoding(scene, P, t) + (kappa[:, None] * (P - target) ** 2).sum()

    nudges_raise(value, P, scene["rng"])


def test_thin_and_dense_spectra_give_the_same_prototypes():
    rng = np.random.default_rng(0)
    X, counts, sums = rng.normal(size=(6, 20)), np.array([4.0, 2.0]), rng.normal(size=(2, 20))
    target = rng.normal(size=(2, 20))
    answers = [
        least_squares_prototypes(spectrum, counts, sums, target, BETA, np.ones(2), 1.0)
        for spectrum in (spectrum_of_rows(X), spectrum_of_gram(X.T @ X))
    ]
    np.testing.assert_allclose(*answers, atol=1e-8)


def test_encoding_cost_needs_no_sample(scene):
    P, X = scene["P"], scene["X"]
    stretched = quadratic_form(P, scene["spectrum"])
    cost = encoding_cost(P, scene["counts"], scene["sums"], stretched, 0.7) + 0.7 * len(X) + (X**2).sum()
    assert cost == pytest.approx(encoding(scene, P, 0.7), rel=1e-12)


def test_codes_are_a_minimum_of_their_block(scene):
    P, A, D_v, D_c = (scene[name] for name in ("P", "A", "D_v", "D_c"))
    Z = one_way_codes(P, A, scene["Z"], D_v, D_c, LAM)
    nudges_raise(lambda Z: align(scene, P, Z, D_v, D_c), Z, scene["rng"])


def test_codes_never_raise_the_objective_when_super_prototypes_repeat(scene):
    D_v, D_c = np.repeat(scene["D_v"], 3, axis=0), np.repeat(scene["D_c"], 3, axis=0)
    Z = scene["rng"].normal(size=(4, 9))
    before = align(scene, scene["P"], Z, D_v, D_c)
    for _ in range(5):
        Z = one_way_codes(scene["P"], scene["A"], Z, D_v, D_c, LAM)
        after = align(scene, scene["P"], Z, D_v, D_c)
        assert after <= before * (1 + 1e-10)
        before = after


def dictionary_problem(rng, q=6, d=5, classes=9):
    Z, P = rng.normal(size=(classes, q)), 3 * rng.normal(size=(classes, d))
    return project_rows(rng.normal(size=(q, d))), Z.T @ Z, Z.T @ P


def test_both_dictionary_solvers_reach_the_same_objective():
    D, G, B = dictionary_problem(np.random.default_rng(3))
    by_blocks = dictionary_by_blocks(D, G, B, 1e-12, 5000)
    by_gradient = dictionary_by_gradient(D, G, B, 1e-12, 20000)
    assert dictionary_objective(by_gradient, G, B) == pytest.approx(dictionary_objective(by_blocks, G, B), rel=1e-8)


def test_dictionary_satisfies_its_optimality_certificate():
    D, G, B = dictionary_problem(np.random.default_rng(4))
    D = dictionary_by_blocks(D, G, B, 1e-13, 5000)
    multipliers = ((B - G @ D) * D).sum(axis=1)
    slack = 1 - np.linalg.norm(D, axis=1)
    assert slack.min() >= -1e-12
    assert multipliers.min() >= -1e-8
    np.testing.assert_allclose(multipliers * slack, 0, atol=1e-7)
    free = slack > 1e-9
    np.testing.assert_allclose((G @ D)[free], B[free], atol=1e-6)
    np.testing.assert_allclose((G + np.diag(multipliers)) @ D, B, atol=1e-6)


@pytest.mark.parametrize("solve", [dictionary_by_blocks, dictionary_by_gradient])
def test_every_dictionary_sweep_lowers_the_objective(solve):
    D, G, B = dictionary_problem(np.random.default_rng(5))
    values = [dictionary_objective(D, G, B)]
    for _ in range(20):
        D = solve(D, G, B, 0.0, 1)
        values.append(dictionary_objective(D, G, B))
    assert np.diff(values).max() <= 1e-10 * abs(values[-1])


def align1(scene, P, Z, D_v, D_c):
    both = ((P @ D_v.T - Z) ** 2).sum() + LAM * ((scene["A"] @ D_c.T - Z) ** 2).sum()
    return align(scene, P, Z, D_v, D_c) + both


def test_hpl1_codes_prototypes_and_dictionary_are_minima(scene):
    P, A, D_v, D_c, Z = (scene[name] for name in ("P", "A", "D_v", "D_c", "Z"))
    counts, sums, rng = scene["counts"], scene["sums"], scene["rng"]
    codes = two_way_codes(P, A, D_v, D_c, LAM)
    nudges_raise(lambda Z: align1(scene, P, Z, D_v, D_c), codes, rng)
    solved = two_way_prototypes(P, scene["spectrum"], counts, sums, Z, D_v, BETA, np.ones(4), 1.0)
    nudges_raise(lambda P: BETA * encoding(scene, P) + align1(scene, P, Z, D_v, D_c), solved, rng)
    D = two_way_dictionary(Z, P)
    nudges_raise(lambda D: align1(scene, P, Z, D, D_c), D, rng)
    assert np.linalg.norm(D, axis=1).max() <= 1 + 1e-9


def test_hpl1_prototypes_agree_with_one_dense_solve_per_class(scene):
    X, Z, D_v = scene["X"], scene["Z"], scene["D_v"]
    kappa = np.array([1.0, 3.0, 0.2, 1.0])
    P = two_way_prototypes(scene["P"], scene["spectrum"], scene["counts"], scene["sums"], Z, D_v, BETA, kappa, 1.0)
    for j in range(4):
        left = BETA * X.T @ X + (kappa[j] + BETA * scene["counts"][j]) * np.eye(X.shape[1]) + kappa[j] * D_v.T @ D_v
        right = 2 * BETA * scene["sums"][j] + 2 * kappa[j] * Z[j] @ D_v
        np.testing.assert_allclose(P[j], np.linalg.solve(left, right), atol=1e-9)


def test_hpl1_hollow_class_minimizes_code_and_prototype_together(scene):
    A, D_v, D_c = scene["A"], scene["D_v"], scene["D_c"]
    Z = two_way_codes_of_descriptions(A, D_v, D_c, LAM)
    P = prototypes_of_codes(Z, D_v)
    joint = np.concatenate([P, Z], axis=1)
    d = P.shape[1]
    nudges_raise(lambda joint: align1(scene, joint[:, :d], joint[:, d:], D_v, D_c), joint, scene["rng"])


def test_hollow_codes_have_minimum_norm():
    rng = np.random.default_rng(0)
    A, D_c = rng.normal(size=(2, 3)), rng.normal(size=(8, 3))
    Z = one_way_codes_of_descriptions(A, D_c)
    np.testing.assert_allclose(Z @ D_c, A, atol=1e-10)
    np.testing.assert_allclose(Z, np.linalg.lstsq(D_c.T, A.T, rcond=None)[0].T, atol=1e-10)


@pytest.mark.parametrize("eta", [0.0, 0.05, 1.0])
def test_unit_prototypes_are_a_minimum_on_the_sphere(scene, eta):
    X, sums, target = scene["X"], scene["sums"], scene["Z"] @ scene["D_v"]
    kappa = np.array([1.0, 2.0, 0.5, 7.0])
    P_old = sphere.normalized(scene["P"], scene["P"])
    if eta == 0:
        P = sphere.sphere_prototypes(sums, target, BETA, kappa, P_old)
    else:
        P = sphere.discriminative_sphere_prototypes(scene["spectrum"], sums, target, BETA, kappa, eta, P_old)
    np.testing.assert_allclose(np.linalg.norm(P, axis=1), 1, atol=1e-9)

    def value(P):
        P = P / np.linalg.norm(P, axis=1, keepdims=True)
        linear = (((1 + 2 * eta) * BETA * sums + kappa[:, None] * target) * P).sum()
        return eta * BETA * ((X @ P.T) ** 2).sum() - linear

    nudges_raise(value, P, scene["rng"], tol=1e-8)


def pool_of(X):
    return WhitenedSamples(ArrayRows(X), Metric())


@pytest.mark.parametrize("own", [[0.0, 0.0, 0.0], [0.1, 0.1, 0.1], [2.0, 0.3, 0.0]])
@pytest.mark.parametrize("f", [0.0, 0.5, 0.9])
def test_soft_assignment_is_the_minimum_of_its_objective(f, own):
    own, rng = np.array(own), np.random.default_rng(1)
    X, P, T = rng.normal(size=(30, 4)), rng.normal(size=(3, 4)), 0.2
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    prior = np.array([0.5, 0.3, 0.2])
    found = assignment.update_assignment(pool_of(X), P, np.zeros(3), prior, np.zeros(3), T, own, f, -np.inf, 4000)
    r = assignment.relaxation_weight(T, f)
    S = X @ P.T

    def value(Q):
        c = Q.sum(axis=0)
        held = r * (c * np.log(c / (30 * prior))).sum()
        return -(Q * S).sum() + T * (Q * np.log(Q)).sum() + (own / 2 * Q**2).sum() + held

    Q = np.full(S.shape, 1 / 3)
    for _ in range(4000):
        logits = (S - own * Q) / T + found.log_scaling
        without_own_vote = np.exp(logits - logits.max(axis=1, keepdims=True))
        Q += 0.1 * (without_own_vote / without_own_vote.sum(axis=1, keepdims=True) - Q)
    np.testing.assert_allclose(found.answer.masses, Q.sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(found.answer.sums, Q.T @ X, atol=1e-9)
    assert found.confusion - (found.answer.sums * P).sum() == pytest.approx(value(Q), rel=1e-9)
    for _ in range(50):
        other = Q * np.exp(1e-3 * rng.normal(size=Q.shape))
        other /= other.sum(axis=1, keepdims=True)
        assert value(other) >= value(Q) - 1e-10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [0.1, 3.0, 40.0])
@pytest.mark.parametrize("rates", [np.full(40, 0.01), np.full(40, 2.0), np.full(40, 50.0), np.geomspace(1e-3, 50, 40)])
def test_shares_are_found_for_every_rate(rates, spread, dtype):
    """log q_j + rate_j q_j - log w_j is the same for all classes of a row that have anything."""
    logs = spread * np.random.default_rng(0).normal(size=(300, 40))
    logs -= logs.max(axis=1, keepdims=True)
    logs[0] = np.log(1e-30) * (np.arange(40) > 0)
    logs[1] = 0.0
    q, worth = kernels.shares(np.exp(logs).astype(dtype), rates)
    precision = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(q.sum(axis=1), 1, atol=precision)
    logs, q = np.maximum(logs, np.log(np.finfo(dtype).tiny)), q.astype(np.float64)
    level = np.where(q > 1e-6, np.log(np.maximum(q, 1e-300)) + rates * q - logs, np.nan)
    assert (np.nanmax(level, axis=1) - np.nanmin(level, axis=1)).max() < precision * (1 + rates.max())
    here = np.where(q > 0, q * (logs - np.log(np.maximum(q, 1e-300))) - rates / 2 * q**2, 0).sum(axis=1)
    np.testing.assert_allclose(worth, here, atol=precision * (1 + rates.max()))
    if np.ptp(rates) == 0:
        np.testing.assert_allclose(q[1], 1 / 40, atol=precision)


def test_classes_without_own_votes_are_a_softmax():
    weights, rates = np.random.default_rng(0).random((20, 5)), np.array([3.0, 0.0, 0.0, 0.0, 0.0])
    q, _ = kernels.shares(weights, rates)
    softmax = weights[:, 1:] / weights[:, 1:].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(q[:, 1:] / (1 - q[:, :1]), softmax, atol=1e-7)
    assert (q[:, 0] < weights[:, 0] / weights.sum(axis=1)).all()


def test_without_a_prior_no_scaling_is_left_of_a_warm_start():
    rng = np.random.default_rng(1)
    X, P, own = rng.normal(size=(30, 4)), rng.normal(size=(3, 4)), np.zeros(3)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    known = (own, np.full(3, 1 / 3), np.array([2.0, -1.0, 0.5]), 0.2, own, 0.0, np.inf, 10)
    found = assignment.update_assignment(pool_of(X), P, *known)
    assert not found.log_scaling.any()
    np.testing.assert_allclose(found.answer.masses, softmax(X @ P.T / 0.2, axis=1).sum(axis=0), rtol=1e-9)


def test_prior_updates_are_minima_of_their_families():
    masses, levels, a = np.array([10.0, 1.0, 4.0, 5.0]), np.array([0, 0, 1, 1]), 2.0
    two = assignment.two_level_prior(masses, levels, 0.0)
    np.testing.assert_allclose(two, [11 / 40, 11 / 40, 9 / 40, 9 / 40])

    def cost(share):
        prior = np.repeat([share, 1 - share], 2) / 2
        return -(masses @ np.log(prior)) - a * (np.log(share) + np.log(1 - share)) / 2

    best = assignment.two_level_prior(masses, levels, a)[:2].sum()
    assert all(cost(best) <= cost(other) for other in np.linspace(0.05, 0.95, 91))


def test_predicted_prototypes_are_ridge_regression():
    rng = np.random.default_rng(6)
    A_s, P_s, A_u = rng.normal(size=(8, 5)), rng.normal(size=(8, 4)), rng.normal(size=(3, 5))
    ridge = 0.1 * (A_s**2).sum() / 8
    weights = np.linalg.solve(A_s.T @ A_s + ridge * np.eye(5), A_s.T @ P_s)
    np.testing.assert_allclose(predict_prototypes(A_s, P_s, A_u), A_u @ weights, atol=1e-10)
