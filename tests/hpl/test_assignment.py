"""A sample does not confirm its own label: its self-influence on a prototype is subtracted when it is assigned."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from superproto import HPL
from superproto.datasets import make_task
from superproto.hpl.objective.assignment import EVEN_SIZES, FreeSizes
from superproto.metrics import per_class_accuracy


def small_pool(seed, setting="zsl", samples=10):
    """Many features, few samples: each is a good part of its prototype."""
    task = make_task(
        n_seen=20,
        n_unseen=8,
        n_features=400,
        n_attributes=24,
        separation=0.25,
        attribute_noise=0.3,
        setting=setting,
        random_state=seed,
    )
    chosen = [np.flatnonzero(task.asked & (task.truth == j))[:samples] for j in task.unseen_classes]
    rows = np.concatenate([np.flatnonzero(~task.asked), *chosen])
    return task, rows


def fitted(seed, own_vote, setting="zsl", **parameters):
    task, rows = small_pool(seed, setting)
    model = HPL.with_constants(own_vote=own_vote)(candidates=task.candidates, **parameters)
    return task.truth[rows], task.y[rows] == -1, model.fit(task.X[rows], task.y[rows], semantics=task.semantics)


@pytest.mark.filterwarnings("ignore:.*received no sample", "ignore:.*seem to be missing")
def test_guesses_do_not_confirm_themselves():
    def accuracy(own_vote):
        found = [fitted(seed, own_vote) for seed in range(4)]
        return np.mean([per_class_accuracy(truth[a], model.transduction_[a]) for truth, a, model in found])

    assert accuracy(0.0) > accuracy(1.0) + 0.02


@pytest.mark.parametrize("own_vote", [0.0, 0.5])
def test_the_objective_still_never_rises(own_vote):
    _, _, model = fitted(0, own_vote, tol=0.0, max_iter=12)
    assert (np.diff(model.objective_) <= 1e-10 * np.abs(model.objective_[:-1])).all()


@pytest.mark.parametrize(("setting", "parameters"), [("gzsl", {}), ("zsl", {"temperature": 0.0})])
@pytest.mark.filterwarnings("ignore:.*received no sample")
def test_it_is_for_soft_assignment_to_unseen_classes(setting, parameters):
    models = [fitted(0, own_vote, setting, **parameters)[2] for own_vote in (0.0, 1.0)]
    np.testing.assert_array_equal(models[0].visual_prototypes_, models[1].visual_prototypes_)


@pytest.mark.parametrize("prior", ["estimated", "uniform", None])
@pytest.mark.filterwarnings("ignore:.*received no sample", "ignore:.*hold.* few")
def test_a_pool_of_one_class_is_not_torn_apart(prior):
    """Its sums are long: a sample is a small part of them, and taking more back would tear the class apart."""

    def accuracy(own_vote, seed):
        task = make_task(n_seen=20, n_unseen=8, n_features=200, separation=0.8, attribute_noise=0.6, random_state=seed)
        rows = np.flatnonzero(~task.asked | (task.truth == task.unseen_classes[seed]))
        model = HPL.with_constants(own_vote=own_vote)(prior=prior)
        model.fit(task.X[rows], task.y[rows], semantics=task.semantics)
        return np.mean((model.transduction_ == task.truth[rows])[task.asked[rows]])

    taken_back, counted = ([accuracy(own_vote, seed) for seed in range(4)] for own_vote in (0.0, 1.0))
    assert np.mean(taken_back) >= np.mean(counted)
    assert np.mean(taken_back) > 0.85


@pytest.mark.filterwarnings("ignore:.*received no sample", "ignore:.*hold.* few")
def test_more_is_taken_back_in_small_classes_and_less_and_less():
    """v_j is what a sample adds to p_j, at the size that class j has."""
    task = make_task(n_seen=20, n_unseen=8, n_features=400, separation=1.0, random_state=0)
    kept = ~task.asked | np.isin(task.truth, task.unseen_classes[:3])
    votes = []
    model = HPL(callback=lambda done: votes.append((done.state.continuation.self_influence, done.state.masses)))
    model.fit(task.X[kept], task.y[kept], semantics=task.semantics)
    assert all((after <= before).all() for (before, _), (after, _) in itertools.pairwise(votes))
    assert (votes[-1][0] < votes[0][0]).any()
    own, masses = (values[task.unseen_classes] for values in votes[-1])
    assert own[masses.argmax()] < own[masses.argmin()] / 2
    assert not votes[-1][0][task.seen_classes].any()


def test_labels_are_the_largest_scores():
    _, asked, model = fitted(1, 0.0)
    task, rows = small_pool(1)
    np.testing.assert_array_equal(model.predict(task.X[rows][asked]), model.transduction_[asked])


def at_first_assignment(compose):
    """A fit's parts, and its state after the first assignment."""
    parts = compose(make_task(n_seen=20, n_unseen=8, n_features=400, separation=1.0, random_state=0))
    return parts.objective, parts.objective.encoding.assign(parts.start)


