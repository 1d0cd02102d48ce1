"""Laws: what must hold for every fit, whatever the data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from superproto.hpl.assembly import Assembly

from superproto import HPL
from superproto.datasets import digits, make_task
from superproto.hpl import solver
from superproto.hpl.parameters import check_parameters
from superproto.samples.chunks import ArrayRows

VARIANTS = {
    "default": HPL(),
    "uniform prior": HPL(prior="uniform"),
    "no prior": HPL(prior=None),
    "own votes count": HPL(own_vote=1.0),
    "discriminative": HPL(discriminative_weight=0.1),
    "hard": HPL(temperature=0.0),
    "published": HPL.as_published(),
    "published, gradient": HPL.as_published(dictionary_solver="gradient"),
    "published, whitened": HPL.as_published(whiten=True),
    "published, scaled": HPL.as_published(whiten=True, discriminative_weight=0.2, alignment_scale=0.5),
    "seen first": HPL.as_published(order="seen"),
    "hpl1": HPL.as_published(variant="hpl1"),
    "q < m": HPL(theta=0.3, random_state=0),
    "q > m": HPL(theta=0.9, random_state=0),
    "published, q < m": HPL.as_published(theta=0.3, random_state=0),
    "published, q > m": HPL.as_published(theta=0.9, random_state=0),
    "kmeans": HPL(init="kmeans", random_state=0),
    "affinity": HPL(init="affinity", random_state=0),
}


def task_for(setting, seed=0, **changes):
    chosen = {"n_seen": 7, "n_unseen": 4, "n_features": 12, "n_attributes": 9, "samples_per_class": 20}
    return make_task(setting=setting, random_state=seed, **{**chosen, **changes})


def fitted(model, task, X=None, semantics=None, y=None):
    model = clone(model).set_params(candidates=task.candidates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(
            np.asarray(task.X if X is None else X, dtype=np.float64),
            task.y if y is None else y,
            semantics=task.semantics if semantics is None else semantics,
        )


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_objective_is_finite_and_never_rises(name, setting):
    for seed in range(3):
        values = []
        model = clone(VARIANTS[name]).set_params(tol=0.0, max_iter=12, callback=lambda sweep, v=values: v.append(sweep))
        task = task_for(setting, seed, separation=1.0)
        model = fitted(model, task)
        assert np.isfinite(model.objective_).all()
        assert len(model.objective_) == model.n_iter_ == len(values)
        assert np.diff(model.objective_).max(initial=0) <= 1e-10 * abs(model.objective_[-1])


@pytest.mark.parametrize("name", ["default", "published", "hpl1", "q < m", "discriminative"])
def test_inductive_objective_never_rises(name):
    task = task_for("zsl")
    known = task.y != -1
    model = fitted(clone(VARIANTS[name]).set_params(tol=0.0, max_iter=12), task, X=task.X[known], y=task.y[known])
    assert np.isfinite(model.objective_).all()
    assert np.diff(model.objective_).max(initial=0) <= 1e-10 * abs(model.objective_[-1])
    accuracy = np.mean(model.predict(np.asarray(task.X[~known], dtype=np.float64)) == task.truth[~known])
    assert accuracy > 0.5


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("name", ["default", "published, whitened", "hpl1"])
class TestSymmetries:
    """On separated tasks, what does not matter must not change a label."""

    def test_order_of_samples(self, name, setting):
        task = task_for(setting)
        order = np.random.default_rng(0).permutation(len(task.y))
        plain = fitted(VARIANTS[name], task)
        shuffled = fitted(VARIANTS[name], task, X=task.X[order], y=task.y[order])
        np.testing.assert_array_equal(shuffled.transduction_, plain.transduction_[order])

    def test_numbering_of_classes(self, name, setting):
        task = task_for(setting)
        order = np.random.default_rng(1).permutation(len(task.semantics))
        renumber = np.argsort(order)
        y = np.where(task.y == -1, -1, renumber[task.y])
        plain = fitted(VARIANTS[name], task)
        renamed = fitted(VARIANTS[name], task, semantics=task.semantics[order], y=y)
        np.testing.assert_array_equal(renamed.transduction_, renumber[plain.transduction_])

    def test_rotation_of_either_space(self, name, setting):
        task = task_for(setting)
        rng = np.random.default_rng(2)
        turn = np.linalg.qr(rng.normal(size=(task.X.shape[1],) * 2))[0]
        spin = np.linalg.qr(rng.normal(size=(task.semantics.shape[1],) * 2))[0]
        plain = fitted(VARIANTS[name], task)
        rotated = fitted(VARIANTS[name], task, X=task.X @ turn, semantics=task.semantics @ spin)
        np.testing.assert_array_equal(rotated.transduction_, plain.transduction_)

    def test_scale_of_features(self, name, setting):
        task = task_for(setting)
        plain = fitted(VARIANTS[name], task)
        np.testing.assert_array_equal(fitted(VARIANTS[name], task, X=1000 * task.X).transduction_, plain.transduction_)


@pytest.mark.parametrize("name", VARIANTS)
def test_predict_on_a_pool_row_is_its_transduction(name):
    task = task_for("gzsl", separation=0.7)
    model = fitted(VARIANTS[name], task)
    asked = task.y == -1
    X = np.asarray(task.X, dtype=np.float64)
    np.testing.assert_array_equal(model.predict(X[asked]), model.transduction_[asked])
    np.testing.assert_array_equal(model.transduction_[~asked], task.y[~asked])
    probabilities = model.predict_proba(X[asked])
    np.testing.assert_allclose(probabilities, model.label_distributions_[asked], atol=1e-9)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.transduction_[asked])


def test_candidates_are_respected():
    task = task_for("gzsl")
    chosen = [8, 9, 0]
    model = fitted(HPL(), task)
    model = HPL(candidates=chosen).fit(task.X, task.y, semantics=task.semantics)
    assert set(model.transduction_[task.y == -1]) <= set(chosen)
    scores = model.decision_function(task.X[:3])
    assert np.isneginf(scores[:, [j for j in range(scores.shape[1]) if j not in chosen]]).all()


def test_chunks_do_not_matter(monkeypatch):
    task = task_for("zsl", separation=0.7)
    whole = fitted(HPL(), task)
    monkeypatch.setattr("superproto.samples.chunks.CHUNK_BYTES", 1)
    monkeypatch.setattr("superproto.samples.chunks.chunk_length", lambda *_: 17)
    parts = fitted(HPL(), task)
    np.testing.assert_array_equal(parts.transduction_, whole.transduction_)
    np.testing.assert_allclose(parts.objective_, whole.objective_, rtol=1e-9)


def test_scores_need_not_be_remembered(monkeypatch):
    task = task_for("zsl", separation=0.7)
    cached = fitted(HPL(), task)
    monkeypatch.setattr("superproto.samples.whitened.SCORE_CACHE_BYTES", 0)
    read_again = fitted(HPL(), task)
    np.testing.assert_array_equal(read_again.transduction_, cached.transduction_)


def test_as_published_survives_clone_and_is_an_ordinary_hpl():
    model = HPL.as_published(rho=0.3)
    copy = clone(model)
    assert type(copy) is HPL
    assert copy.get_params() == model.get_params()
    assert (copy.rho, copy.whiten, copy.discriminative_weight, copy.alignment_scale) == (0.3, False, 1.0, None)


def test_an_empty_class_is_restarted_where_that_lowers_the_objective():
    """A prototype pushed out of the pool loses its samples; the guard gives them back, and the objective falls."""
    task = task_for("zsl", separation=3.0)
    model = HPL.as_published(whiten=True)
    X, problem = model._check(task.X, task.y, task.semantics, None)
    assembly = Assembly(check_parameters(model, problem, model.init), ArrayRows, X, problem, model._metric(X, problem))
    first = assembly.start
    lost = int(np.flatnonzero(~problem.seen)[0])
    P = first.P.copy()
    P[lost] *= -5
    emptied = assembly.model.assign(first._replace(P=P))
    assert lost not in emptied.labels
    members = solver._members(assembly.model)
    found, revived = solver.revive(assembly.model, emptied, first, members)
    assert revived == 1
    assert lost in found.labels
    assert assembly.model.objective(found) < assembly.model.objective(emptied)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_lower_precision_gives_the_same_labels(dtype):
    task = digits()
    full = HPL().fit(np.asarray(task.X, dtype=np.float64), task.y, semantics=task.semantics)
    low = HPL().fit(np.asarray(task.X, dtype=dtype), task.y, semantics=task.semantics)
    assert np.mean(full.transduction_ == low.transduction_) >= 0.995
