"""Outputs: nothing that is read is replaced, and no file of another kind without --force."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from scipy.io import savemat

from superproto.files import write_whole


@pytest.fixture
def place(packed, tmp_path, call):
    """A pack, a model, parameters, records, class tables, class vectors and notes in one folder."""
    shutil.copy(packed, tmp_path / "p.npz")
    (tmp_path / "classes.csv").write_text("name,a,b\nant,1,2\n")
    (tmp_path / "words.csv").write_text("name,description\nant,small\nbee,loud\n")
    (tmp_path / "notes.md").write_text("# Mine\n")
    np.savez(tmp_path / "vectors.npz", att=np.eye(2), class_names=np.array(["ant", "bee"]))
    (tmp_path / "x.json").write_text('{"rho": 0.5}')
    assert call("fit", tmp_path / "p.npz", "-m", "eszsl", "--no-rejection", "-o", tmp_path / "m.model")[0] == 0
    record = ("evaluate", tmp_path / "p.npz", "-m", "eszsl", "--record", tmp_path / "r.jsonl")
    assert call(*record)[0] == 0
    return tmp_path


@pytest.fixture
def folder(task, tmp_path):
    """The task as an xlsa17 folder."""
    where = tmp_path / "xlsa"
    where.mkdir()
    asked = np.flatnonzero(task.asked) + 1
    names = np.array(list(task.class_names), dtype=object)[:, None]
    savemat(where / "res101.mat", {"features": task.X.T, "labels": task.truth[:, None] + 1})
    unseen = np.isin(task.truth[asked - 1], task.unseen_classes)
    locs = {
        "trainval_loc": np.flatnonzero(~task.asked)[:, None] + 1,
        "test_unseen_loc": asked[unseen][:, None],
        "test_seen_loc": asked[~unseen][:, None],
    }
    savemat(where / "att_splits.mat", {"att": task.semantics.T, "allclasses_names": names, **locs})
    return where


OVERWRITING = [
    "tune p.npz -o p.npz",
    "report m.model -o m.model",
    "report m.model --pack p.npz -o p.npz",
    "fit p.npz --params x.json -o x.json",
    "fit p.npz -o p.npz",
    "fit p.npz -o new.model --checkpoint new.model",
    "predict m.model p.npz -o m.model",
    "predict m.model p.npz -o p.npz",
    "research leaderboard --records r.jsonl -o r.jsonl",
    "evaluate p.npz --record p.npz",
    "evaluate p.npz --record m.model",
    "evaluate p.npz --record x.json",
    "compare p.npz --methods eszsl,sae --record m.model",
    "attributes p.npz -o p.npz",
    "report m.model -o p.npz",
    "report m.model -o r.jsonl",
    "fit p.npz -o x.json",
    "fit p.npz -o r.jsonl",
    "tune p.npz -o m.model",
    "tune p.npz -o x.json",
    "pack --features p.npz --labels x.json --classes x.json -o m.model",
    "pack --features x.npy --labels y.csv --classes classes.csv -o vectors.npz",
    "describe words.csv -o words.csv",
    "describe words.csv -o p.npz",
    "attributes p.npz -o classes.csv",
    "predict m.model p.npz -o classes.csv",
    "research leaderboard -o classes.csv",
    "research leaderboard -o notes.md",
]


@pytest.mark.parametrize("line", OVERWRITING)
def test_no_verb_replaces_what_it_reads_or_a_file_of_another_kind(place, mistake, monkeypatch, line):
    monkeypatch.chdir(place)
    before = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    said = mistake(*line.split())
    assert any(words in said for words in ("would be replaced", "or --force", "not a file of records"))
    assert {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("line", ["fit xlsa -o xlsa/res101.mat", "predict m.model xlsa -o xlsa/att_splits.mat --force"])
def test_files_of_a_folder_that_is_read_are_never_replaced(place, folder, mistake, monkeypatch, line):
    monkeypatch.chdir(place)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert "which is read here" in mistake(*line.split())
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_force_replaces_a_file_of_another_kind_but_not_what_is_read(place, call, mistake, monkeypatch):
    monkeypatch.chdir(place)
    (place / "old.txt").write_text("notes")
    fit = ("fit", "p.npz", "-m", "eszsl", "--no-rejection")
    assert "--force" in mistake(*fit, "-o", "old.txt")
    assert call(*fit, "-o", "old.txt", "--force")[0] == 0
    assert call("predict", "old.txt", "p.npz", "-o", "labels.csv")[0] == 0
    mistake(*fit, "-o", "p.npz", "--force")


def test_a_file_of_the_same_kind_and_an_empty_one_are_replaced(place, call, monkeypatch):
    monkeypatch.chdir(place)
    (place / "labels.csv").touch()
    for _ in range(2):
        assert call("predict", "m.model", "p.npz", "-o", "labels.csv")[0] == 0
        assert call("attributes", "p.npz", "-o", "table.csv")[0] == 0
        assert call("fit", "p.npz", "-m", "eszsl", "--no-rejection", "-o", "m.model")[0] == 0
        assert call("evaluate", "p.npz", "-m", "eszsl", "--record", "r.jsonl")[0] == 0


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_a_replaced_file_keeps_its_mode(tmp_path):
    path = tmp_path / "secret.csv"
    path.touch(mode=0o600)
    with write_whole(path, text=True) as handle:
        handle.write("id\n")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path):
    code = (
        "import os, signal\nfrom superproto.files import write_whole\n"
        f"with write_whole({str(tmp_path / 'a.csv')!r}) as handle:\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert list(tmp_path.glob(".a.csv.*.part"))
    with write_whole(tmp_path / "a.csv") as other, write_whole(tmp_path / "a.csv") as handle:
        # The one that a living process writes stays.
        assert len(list(tmp_path.glob(".a.csv.*.part"))) == 2
        handle.write(b"x")
        other.write(b"y")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv"]
