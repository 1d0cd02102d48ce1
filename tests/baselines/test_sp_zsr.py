"""SP-ZSR: clusters are matched with classes by score."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines.sp_zsr import match_by_score
from superproto.samples.kernels import unit_rows


def test_clusters_are_matched_with_the_classes_that_score_them():
    rng = np.random.default_rng(0)
    centers = np.eye(4)[[2, 0, 3, 1]]
    pool = unit_rows(np.repeat(centers, 10, axis=0) + 0.05 * rng.normal(size=(40, 4)))
    assert match_by_score(pool, np.eye(4) + 0.3, random_state=0) == pytest.approx(np.eye(4), abs=0.1)
