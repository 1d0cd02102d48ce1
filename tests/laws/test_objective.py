"""Laws of the objective: finite, never rising, and lower after an empty class is restarted."""

from __future__ import annotations

import numpy as np
import pytest

from builders import VARIANTS, fit_variant, law_task


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_objective_is_finite_and_never_rises(name, setting):
    for seed in range(3):
        values: list[object] = []
        task = law_task(setting, seed, separation=1.0)
        model = fit_variant(VARIANTS[name], task, tol=0.0, max_iter=12, callback=values.append)
        assert np.isfinite(model.objective_).all()
        assert len(model.objective_) == model.n_iter_ == len(values)
        assert np.diff(model.objective_).max(initial=0) <= 1e-10 * abs(model.objective_[-1])


@pytest.mark.parametrize("name", ["default", "published", "hpl1", "q < m", "discriminative"])
def test_inductive_objective_never_rises(name):
    task = law_task("zsl")
    known = task.y != -1
    model = fit_variant(VARIANTS[name], task, X=task.X[known], y=task.y[known], tol=0.0, max_iter=12)
    assert np.isfinite(model.objective_).all()
    assert np.diff(model.objective_).max(initial=0) <= 1e-10 * abs(model.objective_[-1])
    accuracy = np.mean(model.predict(np.asarray(task.X[~known], dtype=np.float64)) == task.truth[~known])
    assert accuracy > 0.5
