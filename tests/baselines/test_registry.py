"""Methods by name: names and types of parameters are checked before any data are read."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines.registry import find_method, make_model, parameters_of
from superproto.errors import UserError


def test_names_are_checked_and_the_nearest_is_offered():
    with pytest.raises(UserError, match=r"there is no method 'ezsl'. Did you mean 'eszsl'\?"):
        find_method("ezsl")
    with pytest.raises(UserError, match=r"there is no method 'xyz'. Known: .*hpl"):
        find_method("xyz")
    with pytest.raises(UserError, match=r"hpl has no parameter 'omga'. Did you mean 'omega'\?"):
        make_model("hpl", {"omga": 0.5})
    with pytest.raises(UserError, match=r"candidates is not a parameter to choose. It follows from the setting"):
        make_model("hpl", {"candidates": "all"})


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"rho": "high"}, "rho is 'high', but it must be a number"),
        ({"rho": True}, "rho is True, but it must be a number"),
        ({"max_iter": 1.5}, "max_iter is 1.5, but it must be a whole number"),
        ({"order": 3}, "order is 3, but it must be a word"),
        ({"whiten": "yes"}, "whiten is 'yes', but it must be true or false or a number"),
        ({"tol": float("inf")}, "tol is inf, but it must be finite"),
        ({"callback": 3}, "callback is 3, but it must be a function"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_before_any_data_are_read(params, said):
    with pytest.raises(UserError, match=said):
        make_model("hpl", params)


def test_values_of_the_right_kind_pass():
    model = make_model(
        "hpl", {"rho": 0, "theta": None, "whiten": 0.2, "tol": np.float32(0.5)}, candidates="all", seed=3
    )
    assert (model.rho, model.whiten, model.candidates, model.random_state) == (0, 0.2, "all", 3)
    kept = parameters_of(model)
    assert {"candidates", "random_state", "callback", "verbose", "checkpoint"}.isdisjoint(kept)
    assert kept["tol"] == 0.5
