"""ALE: its weights are those of the definition."""

from __future__ import annotations

import numpy as np

from superproto.baselines.ale import rank_weighted


def test_weights_are_those_of_the_definition(rng):
    margins = rng.normal(size=(40, 6))
    margins[0] = -1
    for row, weights in zip(margins, rank_weighted(margins)):
        violated = [c for c, margin in enumerate(row) if margin > 0]
        expected = np.zeros(len(row))
        for c in violated:
            expected[c] = sum(1 / j for j in range(1, len(violated) + 1)) / len(violated)
        np.testing.assert_allclose(weights, expected)
