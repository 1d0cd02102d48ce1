"""TMV-HLP: its hypergraph walk and its canonical maps."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines.tmv_hlp import canonical_maps, hypergraph_walk, incidence


def test_the_walk_on_a_hypergraph_is_symmetric_with_eigenvalues_in_0_1(rows):
    held, weights = incidence(rows, rows, 4)
    assert set(held.data) == {1.0}
    values = np.linalg.eigvalsh(hypergraph_walk(held, weights).toarray())
    assert values.min() > -1e-12
    assert values.max() == pytest.approx(1)


def test_canonical_maps_reach_the_correlations_of_scikit_learn():
    from sklearn.cross_decomposition import CCA

    rng = np.random.default_rng(0)
    shared = rng.normal(size=(300, 2))
    left = np.hstack([shared + 0.3 * rng.normal(size=(300, 2)), rng.normal(size=(300, 2))])
    right = np.hstack([shared @ rng.normal(size=(2, 2)), rng.normal(size=(300, 1))])
    left, right = left - left.mean(axis=0), right - right.mean(axis=0)
    _, _, correlations = canonical_maps(left, right, 2, ridge=0.0)
    theirs = CCA(2, scale=False, max_iter=2000).fit(left, right).transform(left, right)
    expected = [np.corrcoef(theirs[0][:, i], theirs[1][:, i])[0, 1] for i in range(2)]
    assert correlations == pytest.approx(expected, abs=1e-3)
