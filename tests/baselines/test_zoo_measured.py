"""Paper: defaults of the zoo's first half on a real pack, beside chance, prototypes and other people's code."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines.registry import METHODS
from superproto.datasets import load
from superproto.metrics import per_class_accuracy

QUICK = ["eszsl", "sae", "ale", "devise", "sje", "cdl", "gfzsl", "gfzsl-em", "mdp", "msplit-lbi"]


@pytest.fixture(scope="module")
def cub(pack):
    return load(pack("cub_efficientnet_lite0"))


def accuracy(task, name, **params):
    model = METHODS[name](random_state=0, **params).fit(task.X, task.y, semantics=task.semantics)
    return per_class_accuracy(task.truth[task.asked], model.transduction_[task.asked])


@pytest.fixture(scope="module")
def start(cub):
    return accuracy(cub, "prototypes")


def test_prototypes_reach_the_independent_figure(start):
    assert start == pytest.approx(0.599, abs=0.005)


@pytest.fixture(scope="module")
def part(cub):
    """Every third labeled sample, so that methods that learn sample by sample take seconds."""
    return cub._select(cub.asked | (np.arange(len(cub.y)) % 3 == 0))


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_defaults_reach_ten_times_chance_and_half_of_prototypes(cub, part, start, name):
    found = accuracy(part, name)
    assert found >= 10 / len(cub.unseen_classes)
    assert found >= start / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "params", "theirs"),
    [
        ("eszsl", {}, 0.578),
        ("eszsl", {"whiten": True}, 0.559),
        ("sae", {}, 0.579),
        ("sae", {"whiten": True}, 0.594),
    ],
)
def test_closed_forms_land_within_two_points_of_public_code(cub, name, params, theirs):
    assert accuracy(cub, name, **params) == pytest.approx(theirs, abs=0.02)
