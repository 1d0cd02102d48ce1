"""DeViSE: its weights are those of the definition."""

from __future__ import annotations

import numpy as np

from superproto.baselines.devise import every_violation


def test_weights_are_those_of_the_definition(rng):
    margins = rng.normal(size=(40, 6))
    margins[0] = -1
    for row, weights in zip(margins, every_violation(margins)):
        violated = [c for c, margin in enumerate(row) if margin > 0]
        expected = np.zeros(len(row))
        expected[violated] = 1
        np.testing.assert_allclose(weights, expected)
