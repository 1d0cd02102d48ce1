"""The studies of the default model: parts off, spoiled pools, and their tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from superproto.baselines.registry import make_model, parameters_of
from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.evaluation.bootstrap import Difference, paired_difference
from superproto.experiments import ablation, robustness
from superproto.experiments.ablation import Finding, findings, held_out_table, measure_parts, read_parts, table_of
from superproto.experiments.generated_docs import RecordedResults, robustness_block, robustness_table
from superproto.experiments.paper.published import read_toml
from superproto.experiments.runner import Run, run_methods


@pytest.fixture(scope="module")
def task():
    return make_task(n_seen=12, n_unseen=4, n_features=24, samples_per_class=20, random_state=0)


def test_every_part_switches_off_a_parameter_of_the_default():
    _, (whole, *parts) = read_parts()
    default = parameters_of(make_model("hpl"))
    assert not whole.off
    for part in parts:
        changed = parameters_of(make_model("hpl", part.off))
        assert {name for name in default if changed[name] != default[name]} == set(part.off)


def test_every_plan_is_installed_with_the_package():
    root = Path(__file__).parents[2]
    included = read_toml(root / "pyproject.toml")["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert set(included) == {f"benchmarks/{plan.name}" for plan in (root / "benchmarks").glob("*.toml")}


def test_a_part_s_cost_is_the_paired_difference(task, tmp_path):
    hard = make_task(n_seen=12, n_unseen=6, n_features=24, separation=0.6, attribute_noise=0.8, random_state=1)
    _, parts = read_parts()
    chosen = [part for part in parts if part.off in ({}, {"whiten": False})]
    records = run_methods([Run(hard, "hpl", part.off) for part in chosen], tmp_path / "parts.jsonl", keep_right=True)
    whole, off = findings(records)
    asked = hard.y == -1
    answers = [
        make_model("hpl", part.off).fit(hard.X, hard.y, semantics=hard.semantics).transduction_[asked]
        for part in chosen
    ]
    np.testing.assert_allclose(off.difference.difference, off.score - whole.score)
    expected = paired_difference(hard.truth[asked], *answers)
    np.testing.assert_allclose(off.difference.difference, expected.difference)
    np.testing.assert_allclose([off.difference.low, off.difference.high], [expected.low, expected.high], atol=0.02)
    head, rows = table_of([whole, off])
    assert head == ["off", f"{hard.name}, zsl"]
    assert rows[1][0] == off.part


def test_folds_are_averaged_and_counted():
    changes = {1: -0.02, 2: 0.01, 3: -0.05}
    whole = [Finding("(nothing off)", f"birds, fold {i} of 3", "zsl", 0.5 + i / 10, None) for i in changes]
    off = [Finding("prior", f"birds, fold {i} of 3", "zsl", 0.0, Difference(x, x, x, 0.0)) for i, x in changes.items()]
    head, rows = held_out_table([*whole, *off, Finding("(nothing off)", "birds, fold 1 of 3", "gzsl", 0.4, None)])
    assert head == ["off", "birds, zsl", "birds, H"]
    assert rows == [["(nothing off)", "70.0", "40.0"], ["prior", "-2.0 (2 of 3)", "not run"]]


def test_held_out_classes_are_seen_ones(task, tmp_path, monkeypatch):
    _, parts = read_parts()
    monkeypatch.setattr(ablation, "read_parts", lambda: (["digits.npz"], parts[:1]))
    monkeypatch.setattr(ablation, "load", lambda file, setting: make_task(n_seen=9, n_unseen=3, setting=setting))
    (tmp_path / "digits.npz").touch()
    records = measure_parts(tmp_path, tmp_path / "held.jsonl", folds=2)
    assert [record.protocol.endswith("validation") for record in records] == [True] * 4
    assert len({record.task for record in records}) == 2


class TestRobustness:
    few = tuple(
        robustness.Condition(c.name, c.level, min(c.draws, 2), c.spoil, c.prepare) for c in robustness.CONDITIONS
    )

    def test_every_condition_is_answered_by_every_method(self, task, tmp_path):
        found = list(robustness.measure_robustness(task, tmp_path / "r.jsonl", conditions=self.few))
        assert len(found) == len(self.few)
        for finding, condition in zip(found, self.few):
            assert set(finding["accuracy"]) == {robustness.START, *robustness.COMPARED}
            assert all(len(values) == condition.draws for values in finding["accuracy"].values())
        table = robustness_table(found)
        assert all(len(row) == len(table.columns) for row in table.rows)

    def test_what_is_found_is_not_measured_again(self, task, tmp_path, monkeypatch):
        path = tmp_path / "r.jsonl"
        first = list(robustness.measure_robustness(task, path, conditions=self.few[:1]))
        monkeypatch.setattr(robustness, "_fitted", lambda *a: pytest.fail("measured again"))
        assert list(robustness.measure_robustness(task, path, conditions=self.few[:1])) == first

    def test_some_conditions_alone_are_drawn_as_among_all(self, task, tmp_path):
        several = [c for c in self.few if c.key in ("classes in the pool: 5", "largest to smallest class: 20:1")]
        whole = list(robustness.measure_robustness(task, tmp_path / "whole.jsonl", conditions=several))
        part = list(robustness.measure_robustness(task, tmp_path / "part.jsonl", conditions=several, only=["20:1"]))
        assert part == whole[1:]

    def test_an_unknown_condition_is_refused_with_what_there_is(self, task, tmp_path):
        with pytest.raises(UserError, match=r"'30:1'.*50:1"):
            list(robustness.measure_robustness(task, tmp_path / "r.jsonl", only=["30:1"]))

    def test_there_must_be_a_start_to_compare_with(self, task, tmp_path):
        with pytest.raises(UserError, match="no labeled sample to start from"):
            next(robustness.measure_robustness(replace(task, y=np.full_like(task.y, -1)), tmp_path / "r.jsonl"))

    def test_one_start_serves_draws_of_the_pool_and_no_others(self, task, tmp_path, monkeypatch):
        inductive, fitted = [], robustness._fitted

        def counted(method, given, whiten):
            inductive.append(not given.asked.any())
            return fitted(method, given, whiten)

        monkeypatch.setattr(robustness, "_fitted", counted)
        list(robustness.measure_robustness(task, tmp_path / "r.jsonl", conditions=self.few, only=["20:1"]))
        assert sum(inductive) == 1
        inductive.clear()
        list(
            robustness.measure_robustness(
                task, tmp_path / "r.jsonl", conditions=self.few, only=["attribute noise: 0.5 sd"]
            )
        )
        assert sum(inductive) == 2

    def test_a_pool_of_one_class_has_one(self, task):
        one = next(c for c in robustness.CONDITIONS if c.key == "classes in the pool: 1")
        spoiled = one.spoil(task, np.random.default_rng(0))
        assert len(np.unique(spoiled.truth[spoiled.asked])) == 1

    def test_a_broken_line_is_refused(self, tmp_path):
        (tmp_path / "r.jsonl").write_text(json.dumps({"task": "a"})[:-2])
        with pytest.raises(UserError, match="no finding"):
            robustness.read_findings(tmp_path / "r.jsonl")

    def test_the_table_says_where_the_start_is_better(self):
        found = [
            {"task": "t", "condition": f"c: {i}", "seed": 0, "draws": 2, "accuracy": accuracy}
            for i, accuracy in enumerate(
                [{"start": [0.5, 0.5], "hpl": [h, h], "kmeans": [0, 0], "transclip": [0, 0]} for h in (0.6, 0.4)]
            )
        ]
        assert "in 1 of 2 conditions: t, c: 1." in robustness_block(RecordedResults(robustness=found))
