"""The ablation: every row says what it switches, and its cost is a paired difference."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines.registry import make_model, parameters_of
from superproto.cli.exit_codes import run_command
from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.evaluation.bootstrap import Difference, paired_difference
from superproto.experiments import ablation
from superproto.experiments.ablation import Finding, findings, held_out_table, measure_parts, run_of, table_of
from superproto.experiments.plans import WHOLE, ModelPart, PartsPlan, benchmarks_folder, read_parts_plan
from superproto.experiments.records import read_records
from superproto.experiments.runner import run_methods
from superproto.hpl.constants import Constants


@pytest.fixture(scope="module")
def task():
    return make_task(n_seen=12, n_unseen=4, n_features=24, samples_per_class=20, random_state=0)


def test_every_part_switches_off_a_parameter_of_the_default():
    default = parameters_of(make_model("hpl"))
    for part in read_parts_plan().parts:
        changed = parameters_of(make_model("hpl", part.params))
        assert {name for name in default if changed[name] != default[name]} == set(part.params)
        assert all(getattr(Constants(), name) != value for name, value in part.constants.items())


def test_every_part_says_what_it_switches():
    parts = read_parts_plan().parts
    assert all(part.switches.endswith(".") and (part.params or part.constants) for part in parts)
    assert {name for part in parts for name in part.constants} == {
        "relaxation",
        "own_vote",
        "code_ridge",
        "diagnose",
        "free_sizes",
        "refine",
    }
    prior = next(part for part in parts if part.params == {"prior": "uniform"})
    assert "gzsl: the prior is not relaxed in the default model either" in prior.switches


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
def test_a_uniform_prior_differs_by_relaxing_in_zsl_alone(setting):
    """What its row of the plan says: in gzsl the strength of the prior is not decided in the default model either."""
    task = make_task(n_seen=12, n_unseen=4, n_features=24, samples_per_class=20, random_state=0, setting=setting)
    holds = [
        make_model("hpl", params, candidates=task.candidates).fit(task.X, task.y, semantics=task.semantics).hold_
        for params in ({}, {"prior": "uniform"})
    ]
    assert [hold > 0 for hold in holds] == [setting == "zsl", False]


def test_a_part_s_cost_is_the_paired_difference(task, tmp_path):
    hard = make_task(n_seen=12, n_unseen=6, n_features=24, separation=0.6, attribute_noise=0.8, random_state=1)
    chosen = [WHOLE, next(part for part in read_parts_plan().parts if part.params == {"whiten": False})]
    records = run_methods([run_of(part, hard) for part in chosen], tmp_path / "parts.jsonl", keep_right=True)
    whole, off = findings(records)
    asked = hard.y == -1
    answers = [
        make_model("hpl", part.params).fit(hard.X, hard.y, semantics=hard.semantics).transduction_[asked]
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


def test_held_out_classes_are_seen_ones(tmp_path, monkeypatch):
    plan = PartsPlan(data=("digits.npz",), parts=())
    monkeypatch.setattr(ablation, "load", lambda file, setting: make_task(n_seen=9, n_unseen=3, setting=setting))
    (tmp_path / "digits.npz").touch()
    records = measure_parts(tmp_path, tmp_path / "held.jsonl", folds=2, plan=plan)
    assert [record.protocol.endswith("validation") for record in records] == [True] * 4
    assert len({record.task for record in records}) == 2


def test_perturbed_pools_are_few_uneven_small_and_of_few_seen_classes(tmp_path, monkeypatch):
    task = make_task(n_seen=12, n_unseen=4, samples_per_class=60, random_state=0)
    found = {changed.name.rpartition(", ")[2]: changed for changed in ablation.perturbed_tasks(task)}
    assert len(found["samples in the pool: 100"].truth[found["samples in the pool: 100"].asked]) == 100
    few = found["classes in the pool: half"]
    assert len(np.unique(few.truth[few.asked])) == 2
    assert len(found[f"seen classes: {ablation.FEW_SEEN}"].seen_classes) == ablation.FEW_SEEN
    assert len(found) == len(ablation.PERTURBED) + 1
    whole = Finding("(nothing off)", "a, fold 1 of 2, half", "zsl", 0.5, None)
    off = [Finding("prior", f"{x}, fold 1 of 2, half", "zsl", 0.0, Difference(-0.1, 0, 0, 0.0)) for x in "ab"]
    assert held_out_table([whole, *off])[1][1] == ["prior", "-10.0 (2 of 2)"]


def test_a_part_is_found_again_by_its_constants(task, tmp_path):
    part = ModelPart("refinement", "No refinement.", constants={"refine": False})
    plan = PartsPlan(data=(), parts=(part,))
    records = run_methods([run_of(p, task) for p in (WHOLE, part)], tmp_path / "r.jsonl", keep_right=True)
    assert [finding.part for finding in findings(records, plan)] == [WHOLE.name, "refinement"]
    assert [finding.part for finding in findings(records[:1], plan)] == [WHOLE.name]


def test_every_recorded_part_is_one_of_the_plan():
    known = {ablation._asked(part) for part in (WHOLE, *read_parts_plan().parts)}
    for name in ("parts.jsonl", "parts_held_out.jsonl", "parts_perturbed.jsonl"):
        assert {ablation._frozen(r.params, r.constants) for r in read_records(benchmarks_folder() / name)} == known


def test_data_that_are_not_there_are_named(tmp_path):
    with pytest.raises(UserError, match=r"has none of flo_efficientnet_lite0.npz"):
        measure_parts(tmp_path, tmp_path / "r.jsonl")


def test_where_records_go_must_be_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_command(["research", "ablation", "--data", "."]) == 2
    assert "--output" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
