"""The runner: a plan resumes where it stopped, and what ends one measurement does not end the rest."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.evaluation.evaluate import evaluate
from superproto.experiments import runner
from superproto.experiments.records import read_records, unmeasured
from superproto.experiments.runner import Job, Progress, Run, TimeUp, limited, run_jobs, run_methods
from superproto.experiments.task_cache import PreparedTask, whiten
from superproto.hpl.constants import Constants


@pytest.fixture(scope="module")
def task():
    return make_task(n_seen=5, n_unseen=3, n_features=6, n_attributes=4, samples_per_class=6)


def test_a_plan_resumes_where_it_stopped(tmp_path, task, monkeypatch):
    path = tmp_path / "r.jsonl"
    plan = [Run(task, "prototypes"), Run(task, "eszsl"), Run(task, "eszsl", seed=1)]
    heard = []
    first = run_methods(plan[:2], path, on_record=lambda record, reused: heard.append((record.method, reused)))
    again = run_methods(plan, path, on_record=lambda record, reused: heard.append((record.method, reused)))
    assert heard == [("prototypes", False), ("eszsl", False), ("prototypes", True), ("eszsl", True), ("eszsl", False)]
    assert again[:2] == first
    assert read_records(path) == again
    monkeypatch.setattr(runner, "evaluate", lambda *_, **__: pytest.fail("a recorded run was run again"))
    assert run_methods(iter(plan), path) == again


def test_other_data_parameters_or_pools_are_other_runs(tmp_path, task):
    path = tmp_path / "r.jsonl"
    moved = replace(task, X=task.X + np.float32(1))
    plan = [
        Run(task, "eszsl"),
        Run(moved, "eszsl"),
        Run(task.inductive(), "eszsl"),
        Run(task, "eszsl", params={"gamma": 7.0}, chosen="by a friend"),
    ]
    records = run_methods(plan, path)
    assert len({record.key for record in records}) == 4
    assert [record.chosen for record in records] == ["defaults", "defaults", "defaults", "by a friend"]
    assert records[2].pool == "none"


def test_a_wrong_plan_stops_after_what_was_right(tmp_path, task):
    path = tmp_path / "r.jsonl"
    with pytest.raises(UserError, match="no method 'eszl'"):
        run_methods([Run(task, "eszsl"), Run(task, "eszl")], path)
    assert len(read_records(path)) == 1


@pytest.mark.parametrize("method", ["eszsl", "hpl-published"])
@pytest.mark.parametrize("shift", [0.0, 10.0])
def test_whitening_once_for_all_methods_changes_no_answer(tmp_path, method, shift):
    task = make_task(n_seen=8, n_unseen=4, n_features=10, samples_per_class=9, separation=1.5)
    task = replace(task, X=task.X + shift)
    assert (task.X < 0).any() == (shift == 0), "features that are never negative are prepared by another rule"
    ready = whiten(task)
    given = PreparedTask(lambda: task, lambda: ready)
    runs = [Run(given, method, {"whiten": True}, share_whitening=True), Run(task, method, {"whiten": True})]
    (shared,) = run_methods(runs[:1], tmp_path / "a.jsonl", keep_right=True)
    (alone,) = run_methods(runs[1:], tmp_path / "b.jsonl", keep_right=True)
    assert shared.key == alone.key
    assert shared.scores["right"] == alone.scores["right"]
    assert shared.breakdown["whiten"] == ready.seconds
    assert shared.seconds > ready.seconds


def measured(asked, value=1.0):
    return replace(asked, scores={"value": value})


def broken(asked):
    raise ZeroDivisionError("no\nsamples")


def job(name, measure=measured):
    return Job(unmeasured("figure", name), measure)


def test_an_error_is_recorded_and_reported_and_the_rest_goes_on(tmp_path):
    jobs = [job("a"), job("b", broken), job("c")]
    with pytest.warns(
        UserWarning, match="figure b failed: ZeroDivisionError: no samples. The rest of the plan continues"
    ):
        found = run_jobs(jobs, tmp_path / "r.jsonl")
    assert [(r.method, r.failed, bool(r.scores)) for r in found] == [
        ("a", False, True),
        ("b", True, False),
        ("c", False, True),
    ]
    assert read_records(tmp_path / "r.jsonl") == found


def test_what_failed_is_tried_again_and_what_did_not_is_not(tmp_path):
    with pytest.warns(UserWarning, match="continues"):
        run_jobs([job("a"), job("b", broken)], tmp_path / "r.jsonl")
    heard = []
    run_jobs(
        [job("a", broken), job("b")], tmp_path / "r.jsonl", on_record=lambda r, reused: heard.append((r.method, reused))
    )
    assert heard == [("a", True), ("b", False)]


def test_a_method_that_fails_leaves_the_others(tmp_path, task, monkeypatch):
    kept = runner.evaluate

    def some(task, method, *a, **k):
        if method == "sae":
            raise np.linalg.LinAlgError("singular")
        return kept(task, method, *a, **k)

    monkeypatch.setattr(runner, "evaluate", some)
    with pytest.warns(UserWarning, match="LinAlgError: singular"):
        found = run_methods([Run(task, name) for name in ("sae", "eszsl")], tmp_path / "r.jsonl")
    assert [bool(r.scores) for r in found] == [False, True]
    assert found[0].params == Run(task, "sae").job().request.params


def test_an_interrupt_is_no_error_of_a_job(tmp_path):
    def stop(asked):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_jobs([job("a"), job("b", stop), job("c")], tmp_path / "r.jsonl")
    assert [r.method for r in read_records(tmp_path / "r.jsonl")] == ["a"]


def test_again_measures_what_is_recorded_too(tmp_path):
    for value in (1.0, 2.0):
        run_jobs([job("a", partial(measured, value=value))] * 2, tmp_path / "r.jsonl", again=True)
    assert [r.scores["value"] for r in read_records(tmp_path / "r.jsonl")] == [1.0, 2.0], "each once a call"


def test_without_a_file_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_jobs([job("a")], None)[0].scores == {"value": 1.0}
    assert list(tmp_path.iterdir()) == []


def test_progress_says_how_far_the_plan_is(tmp_path, task):
    said = []
    run_jobs([job("a")], tmp_path / "r.jsonl")
    progress = Progress(3, said.append)
    run_jobs([job("a"), job("b"), Run(task, "eszsl").job()], tmp_path / "r.jsonl", on_record=progress)
    assert (progress.done, progress.new) == (3, 2), "what is reused is done, and not new"
    assert "2 of 3, about" in said[0]
    assert said[1].startswith(f"{task.name} raw, zsl synthetic: eszsl, seed 0: ")
    assert "%" in said[1]


def test_a_block_that_takes_too_long_is_ended():
    with pytest.raises(TimeUp, match=r"not finished within 0\.01 s"), limited(0.01):
        time.sleep(5)
    with limited(None):
        pass


def test_constants_are_part_of_what_was_asked(tmp_path, task):
    whole, off = run_methods([Run(task), Run(task, constants={"refine": False})], tmp_path / "r.jsonl")
    assert whole.key != off.key
    assert (whole.constants, off.constants) == ({}, {"refine": False})


def test_constants_reach_the_model(task):
    model = evaluate(task, "hpl", {"omega": 0.5}, constants={"refine": False, "own_vote": 1.0}).model
    assert (model.omega, model.constants) == (0.5, Constants(refine=False, own_vote=1.0))
