"""Deep methods on real features with no argument; those that take longer are in the records of the leaderboard."""

from __future__ import annotations

from typing import Any

import pytest

from superproto.baselines.registry import DEEP
from superproto.datasets import load
from superproto.evaluation.evaluate import evaluate
from superproto.experiments.plans import benchmarks_folder
from superproto.experiments.records import Results, read_records

FLOWERS = "flo_efficientnet_lite0"
# Per-class accuracy that the flowers must reach; chance is .05.
FLOORS = {"dcn": 0.45, "qfsl": 0.45, "vzsl": 0.6}


@pytest.mark.extra
@pytest.mark.slow
@pytest.mark.parametrize("name", FLOORS)
def test_flowers_are_recognized_far_above_chance(name: str, pack: Any, torch: Any) -> None:
    found = evaluate(load(pack(FLOWERS)), name)
    assert found.scores["per_class_accuracy"] >= FLOORS[name]
    assert not found.notes


@pytest.mark.parametrize("name", DEEP)
def test_the_recorded_runs_with_defaults_are_far_above_chance_and_short(name: str) -> None:
    results = Results(read_records(benchmarks_folder() / "leaderboard.jsonl"))
    score = results.score(FLOWERS, name)
    assert score is not None, "not recorded with today's defaults"
    assert score.mean >= 0.4
    for data in (FLOWERS, "cub_efficientnet_lite0"):
        assert all(run.scores["cpu_seconds"] < 240 for run in results.runs(data, name)), data
