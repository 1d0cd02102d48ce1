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
# The least that a recorded run without arguments may reach; chance is .05, .02, .1 and .02.
RECORDED_FLOORS = {
    FLOWERS: 0.4,
    "cub_efficientnet_lite0": 0.4,
    "awa1_handcrafted_pca512": 0.15,
    "cub_vgg_fc7_4096": 0.4,
}


@pytest.mark.extra
@pytest.mark.slow
@pytest.mark.parametrize("name", FLOORS)
def test_flowers_are_recognized_far_above_chance(name: str, pack: Any, torch: Any) -> None:
    found = evaluate(load(pack(FLOWERS)), name)
    assert found.scores["per_class_accuracy"] >= FLOORS[name]
    assert not found.notes


@pytest.mark.parametrize("data", RECORDED_FLOORS)
@pytest.mark.parametrize("name", DEEP)
def test_the_recorded_runs_with_defaults_are_far_above_chance_and_short(name: str, data: str) -> None:
    results = Results(read_records(benchmarks_folder() / "leaderboard.jsonl"))
    score = results.score(data, name)
    assert score is not None, "not recorded with today's defaults"
    assert score.mean >= RECORDED_FLOORS[data]
    assert all(run.scores["cpu_seconds"] < 240 for run in results.runs(data, name))
