"""Model files of version 0.1.0, written when each method lived in another module, open and answer as they did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import SHALLOW
from superproto import load_model
from superproto.baselines import METHODS
from superproto.datasets import make_task

OLD = Path(__file__).parent / "old_models"


@pytest.mark.parametrize("key", SHALLOW)
def test_a_file_of_the_first_format_opens(key: str) -> None:
    task = make_task(n_seen=6, n_unseen=3, n_features=8, n_attributes=5, samples_per_class=10, random_state=1)
    model = load_model(OLD / f"{key}.model")
    assert type(model) is METHODS[key]
    assert model.predict(task.X[-30:]).tolist() == json.loads((OLD / "answers.json").read_text())[key]


@pytest.mark.parametrize("key", METHODS)
def test_every_method_knows_its_key(key: str) -> None:
    assert METHODS[key].method_key == key
