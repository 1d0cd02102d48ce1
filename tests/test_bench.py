"""The bench: what it measures is measured in turns, recorded with its sizes, and drawn."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from superproto import bench, large
from superproto.cli.guard import run
from superproto.errors import UserError
from superproto.growth_chart import write_growth_chart
from superproto.measuring import anonymous_bytes, exponent, peak_memory, time_together


def test_contenders_run_in_turns():
    order: list[str] = []
    seconds = time_together({"a": lambda: order.append("a"), "b": lambda: time.sleep(0.01)}, 3)
    assert order == ["a"] * 3
    assert seconds["b"] >= 0.01 > seconds["a"]


def test_the_exponent_of_a_power_law_is_found():
    assert exponent([1, 10, 100], [3, 300, 30_000]) == pytest.approx(2)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's account of memory")
def test_the_peak_counts_arrays_and_not_mapped_files(tmp_path):
    np.save(tmp_path / "x.npy", np.ones(4_000_000))
    with peak_memory(0.001) as mapped:
        np.load(tmp_path / "x.npy", mmap_mode="r").sum()
    with peak_memory(0.001) as held:
        block = np.ones(4_000_000)
        time.sleep(0.05)
    assert mapped["peak"] - mapped["before"] < 16e6 < held["peak"] - held["before"]
    assert anonymous_bytes() > block.nbytes


def test_studies_are_entries_that_say_what_they_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "_cub_sized", lambda folder: bench._synthetic(300, 150, 24, 10, 5, 8))
    entries = list(bench.bench(tmp_path, ["against-floor", "against-others", "breakdown"]))
    for entry in entries:
        bench.write_entry(tmp_path / "speed.jsonl", entry)
    lines = [json.loads(line) for line in (tmp_path / "speed.jsonl").read_text().splitlines()]
    assert [line["study"] for line in lines] == ["against-floor", "against-others", "breakdown"]
    assert lines[0]["sizes"] == {"labeled": 300, "pool": 150, "features": 24, "classes": 15}
    assert set(lines[0]["kept"]) == {"fit / grams < 3", "Sylvester solves / fit >= 30"}
    assert lines[2]["seconds"]["fit"] > lines[2]["seconds"]["passes"] > 0
    assert lines[0]["machine"]["flops"] > 1e8


def test_an_iteration_visits_the_pool_twice_when_soft_and_once_when_hard():
    task = bench._synthetic(400, 800, 16, 8, 4, 6)
    assert bench._iteration(*task, temperature=0.0)[1] == 1
    assert bench._iteration(*task, temperature=0.01)[1] == 2


def test_the_large_study_leaves_no_features_behind(tmp_path, capsys):
    entry = large.bench_large(tmp_path, large.Size(400, 200, 32, 10, 5, 8), max_iter=3)
    assert list(tmp_path.iterdir()) == []
    assert entry["accuracy"] > 0.5
    assert entry["kept"] == {"anonymous memory <= 3 GB": True}
    assert "iteration 1: objective" in capsys.readouterr().err
    with pytest.raises(UserError, match="is no folder"):
        large.bench_large(tmp_path / "nowhere")


def test_growth_is_drawn_with_its_exponents(tmp_path):
    curves = {
        "pool": {"sizes": [10, 100], "seconds": [0.1, 1.0]},
        "features": {"sizes": [8, 16], "seconds": [0.2, 0.5]},
    }
    write_growth_chart(tmp_path / "growth.svg", {"curves": curves, "exponents": {"pool": 1.0, "features": 1.3}})
    assert "exponent 1.30" in (tmp_path / "growth.svg").read_text()
    with pytest.raises(UserError, match="has no curves"):
        write_growth_chart(tmp_path / "growth.svg", {"study": "memory"})


def test_an_unknown_study_is_a_mistake_of_the_user(capsys):
    assert run(["bench", "--only", "nothing"]) == 2
    assert "'nothing' is no study. Choose from against-floor" in capsys.readouterr().err
