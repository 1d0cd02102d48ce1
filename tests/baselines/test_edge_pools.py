"""Pools and class sets at the edge: every transductive method answers, and `predict` repeats its transduction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from superproto.baselines.registry import METHODS
from superproto.datasets import make_task

TRANSDUCTIVE = [
    "label-spreading",
    "zlap",
    "transclip",
    "stata",
    "em-dirichlet",
    "inmap",
    "wdvsc",
    "bmvsc",
    "cdvsc",
    "dipl",
    "dsrl",
    "ale-trans",
    "tmv-hlp",
    "bidilel",
    "sp-zsr",
    "stzsl",
    "tstd",
]
Problem = tuple[np.ndarray, np.ndarray, np.ndarray, str]


def mixed_pool() -> Problem:
    task = make_task(n_seen=6, n_unseen=3, samples_per_class=10, setting="gzsl", random_state=1)
    return task.X, task.y, task.semantics, "all"


def pool_of_one() -> Problem:
    task = make_task(n_seen=6, n_unseen=3, samples_per_class=10, random_state=1)
    kept = np.r_[np.flatnonzero(~task.asked), np.flatnonzero(task.asked)[0]]
    return task.X[kept], task.y[kept], task.semantics, "unseen"


def repeated_rows() -> Problem:
    task = make_task(n_seen=6, n_unseen=3, samples_per_class=10, random_state=1)
    rows = np.r_[np.arange(len(task.y)), np.flatnonzero(task.asked)]
    return task.X[rows], task.y[rows], 100 * task.semantics, "unseen"


def one_seen_class() -> Problem:
    task = make_task(n_seen=1, n_unseen=3, samples_per_class=10, random_state=1)
    return task.X, task.y, task.semantics, "all"


def one_candidate() -> Problem:
    task = make_task(n_seen=5, n_unseen=1, samples_per_class=10, random_state=1)
    return task.X, task.y, task.semantics, "unseen"


def one_sample_per_class() -> Problem:
    task = make_task(n_seen=5, n_unseen=3, samples_per_class=1, n_features=50, random_state=1)
    return task.X, task.y, task.semantics, "unseen"


EDGES = [mixed_pool, pool_of_one, repeated_rows, one_seen_class, one_candidate, one_sample_per_class]


@pytest.mark.parametrize("name", TRANSDUCTIVE)
def test_predict_repeats_the_transduction(name: str):
    for edge in EDGES:
        X, y, A, candidates = edge()
        model = METHODS[name](candidates=candidates, random_state=0).fit(X, y, semantics=A)
        pool, answers = X[y == -1], model.transduction_[y == -1]
        assert (model.predict(pool) == answers).all(), edge.__name__
        assert model.predict(pool[:1]) == answers[:1], edge.__name__
        assert model.label_distributions_.sum(axis=1) == pytest.approx(np.ones(len(X))), edge.__name__


@pytest.mark.parametrize("name", TRANSDUCTIVE)
def test_new_samples_near_the_pool_get_the_labels_of_the_pool(name: str):
    task = make_task(n_seen=20, n_unseen=4, separation=8, random_state=3)
    model = METHODS[name](random_state=0).fit(task.X, task.y, semantics=task.semantics)
    nudged = task.X[task.asked] + 0.01 * np.random.default_rng(0).normal(size=task.X[task.asked].shape)
    assert np.mean(model.predict(nudged) == model.transduction_[task.asked]) > 0.95


@pytest.mark.parametrize("name", TRANSDUCTIVE)
def test_a_class_outside_the_candidates_is_never_answered(name: str):
    task = make_task(n_seen=6, n_unseen=4, samples_per_class=10, random_state=0)
    model: Any = METHODS[name](candidates=[6, 8], random_state=0).fit(task.X, task.y, semantics=task.semantics)
    assert set(model.transduction_[task.asked]) <= {6, 8}
