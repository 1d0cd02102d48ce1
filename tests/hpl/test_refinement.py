"""Mending: names found all at once, clusters cut otherwise, and only what the objective bears out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from superproto import HPL
from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.hpl.cluster_matching import best_matching, likeness, relations, swap_costs
from superproto.hpl.objective.sphere import normalized
from superproto.hpl.refinement import refine
from superproto.hpl.solver import minimize
from superproto.metrics import per_class_accuracy


def cost(G, W, names, m):
    """sum G_jk W_{p_j p_k} with the known classes where they are."""
    order = np.concatenate([np.arange(m), m + names])
    return float((G * W[np.ix_(order, order)]).sum())


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    A, V = rng.normal(size=(11, 4)), rng.normal(size=(11, 6))
    return relations(A, 0.3), V @ V.T, 5


def test_a_swap_costs_what_the_whole_sum_says(table):
    G, W, m = table
    n, plain = len(G) - m, np.arange(len(G) - m)
    change = swap_costs(G[m:, m:], W[m:, m:], 2 * G[m:, :m] @ W[:m, m:])
    for i in range(n):
        for j in range(n):
            names = plain.copy()
            names[[i, j]] = names[[j, i]]
            np.testing.assert_allclose(change[i, j], cost(G, W, names, m) - cost(G, W, plain, m), atol=1e-10)


def test_no_swap_of_two_improves_the_best_names(table):
    G, W, m = table
    n = len(G) - m
    names = best_matching(G, W, np.zeros((n, n)), [np.arange(n)])
    order = np.concatenate([np.arange(m), m + names])
    W = W[np.ix_(order, order)]
    assert swap_costs(G[m:, m:], W[m:, m:], 2 * G[m:, :m] @ W[:m, m:]).min() >= -1e-6


def test_likeness_is_inner_products_in_the_metric_of_what_is_unexplained():
    rng = np.random.default_rng(1)
    known, found, A = rng.normal(size=(7, 9)), rng.normal(size=(4, 9)), rng.normal(size=(7, 3))
    G = relations(A, 0.3)
    residual = (G / np.diag(G)[:, None]) @ known
    w = (residual**2).sum() / len(known) / min(known.shape)
    S = residual.T @ residual / len(known) + w * np.eye(9)
    means = np.concatenate([known, found])
    np.testing.assert_allclose(likeness(known, found, G), w * means @ np.linalg.solve(S, means.T), atol=1e-9)


def test_swapped_names_are_found_where_means_follow_descriptions():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(60, 8))
    V = A @ rng.normal(size=(8, 30)) + 0.3 * rng.normal(size=(60, 30))
    known, found = V[:50], V[50:]
    mixed = np.arange(10)
    mixed[[1, 4, 7]] = mixed[[4, 7, 1]]
    W = likeness(known, found[mixed], relations(A[:50], 0.3))
    names = best_matching(relations(A, 0.3), W, np.zeros((10, 10)), [np.arange(10)])
    np.testing.assert_array_equal(mixed[names], np.arange(10))


@pytest.fixture(scope="module")
def swapped():
    """A pool of well parted clusters with poor descriptions: one fit takes two of them for each other."""
    return make_task(n_seen=40, n_unseen=10, separation=1.0, attribute_noise=1.0, random_state=0)


def accuracy(task, **parameters):
    """Of a fit whose warnings are not asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = HPL(**parameters).fit(task.X, task.y, semantics=task.semantics)
    return per_class_accuracy(task.truth[task.asked], model.transduction_[task.asked])


def test_a_fit_under_wrong_names_is_put_right(swapped):
    assert accuracy(swapped, mend=False) < 0.8
    assert accuracy(swapped) > 0.95


def test_mending_does_not_see_the_numbering_of_classes(swapped):
    task, order = swapped, np.random.default_rng(3).permutation(len(swapped.semantics))
    number = np.argsort(order)
    y = np.where(task.y == -1, -1, number[task.y])
    plain = HPL().fit(task.X, task.y, semantics=task.semantics)
    turned = HPL().fit(task.X, y, semantics=np.asarray(task.semantics)[order])
    np.testing.assert_array_equal(number[plain.transduction_], turned.transduction_)


def test_the_objective_is_that_of_the_last_fit_and_never_rises(swapped):
    model = HPL().fit(swapped.X, swapped.y, semantics=swapped.semantics)
    assert len(model.objective_) == model.n_iter_
    assert (np.diff(model.objective_) <= 0).all()
    np.testing.assert_array_equal(model.predict(swapped.X[swapped.asked]), model.transduction_[swapped.asked])


