"""HPL under its other keys: the published model and its two-way variant."""

from __future__ import annotations

import numpy as np
import pytest

from builders import fit_quietly, small_task
from superproto import HPL
from superproto.baselines.registry import METHODS


@pytest.mark.parametrize(("key", "variant"), [("hpl-published", "hpl"), ("hpl1", "hpl1")])
def test_a_key_is_hpl_as_published_in_that_variant(key, variant):
    task = small_task()
    named = fit_quietly(METHODS[key](random_state=0), task.X, task.y, task.semantics)
    spelled_out = fit_quietly(HPL.as_published(variant=variant, random_state=0), task.X, task.y, task.semantics)
    np.testing.assert_array_equal(named.transduction_, spelled_out.transduction_)
    np.testing.assert_array_equal(named.objective_, spelled_out.objective_)
