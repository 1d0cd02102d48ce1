"""STOP: Ctrl-C, a kill and a full disk leave nothing half-written, and `tune` goes on where it stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from superproto import UserError, load_model
from superproto.datasets import make_task
from superproto.evaluation.training import fit_task

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals work otherwise there")


@pytest.fixture(scope="module")
def pack_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    task = make_task(n_seen=12, n_unseen=4, n_features=10, n_attributes=8, samples_per_class=10)
    path = tmp_path_factory.mktemp("data") / "small.npz"
    asked = np.flatnonzero(task.asked)
    known = np.flatnonzero(~task.asked)
    np.savez(
        path, features=task.X, labels=task.truth, att=task.semantics, class_names=task.class_names,
        trainval_loc=known, test_unseen_loc=asked,
    )  # fmt: skip
    return path


def start(*arguments: object, slow: str = "") -> subprocess.Popen[bytes]:
    """The command line in a process of its own; `slow` is Python that makes the work last."""
    # A shell that starts the tests in the background has told them, and so their children, to ignore Ctrl-C.
    code = "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += f"{slow}\nsys.argv = ['superproto', *sys.argv[1:]]\nfrom superproto.cli import main\nmain()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


SLOW_FIT = """
import time
from superproto.hpl import HPL
real = HPL.fit
def fit(self, *given, **named):
    print("working", flush=True)
    time.sleep(60)
    return real(self, *given, **named)
HPL.fit = fit
"""
SLOW_ROWS = """
import time
import superproto.estimator.label_table
real = superproto.estimator.label_table._answers
superproto.estimator.label_table.chunk_length = lambda *_: 7
def answers(*given):
    print("working", flush=True)
    time.sleep(0.5)
    return real(*given)
superproto.estimator.label_table._answers = answers
"""


def interrupt(process: subprocess.Popen[bytes], how: signal.Signals = signal.SIGINT) -> tuple[int, bytes]:
    """Ctrl-C once the process says that it is at work; its exit code and what it says."""
    assert process.stdout is not None
    assert process.stdout.readline().strip() == b"working"
    time.sleep(0.2)
    process.send_signal(how)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_during_a_fit_exits_with_130_and_keeps_the_old_model(
    how: signal.Signals, pack_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "m").write_text("old")
    code, said = interrupt(start("fit", pack_file, "-o", tmp_path / "m", "--force", slow=SLOW_FIT), how)
    assert (code, said.decode().strip()) == (130, "error: interrupted")
    assert (tmp_path / "m").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_ctrl_c_during_predict_leaves_nothing_half_written(pack_file: Path, tmp_path: Path) -> None:
    task = make_task(n_seen=12, n_unseen=4, n_features=10, n_attributes=8, samples_per_class=10)
    fit_task(task, "prototypes").save(tmp_path / "m")
    process = start("predict", tmp_path / "m", pack_file, "-o", tmp_path / "l.csv", slow=SLOW_ROWS)
    code, said = interrupt(process)
    assert (code, said.decode().strip()) == (130, "error: interrupted")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_tune_goes_on_where_it_was(how: signal.Signals, pack_file: Path, tmp_path: Path) -> None:
    slow = "import time, superproto.evaluation.tuning.tuner as t\nreal = t.score_of\n"
    slow += "def score_of(*given):\n    time.sleep(0.1)\n    return real(*given)\nt.score_of = score_of"
    command = ("tune", pack_file, "-m", "prototypes", "-o", tmp_path / "t.json", "--trials", 12, "--search", "grid")
    process = start(*command, slow=slow)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(b"trial 2"):
            break
    process.send_signal(how)
    process.communicate(timeout=60)
    assert process.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    assert [path.name for path in tmp_path.iterdir()] == ["t.json.trials.jsonl"]
    again = start(*command)
    _, said = again.communicate(timeout=100)
    assert again.returncode == 0
    told = [line for line in said.decode().splitlines() if line.startswith("trial ")]
    assert 8 <= len(told) <= 10
    assert len(json.loads((tmp_path / "t.json").read_text())["trials"]) == 13
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


def test_a_full_disk_leaves_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fit_task(make_task(n_seen=6), "prototypes")
    model.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UserError, match="cannot be written: No space left on device"):
        model.save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_really_full_disk_leaves_the_old_model(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a tmpfs")
    try:
        model = fit_task(make_task(n_seen=6, n_features=16), "prototypes")
        model.save(disk / "m")
        before = (disk / "m").read_bytes()
        (disk / "filler").write_bytes(b"x" * (60_000 - len(before)))
        with pytest.raises(UserError, match="cannot be written: No space left on device"):
            model.save(disk / "m")
        assert (disk / "m").read_bytes() == before
        assert sorted(path.name for path in disk.iterdir()) == ["filler", "m"]
        load_model(disk / "m")
    finally:
        subprocess.run(["umount", str(disk)], check=False)