@pytest.fixture
def fits(monkeypatch):
    """The fits that mending asks for."""
    asked = []

    def counted(assembly, outcome, fit):
        return refine(assembly, outcome, lambda state: asked.append(state) or fit(state))

    monkeypatch.setattr("superproto.hpl.estimator.refine", counted)
    return asked


def test_a_fit_that_needs_it_is_mended(swapped, fits):
    accuracy(swapped)
    assert 2 <= len(fits) <= 8


@pytest.mark.parametrize(
    "parameters",
    [
        {"alpha": 0.0}, {"rho": 0.0}, {"temperature": 0.0}, {"discriminative_weight": 1.0}, {"variant": "hpl1"},
        {"mend": False}, {"candidates": "all"},
    ],
)  # fmt: skip
def test_where_the_objective_cannot_tell_nothing_is_tried(swapped, fits, parameters):
    accuracy(swapped, **parameters)
    assert not fits


def test_names_are_not_learned_from_a_handful_of_classes(swapped, fits):
    few = swapped.restricted(np.concatenate([swapped.seen_classes[:14], swapped.unseen_classes]))
    accuracy(few)
    assert not fits


def test_a_pool_of_few_classes_is_left_alone(swapped, fits):
    accuracy(swapped.with_pool("few-classes", classes=2, seed=0))
    assert not fits


def test_what_raises_the_objective_is_not_kept(swapped, monkeypatch):
    monkeypatch.setattr("superproto.hpl.refinement._gain", lambda *compared: -1e-9)
    monkeypatch.setattr("superproto.hpl.estimator.release_absent_classes", lambda assembly, outcome, fit: outcome)
    assert accuracy(swapped) == accuracy(swapped, mend=False)


def test_objectives_compare_whatever_was_given_up_on_the_way(swapped, monkeypatch):
    """The same prototypes and codes are worth the same, whatever own votes, hold and labels the fits ended with."""
    values = []

    def compare(assembly, outcome, fit):
        state = outcome.state
        other = state._replace(own=2 * state.own + 0.01, hold=0.3, labels=np.zeros(0, dtype=np.int64))
        values.extend(assembly.model.plain_objective(s, 0.7) for s in (state, other))
        return outcome

    monkeypatch.setattr("superproto.hpl.estimator.refine", compare)
    accuracy(swapped)
    np.testing.assert_allclose(*values, rtol=1e-6)


def test_a_warm_start_is_mended_like_a_cold_one(swapped):
    before = HPL(mend=False).fit(swapped.X, swapped.y, semantics=swapped.semantics)
    assert accuracy(swapped, init=before) > 0.95


def test_a_cluster_of_two_classes_is_cut_and_the_halves_of_another_joined():
    """From a start at which two classes share a prototype and a third has two, one fit does not come away."""
    task = make_task(n_seen=40, n_unseen=6, n_features=24, samples_per_class=60, separation=1.5, random_state=4)
    truth = task.truth[task.asked]
    found = {}

    class Started(HPL):
        def _mended(self, assembly, outcome):
            rows = assembly.pool.materialize().astype(np.float64)
            own = np.array([rows[truth == j].sum(axis=0) for j in task.unseen_classes])
            half = rows[truth == task.unseen_classes[2]]
            wrong = np.array([own[0] + own[1], half[::2].sum(axis=0), half[1::2].sum(axis=0), *own[3:]])
            P = assembly.start.P.copy()
            P[task.unseen_classes] = normalized(wrong, wrong)

            def fit(state):
                return minimize(assembly.model, state, self._schedule())

            stuck = fit(assembly.start._replace(P=P))
            found["stuck"] = per_class_accuracy(truth, stuck.state.labels)
            after = refine(assembly, stuck, fit)
            found["mended"] = per_class_accuracy(truth, after.state.labels)
            return after

    Started().fit(task.X, task.y, semantics=task.semantics)
    assert found["mended"] > 0.95
    assert found["stuck"] < 0.9


def test_mend_is_true_or_false(swapped):
    with pytest.raises(UserError, match="mend is 'yes', but it must be True or False"):
        accuracy(swapped, mend="yes")


def test_further_fits_are_announced(swapped, capsys):
    accuracy(swapped, verbose=1)
    assert "to mend names and cuts" in capsys.readouterr().err
