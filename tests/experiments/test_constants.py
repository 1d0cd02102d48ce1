"""Every hand-set number of the model has a unit and a recorded study on held-out seen classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from superproto.experiments.ablation import plan_of_constants
from superproto.experiments.records import known_records
from superproto.hpl.constants import Constants, numbers

RECORDS = Path(__file__).parents[2] / "benchmarks" / "constants.jsonl"


def test_there_are_at_most_twenty_numbers():
    """In the dataclass; the defaults of the estimator's parameters are the user's to change."""
    assert len(numbers()) <= 20
    assert all(numbers().values())


@pytest.mark.parametrize("name", sorted(numbers()))
def test_every_number_is_measured_at_other_values(name):
    measured = {
        record.constants[name]
        for record in known_records(RECORDS)
        if record.scores and name in record.constants and "fold" in record.task
    }
    asked = {part.constants[name] for part in plan_of_constants().parts if name in part.constants}
    assert asked <= measured
    assert getattr(Constants(), name) not in asked
