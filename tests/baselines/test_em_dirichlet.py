"""EM-Dirichlet: its densities and estimates against SciPy and the likelihood equation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import psi
from scipy.stats import dirichlet

from superproto.baselines.em_dirichlet import fit_dirichlets, inverse_digamma, log_dirichlet
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task


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
