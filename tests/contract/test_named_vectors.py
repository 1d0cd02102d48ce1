"""Descriptions by class name, no label at all, and labels in one call."""

from __future__ import annotations

import numpy as np
import pytest

from superproto import HPL, UserError
from superproto.baselines import METHODS
from superproto.datasets import make_task

TASK = make_task(n_seen=8, n_unseen=3, samples_per_class=15, random_state=0)
NAMES = np.array([f"class {i}" for i in range(11)])


def named_labels():
    return np.where(TASK.y == -1, None, NAMES[TASK.y].astype(object))


@pytest.mark.parametrize("method", ["hpl", "prototypes"])
def test_a_mapping_is_an_array_with_names(method):
    named = dict(zip(NAMES.tolist(), TASK.semantics))
    found = METHODS[method](random_state=0).fit(TASK.X, named_labels(), semantics=named)
    plain = METHODS[method](random_state=0).fit(TASK.X, TASK.y, semantics=TASK.semantics)
    np.testing.assert_array_equal(found.transduction_, NAMES[plain.transduction_])


def test_the_keys_are_the_names():
    with pytest.raises(UserError, match="Leave class_names out"):
        HPL().fit(TASK.X, named_labels(), semantics={"a": [1.0, 2.0]}, class_names=["a"])
    with pytest.raises(UserError, match=r"semantics\['b'\] has shape \(3,\), but semantics\['a'\] has shape \(2,\)"):
        HPL().fit(TASK.X, named_labels(), semantics={"a": [1.0, 2.0], "b": [1.0, 2.0, 3.0]})
    with pytest.raises(UserError, match="empty mapping"):
        HPL().fit(TASK.X, named_labels(), semantics={})


def test_no_labels_may_be_said_by_none():
    rng = np.random.default_rng(0)
    texts = rng.normal(size=(5, 16))
    X = np.repeat(texts, 12, axis=0) + 0.2 * rng.normal(size=(60, 16))
    found = HPL(random_state=0).fit_predict(X, None, semantics=dict(zip("abcde", texts)))
    same = HPL(random_state=0).fit_predict(X, np.full(60, -1), semantics=texts)
    assert found.tolist() == np.array(list("abcde"))[same].tolist()


def test_labels_in_one_call():
    labels = HPL(random_state=0).fit_predict(TASK.X, TASK.y, semantics=TASK.semantics)
    np.testing.assert_array_equal(
        labels, HPL(random_state=0).fit(TASK.X, TASK.y, semantics=TASK.semantics).transduction_
    )
