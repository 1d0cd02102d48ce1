"""Records: whole lines, honest keys, one format for every study, and what is looked up among them."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, replace

import pytest

from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.evaluation.evaluate import evaluate
from superproto.experiments.plans import benchmarks_folder
from superproto.experiments.records import (
    KINDS,
    Results,
    append_record,
    known_records,
    last_entries,
    read_records,
    record_of,
    unmeasured,
    versions,
    write_records,
)


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
        replace(record, kind="figure"),
        replace(record, constants={"refine": False}),
    ]
    assert len({record.key, *(other.key for other in changed)}) == 7


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
    with pytest.warns(UserWarning, match="line 1 is not a record"):
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


def test_a_file_of_records_that_cannot_be_opened_is_named(tmp_path, record):
    with pytest.raises(UserError, match="cannot be written"):
        append_record(tmp_path / "none" / "r.jsonl", record)
    with pytest.raises(UserError, match="cannot be read"):
        read_records(tmp_path / "none.jsonl")


def test_lines_are_plain_json(tmp_path, record):
    append_record(tmp_path / "r.jsonl", record)
    line = json.loads((tmp_path / "r.jsonl").read_text(), parse_constant=lambda word: pytest.fail(word))
    assert line["scores"]["per_class_accuracy"] == record.scores["per_class_accuracy"]


def test_every_study_of_the_repository_is_kept_in_the_one_format():
    found = {path.stem: read_records(path) for path in benchmarks_folder().glob("*.jsonl")}
    assert {name: {record.kind for record in records} for name, records in found.items()} == {
        "records": {"run", "figure"},
        "leaderboard": {"calibration", "run", "tuning"},
        "parts": {"run"},
        "parts_held_out": {"run"},
        "parts_perturbed": {"run"},
        "robustness": {"robustness"},
        "speed": {"speed"},
        "texts": {"run"},
        "constants": {"run"},
    }


def test_lines_of_the_first_version_are_read_by_what_their_method_says(tmp_path, record):
    old = {name: value for name, value in asdict(record).items() if name not in ("kind", "constants")}
    lines = [{**old, "method": method} for method in ("eszsl", "figure timing", "tuning eszsl")]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read_records(tmp_path / "r.jsonl")
    assert [(r.kind, r.method) for r in found] == [("run", "eszsl"), ("figure", "timing"), ("tuning", "eszsl")]


def test_a_record_of_an_unknown_shape_is_skipped(tmp_path, record):
    (tmp_path / "r.jsonl").write_text(json.dumps({**asdict(record), "constants": 3}) + "\n")
    with pytest.warns(UserWarning, match="'constants' is missing or of the wrong kind"):
        assert read_records(tmp_path / "r.jsonl") == []


def test_of_two_entries_of_a_study_the_later_counts(tmp_path):
    for took in (1, 2):
        append_record(tmp_path / "speed.jsonl", unmeasured("speed", "growth", scores={"n": took}, seconds=took))
    found = last_entries(tmp_path / "speed.jsonl")
    assert found == {"growth": {"study": "growth", "n": 2, "took": 2, "versions": versions()}}
    assert last_entries(tmp_path / "nothing.jsonl") == {}
    assert known_records(tmp_path / "nothing.jsonl") == known_records(None) == []


def test_what_has_no_scores_is_no_result(record):
    named = replace(record, protocol="ps")
    assert Results([named]).score(record.task, "prototypes") is not None
    for other in (
        replace(named, scores={}),
        replace(named, kind="tuning"),
        replace(named, constants={"refine": False}),
    ):
        assert Results([other]).score(record.task, "prototypes") is None


def test_the_newest_record_of_a_seed_counts(record):
    scores = [{**record.scores, "per_class_accuracy": value} for value in (0.1, 0.3, 0.5)]
    records = [replace(record, protocol="ps", seed=seed, scores=found) for seed, found in zip((0, 1, 1), scores)]
    found = Results(records).score(record.task, "prototypes")
    assert (found.mean, found.trials) == (pytest.approx(0.3), 2)


def test_a_file_is_rewritten_whole(tmp_path, record):
    append_record(tmp_path / "r.jsonl", record)
    write_records(tmp_path / "r.jsonl", [replace(record, seed=seed) for seed in (5, 6)])
    assert [r.seed for r in read_records(tmp_path / "r.jsonl")] == [5, 6]


def test_a_record_before_its_measurement_is_of_a_known_kind(task):
    asked = unmeasured("robustness", "attribute noise: 1.0 sd", task, "digest", seed=3)
    assert asked.kind in KINDS
    assert (asked.task, asked.data, asked.setting, asked.seed) == (task.name, "digest", "zsl", 3)
    assert not asked.scores
    assert not asked.failed
