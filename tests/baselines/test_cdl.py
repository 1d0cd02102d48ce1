"""CDL: its objective never rises, and its limit is the predicted prototypes."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines.registry import METHODS
from superproto.datasets import make_task

TASK = make_task(n_seen=12, n_unseen=4, n_features=10, n_attributes=6, samples_per_class=8, random_state=4)


@pytest.mark.parametrize("atoms", [0.3, 0.7, 1.0])
def test_cdl_never_raises_its_objective(atoms):
    model = METHODS["cdl"](atoms=atoms, alpha=0.7, beta=2.0, random_state=0)
    model.fit(TASK.X, TASK.y, semantics=TASK.semantics)
    rises = np.diff(model.objective_)
    assert (rises <= 1e-10 * model.objective_[0]).all()
    assert (np.linalg.norm(model.visual_dictionary_, axis=1) <= 1 + 1e-12).all()
    assert (np.linalg.norm(model.semantic_dictionary_, axis=1) <= 1 + 1e-12).all()


def test_cdl_with_an_atom_for_every_class_is_the_prototypes():
    cdl = METHODS["cdl"](atoms=1.0, code_ridge=0.1).fit(TASK.X, TASK.y, semantics=TASK.semantics)
    start = METHODS["prototypes"](ridge=0.1).fit(TASK.X, TASK.y, semantics=TASK.semantics)
    np.testing.assert_allclose(cdl.decision_function(TASK.X), start.decision_function(TASK.X), atol=1e-4)


@pytest.mark.parametrize("space", ["semantic", "aligned"])
def test_cdl_recognizes_in_every_space(space):
    task = make_task(n_seen=20, n_unseen=3, n_features=12, n_attributes=5, samples_per_class=15, separation=6.0)
    model = METHODS["cdl"](space=space, random_state=0).fit(task.X, task.y, semantics=task.semantics)
    assert np.mean(model.transduction_[task.asked] == task.truth[task.asked]) > 0.8
