"""Transductive ALE: it learns as ALE does, and spreads what ALE answers."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines.registry import METHODS
from superproto.datasets import make_task


@pytest.fixture(scope="module")
def task():
    return make_task(n_seen=10, n_unseen=3, samples_per_class=10, separation=4.0, random_state=0)


def test_its_classifiers_are_those_of_ale(task):
    ale, spread = (
        METHODS[name](learning_rate=0.3, n_epochs=10, random_state=0).fit(task.X, task.y, semantics=task.semantics)
        for name in ("ale", "ale-trans")
    )
    np.testing.assert_allclose(spread.classifiers_, ale.classifiers_, rtol=1e-6)


def test_with_alpha_0_nothing_is_spread_and_the_answers_are_those_of_ale(task):
    ale = METHODS["ale"](learning_rate=0.3, n_epochs=10, random_state=0).fit(task.X, task.y, semantics=task.semantics)
    alone = METHODS["ale-trans"](alpha=0.0, random_state=0).fit(task.X, task.y, semantics=task.semantics)
    np.testing.assert_array_equal(alone.transduction_, ale.transduction_)
