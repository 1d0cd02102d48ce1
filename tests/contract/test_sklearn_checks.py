"""scikit-learn's own estimator checks accept every method."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import check_estimator

from builders import SHALLOW
from superproto import WithinClassWhitening
from superproto.baselines import METHODS

# -1 asks for a label, so a class cannot be called -1.
MINUS_ONE = {"check_classifiers_classes": "uses -1 as a label, which marks what is to be labeled"}


@pytest.mark.parametrize("name", SHALLOW)
def test_scikit_learn_accepts(name):
    model = METHODS[name]().set_params(random_state=0)
    results = check_estimator(model, expected_failed_checks=MINUS_ONE, on_skip=None, on_fail=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == set(MINUS_ONE)
    assert sum(result["status"] == "passed" for result in results) > 40


def test_scikit_learn_accepts_the_whitening():
    results = check_estimator(WithinClassWhitening(), on_skip=None, on_fail=None)
    assert not {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