def test_votes_are_those_of_the_pull_and_at_most_an_average_class(compose):
    task = make_task(n_seen=20, n_unseen=8, n_features=400, separation=1.0, random_state=0)
    parts = compose(task.with_pool("shifted-prior", imbalance=3, seed=0))
    encoding, given, unseen = parts.objective.encoding, parts.objective.given, task.unseen_classes
    state = encoding.assign(parts.start)
    free = parts.data.pool.assign(parts.start.P[unseen], np.zeros(8), parts.seen.temperature)
    pulled = given.beta * free.sums + (given.kappa[:, None] * (state.Z @ state.D_v))[unseen]
    votes = given.beta / np.linalg.norm(pulled, axis=1)
    np.testing.assert_allclose(state.continuation.self_influence[unseen], votes, rtol=1e-5)
    most = float(np.median(votes))
    bounded = replace(encoding, most_own=most).assign(parts.start)
    np.testing.assert_allclose(bounded.continuation.self_influence[unseen], np.minimum(votes, most), rtol=1e-5)


def test_a_rise_of_votes_would_raise_the_objective(compose):
    """So they only fall."""
    objective, state = at_first_assignment(compose)
    continuation = state.continuation

    def value(factor):
        scaled = continuation._replace(self_influence=continuation.self_influence * factor)
        return objective.value(objective.encoding.assign(state._replace(continuation=scaled)))

    assert value(0.5) < value(1.0) < value(2.0)


def test_starts_are_compared_with_votes_that_stay(compose):
    objective, state = at_first_assignment(compose)
    members = np.flatnonzero(~objective.given.seen)
    larger, before = state._replace(sums=10 * state.sums), state.continuation.self_influence

    def after(encoding):
        return encoding.update_prototypes(larger, members, objective.alignment).continuation.self_influence

    assert (after(objective.encoding) < before)[members].all()
    np.testing.assert_array_equal(after(objective.encoding.without_continuation()), before)


def test_the_bias_of_free_sizes_is_the_slope_of_their_cost():
    sizes, T, step = np.array([0.5, 4.0, 60.0]), 0.02, 1e-4
    free = FreeSizes(weight=0.7, looseness=0.4, anchor=3.0)
    for j in range(len(sizes)):
        nudge = step * np.eye(len(sizes))[j]
        slope = free.cost(sizes + nudge, sizes - nudge, T) / (2 * step)
        assert -free.bias(sizes, T)[j] == pytest.approx(slope, rel=1e-5)


def test_the_slope_of_free_sizes_bounds_their_cost():
    """The cost is concave, so an assignment that is chosen by the slope lowers it by at least as much."""
    rng, free = np.random.default_rng(0), FreeSizes(weight=1.0, looseness=0.4, anchor=3.0)
    for _ in range(100):
        before, after = rng.gamma(1.0, 20.0, size=(2, 5))
        assert free.cost(after, before, 0.02) <= -free.bias(before, 0.02) @ (after - before) + 1e-9


def test_sizes_that_are_even_cost_nothing():
    sizes = np.array([1.0, 30.0])
    assert EVEN_SIZES.cost(sizes, 2 * sizes, 0.02) == 0
    np.testing.assert_array_equal(EVEN_SIZES.bias(sizes, 0.02), 0)
