"""Records: whole lines, honest keys, and a plan that resumes where it stopped."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import asdict, replace

import numpy as np
import pytest

from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.evaluation.evaluate import evaluate
from superproto.experiments import runner
from superproto.experiments.records import append_record, check_writable, read_records, record_of, versions
from superproto.experiments.runner import Run, run_methods


@pytest.fixture(scope="module")
def task():
    return make_task(n_seen=5, n_unseen=3, n_features=6, n_attributes=4, samples_per_class=6)


@pytest.fixture(scope="module")
def record(task):
    return record_of(evaluate(task, "prototypes", seed=3))


def test_a_record_comes_back_as_it_was_written(tmp_path, record):
    append_record(tmp_path / "r.jsonl", record)
    append_record(tmp_path / "r.jsonl", record)
    assert read_records(tmp_path / "r.jsonl") == [record, record]
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 2


def test_a_record_says_all_that_decides_its_number(task, record):
    line = asdict(record)
    assert {"task", "data", "setting", "protocol", "pool", "method", "params", "chosen", "seed", "scores"} <= set(line)
    assert set(versions()) == {"superproto", "numpy", "scipy", "scikit-learn", "python"}
    assert record.data == task.digest()
    assert record.seed == 3
    assert record.params["whiten"] is False, "defaults are written out"


def test_a_key_changes_with_data_method_parameters_and_seed_alone(task, record):
    assert record.key == replace(record, seconds=99.0, versions={}, notes=["x"], chosen="given").key
    changed = [
        replace(record, data="other"),
        replace(record, method="hpl"),
        replace(record, params={**record.params, "whiten": True}),
        replace(record, seed=4),
    ]
    assert len({record.key, *(other.key for other in changed)}) == 5


def test_corrupt_lines_are_reported_by_number_and_skipped(tmp_path, record):
    path = tmp_path / "r.jsonl"
    append_record(path, record)
    with path.open("ab") as handle:
        handle.write(b'{"task": "x"}\n\xff\xfe\n[1]\n\n')
    append_record(path, record)
    with pytest.warns(UserWarning) as heard:  # noqa: PT030
        assert read_records(path) == [record, record]
    said = [str(warning.message) for warning in heard]
    assert [line.partition(", line ")[2].split()[0] for line in said] == ["2", "3", "4"]
    assert "'data' is missing or of the wrong kind" in said[0]


def test_a_line_that_a_crash_cut_off_does_not_swallow_the_next(tmp_path, record):
    path = tmp_path / "r.jsonl"
    append_record(path, record)
    path.write_bytes(path.read_bytes()[:-20])
    append_record(path, record)
    with pytest.warns(UserWarning, match="line 1 is no record"):
        assert read_records(path) == [record]


def test_lines_of_several_writers_never_mix(tmp_path, record):
    path = tmp_path / "r.jsonl"
    append_record(path, record)
    writers = [threading.Thread(target=lambda: [append_record(path, record) for _ in range(10)]) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert read_records(path) == [record] * 41


def test_a_place_that_cannot_be_written_is_told_at_once(tmp_path, record):
    with pytest.raises(UserError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(UserError, match=r"the folder .*none does not exist"):
        check_writable(tmp_path / "none" / "r.jsonl")
    with pytest.raises(UserError, match="cannot be written"):
        append_record(tmp_path / "none" / "r.jsonl", record)
    with pytest.raises(UserError, match="cannot be read"):
        read_records(tmp_path / "none.jsonl")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_without_permission_is_told_at_once(tmp_path):
    (tmp_path / "r.jsonl").touch(mode=0o400)
    with pytest.raises(UserError, match="permission denied"):
        check_writable(tmp_path / "r.jsonl")


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


def test_lines_are_plain_json(tmp_path, record):
    append_record(tmp_path / "r.jsonl", record)
    line = json.loads((tmp_path / "r.jsonl").read_text(), parse_constant=lambda word: pytest.fail(word))
    assert line["scores"]["per_class_accuracy"] == record.scores["per_class_accuracy"]
