"""`superproto research`: outputs are named by the user, and nothing is written beside the code."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import superproto
from superproto.datasets import make_task, pack_arrays
from superproto.datasets.packs import write_pack
from superproto.experiments.records import read_records

PACKAGE = Path(superproto.__file__).parent
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
VERBS = ["paper", "leaderboard", "ablation", "robustness", "speed", "docs"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A current folder that is no checkout."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def flowers(elsewhere):
    """A folder with a small pack under the name of one that the plans know."""
    task = make_task(n_seen=6, n_unseen=4, n_features=8, n_attributes=5, samples_per_class=8, setting="gzsl")
    split = np.where(task.asked, "test", "train")
    labels = task.class_names[task.truth]
    (elsewhere / "packs").mkdir()
    path = elsewhere / "packs" / "flo_efficientnet_lite0.npz"
    write_pack(path, pack_arrays(task.X, labels, task.semantics, task.class_names, split=split))
    return path


def files_of_the_code() -> dict[Path, int]:
    """Everything that is installed or checked out beside the code, with the time of its last change."""
    found = [path for folder in (PACKAGE, BENCHMARKS) for path in folder.rglob("*") if "__pycache__" not in path.parts]
    return {path: path.stat().st_mtime_ns for path in found}


def test_research_alone_shows_its_verbs(call):
    code, out, err = call("research")
    assert (code, err) == (0, "")
    assert call("research", "--help") == (code, out, err)
    for verb in VERBS:
        assert f"│ {verb} " in out


@pytest.mark.parametrize("verb", ["reproduce", "tables", "bench", "leaderboard", "ablation", "robustness"])
def test_the_old_verbs_are_gone(mistake, call, verb):
    assert f"No such command '{verb}'" in mistake(verb)
    assert f"│ {verb} " not in call("--help")[1]


@pytest.mark.parametrize(
    "arguments",
    [["paper", "--data", "packs"], ["ablation", "--data", "packs"], ["robustness", "flowers.npz"], ["docs"]],
)
def test_what_writes_needs_an_output(mistake, flowers, arguments):
    shutil.copy(flowers, "flowers.npz")
    assert "--output" in mistake("research", *arguments)


def test_studies_write_to_their_output_and_nowhere_else(call, flowers, elsewhere):
    before = files_of_the_code()
    robustness = ["robustness", flowers, "--only", "half", "-o", "robustness.jsonl"]
    assert call("research", "ablation", "--data", "packs", "-o", "parts.jsonl")[0] == 0
    assert call("research", *robustness)[0] == 0
    assert files_of_the_code() == before
    assert {path.name for path in elsewhere.iterdir()} == {"packs", "parts.jsonl", "robustness.jsonl"}
    lines = (elsewhere / "robustness.jsonl").read_bytes()
    code, out, _ = call("research", *robustness)
    assert code == 0
    assert "half" in out
    assert (elsewhere / "robustness.jsonl").read_bytes() == lines, "what is recorded is not run again"


def test_the_paper_is_reproduced_outside_a_checkout_with_its_records(call, mistake, flowers, elsewhere):
    paper = ["research", "paper", "--data", "packs", "--table", 2, "--jobs", 1, "-o", "paper.html"]
    assert "is not a checkout of superproto: it has no benchmarks/records.jsonl. Give --records." in mistake(*paper)
    assert call(*paper, "--records", "runs.jsonl")[0] == 0
    assert "FLO Lite0 (EfficientNet-Lite0, at hand)" in (elsewhere / "paper.html").read_text()
    assert len(read_records("runs.jsonl")) == 1
    assert {path.name for path in elsewhere.iterdir()} == {"packs", "paper.html", "runs.jsonl"}


def test_the_leaderboard_outside_a_checkout_is_that_of_the_package_and_runs_ask_for_records(call, mistake):
    told = mistake("research", "leaderboard", "--run", "--data", "packs")
    assert "it has no benchmarks/leaderboard.jsonl. Give --records." in told
    code, out, _ = call("research", "leaderboard", "--setting", "zsl", "--features", "whitened")
    assert (code, "transclip" in out) == (0, True)
    code, out, _ = call(
        "research",
        "leaderboard",
        "--records",
        BENCHMARKS / "leaderboard.jsonl",
        "--setting",
        "zsl",
        "--features",
        "whitened",
    )
    assert code == 0
    assert "hpl-published" in out


def test_an_output_that_cannot_be_written_is_told_before_any_work(mistake, flowers):
    told = "nowhere/x.jsonl cannot be written"
    assert told in mistake("research", "ablation", "--data", "packs", "-o", "nowhere/x.jsonl")
    assert told in mistake("research", "robustness", flowers, "-o", "nowhere/x.jsonl")
    assert told in mistake("research", "speed", "-o", "nowhere/x.jsonl")
    assert told in mistake("research", "leaderboard", "--run", "--records", "nowhere/x.jsonl")
    assert "would be replaced" in mistake("research", "robustness", flowers, "-o", flowers)


def test_pages_are_checked_and_rewritten_where_they_are_named(call, mistake, elsewhere):
    assert "No page in . has generated blocks" in mistake("research", "docs", "--check")
    page = elsewhere / "README.md"
    page.write_text("Before\n<!-- generated:leaderboard-short -->\nold\n<!-- /generated:leaderboard-short -->\nAfter\n")
    assert "Neither benchmarks/records.jsonl nor benchmarks/leaderboard.jsonl exists" in mistake(
        "research", "docs", "--check"
    )
    sources = ["--leaderboard", BENCHMARKS / "leaderboard.jsonl"]
    told = mistake("research", "docs", "--check", *sources)
    assert "README.md: generated blocks are stale. Run: superproto research docs --output ." in told
    assert call("research", "docs", "--output", ".", *sources)[:2] == (0, "Changed: README.md.\n")
    text = page.read_text()
    assert text.startswith("Before\n<!-- generated:leaderboard-short -->\n| method |")
    assert text.endswith("After\n")
    assert call("research", "docs", "--check", *sources)[:2] == (0, "1 pages agree with the records.\n")
    assert call("research", "docs", "--output", page, *sources)[:2] == (0, "Changed: nothing.\n")


def test_packs_of_ones_own_are_columns_of_the_leaderboard(call, mistake):
    task = make_task(n_seen=6, n_unseen=3, n_features=8, n_attributes=5, samples_per_class=8)
    names = task.class_names.astype(object)
    split = np.where(task.asked, "test", "train")
    write_pack("mine.npz", pack_arrays(task.X, names[task.truth], task.semantics, names, split=split))
    board = ["research", "leaderboard", "--own", "mine.npz"]
    assert "Give --records FILE" in mistake(*board)
    run = [*board, "--run", "-m", "eszsl", "-m", "prototypes", "--seeds", 1, "--records", "mine.jsonl"]
    code, out, _ = call(*run)
    assert code == 0
    assert "4 new runs." in out
    assert "mine" in out
    assert "eszsl" in out
    assert "not run" not in out
    assert "0 new runs." in call(*run)[1]
    assert "Two packs are called 'mine'" in mistake(*run, "--own", "mine.npz")
    touch = Path("none.jsonl")
    touch.touch()
    assert "No run of mine is recorded. Add --run." in mistake(*board, "--records", touch)
    unknown = np.where(task.asked, "", names[task.truth])
    write_pack("open.npz", pack_arrays(task.X, unknown, task.semantics, names))
    assert "nothing to score" in mistake("research", "leaderboard", "--own", "open.npz", "--records", "o.jsonl")
