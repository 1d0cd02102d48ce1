"""Robustness: every condition is drawn as it says, answered by every method, and recorded once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from superproto.cli.exit_codes import run_command
from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.experiments import robustness
from superproto.experiments.generated_docs import RecordedResults, robustness_block, robustness_table
from superproto.experiments.records import read_records, unmeasured, write_records
from superproto.experiments.robustness import measure_robustness


@pytest.fixture(scope="module")
def task():
    return make_task(n_seen=12, n_unseen=4, n_features=24, samples_per_class=20, random_state=0)


FEW = tuple(c._replace(draws=min(c.draws, 2)) for c in robustness.CONDITIONS)


def test_every_condition_is_answered_by_every_method(task, tmp_path):
    once = [c._replace(draws=1) for c in FEW]
    found = list(measure_robustness(task, tmp_path / "r.jsonl", conditions=once))
    assert len(found) == len(once)
    for finding, condition in zip(found, once):
        assert set(finding["accuracy"]) == {robustness.START, *robustness.COMPARED}
        assert all(len(values) == condition.draws for values in finding["accuracy"].values())
    table = robustness_table(found)
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_what_is_found_is_not_measured_again(task, tmp_path, monkeypatch):
    path = tmp_path / "r.jsonl"
    first = list(measure_robustness(task, path, conditions=FEW[:1]))
    monkeypatch.setattr(robustness, "_fitted", lambda *a: pytest.fail("measured again"))
    assert list(measure_robustness(task, path, conditions=FEW[:1])) == first


def test_some_conditions_alone_are_drawn_as_among_all(task, tmp_path):
    several = [c for c in FEW if c.key in ("classes in the pool: 5", "largest to smallest class: 20:1")]
    whole = list(measure_robustness(task, tmp_path / "whole.jsonl", conditions=several))
    assert all(len(values) == 2 for finding in whole for values in finding["accuracy"].values())
    part = list(measure_robustness(task, tmp_path / "part.jsonl", conditions=several, only=["20:1"]))
    assert part == whole[1:]


def test_an_unknown_condition_is_refused_with_what_there_is(task, tmp_path):
    with pytest.raises(UserError, match=r"'30:1'.*50:1"):
        list(measure_robustness(task, tmp_path / "r.jsonl", only=["30:1"]))


def test_there_must_be_a_start_to_compare_with(task, tmp_path):
    with pytest.raises(UserError, match="no labeled sample, so there is no inductive model"):
        next(measure_robustness(replace(task, y=np.full_like(task.y, -1)), tmp_path / "r.jsonl"))


def test_one_start_serves_draws_of_the_pool_and_no_others(task, tmp_path, monkeypatch):
    inductive, fitted = [], robustness._fitted

    def counted(method, given, whiten):
        inductive.append(not given.asked.any())
        return fitted(method, given, whiten)

    monkeypatch.setattr(robustness, "_fitted", counted)
    list(measure_robustness(task, tmp_path / "r.jsonl", conditions=FEW, only=["20:1"]))
    assert sum(inductive) == 1
    inductive.clear()
    list(measure_robustness(task, tmp_path / "r.jsonl", conditions=FEW, only=["attribute noise: 0.5 sd"]))
    assert sum(inductive) == 2


def test_a_pool_of_one_class_has_one(task):
    one = next(c for c in robustness.CONDITIONS if c.key == "classes in the pool: 1")
    perturbed = one.perturb(task, np.random.default_rng(0))
    assert len(np.unique(perturbed.truth[perturbed.asked])) == 1


def test_a_broken_line_costs_its_own_condition(task, tmp_path):
    path = tmp_path / "r.jsonl"
    first = list(measure_robustness(task, path, conditions=FEW[:1]))
    with path.open("a") as handle:
        handle.write('{"task": "a"')
    with pytest.warns(UserWarning, match="line 2 is not a record"):
        assert robustness.read_findings(path) == first


def test_a_condition_that_fails_leaves_the_others(task, tmp_path, monkeypatch):
    fitted = robustness._fitted

    def some(method, given, whiten):
        if given.asked.sum() <= 5 and method == "kmeans":
            raise ValueError("too few samples")
        return fitted(method, given, whiten)

    monkeypatch.setattr(robustness, "_fitted", some)
    several = [c for c in FEW if c.key in ("samples in the pool: 1", "classes in the pool: all")]
    with pytest.warns(UserWarning, match="samples in the pool: 1 failed: ValueError: too few samples"):
        found = list(measure_robustness(task, tmp_path / "r.jsonl", conditions=several))
    assert [finding["condition"] for finding in found] == ["classes in the pool: all"]
    assert [record.failed for record in read_records(tmp_path / "r.jsonl")] == [False, True]


def test_where_findings_go_must_be_said(task, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.npz").touch()
    assert run_command(["research", "robustness", "p.npz"]) == 2
    assert "--output" in capsys.readouterr().err


def test_the_table_says_where_the_start_is_better(tmp_path):
    records = [
        unmeasured("robustness", f"c: {i}", task="t", params={"draws": 2}, scores=accuracy)
        for i, accuracy in enumerate(
            [{"start": [0.5, 0.5], "hpl": [h, h], "kmeans": [0, 0], "transclip": [0, 0]} for h in (0.6, 0.4)]
        )
    ]
    write_records(tmp_path / "robustness.jsonl", records)
    found = robustness.read_findings(tmp_path / "robustness.jsonl")
    assert "in 1 of 2 conditions: t, c: 1." in robustness_block(RecordedResults(robustness=found))
