"""Commands that are stopped or killed at any moment: nothing half-written, no traceback, no process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from builders import described_task
from superproto import load_model
from superproto.datasets import pack_arrays
from superproto.datasets.packs import write_pack

from .damage import MANY

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals work otherwise there")
MAIN = (
    "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\nfrom superproto.cli import main\nmain()"
)
VERBS = {
    "fit": "fit p.npz -o m.model --checkpoint c.checkpoint -p max_iter=30",
    "predict": "predict old.model p.npz -o labels.csv",
    "tune": "tune p.npz -m prototypes -o t.json --trials 6 --search grid",
    "evaluate": "evaluate p.npz --record r.jsonl",
    "report": "report old.model --pack p.npz -o report.html",
    "demo": "demo -o demo",
    "compare": "compare p.npz --methods prototypes,eszsl,kmeans --record c.jsonl",
    "attributes": "attributes p.npz -o a.csv",
    "leaderboard": "research leaderboard --own p.npz --run --records board.jsonl -m eszsl -m kmeans -m hpl --seeds 1",
    "parts": "predict old.model p.npy -o parts --parts",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder, task = tmp_path_factory.mktemp("signals"), described_task()
    split = np.where(task.asked, "test", "train")
    names = np.array([f"class {name}" for name in task.class_names])
    write_pack(folder / "p.npz", pack_arrays(task.X, names[task.truth], task.semantics, names, split=split))
    np.save(folder / "p.npy", task.X)
    subprocess.run(_command("fit p.npz -o old.model"), cwd=folder, check=True, capture_output=True, timeout=120)
    return folder


def _command(line):
    return [sys.executable, "-c", MAIN, *line.split()]


def _children(process):
    try:
        import psutil
    except ImportError:
        return []
    try:
        return psutil.Process(process).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@pytest.mark.parametrize("verb", VERBS)
def test_a_stop_at_any_moment_leaves_whole_files_and_one_line(verb, place):
    if verb == "parts":
        pytest.importorskip("pyarrow", reason="needs pyarrow: make test-extras")
    rng = np.random.default_rng(sorted(VERBS).index(verb))
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    # In CI one moment for each verb, by turns.
    for how in signals * (MANY // 5) or [signals[sorted(VERBS).index(verb) % 3]]:
        process = subprocess.Popen(
            _command(VERBS[verb]), cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        time.sleep(float(rng.uniform(0.3, 2.5)))
        started = _children(process.pid)
        process.send_signal(how)
        _, said = process.communicate(timeout=20)
        assert process.returncode in (0, 130, -how)
        assert "Traceback" not in said
        assert how == signal.SIGKILL or not list(place.rglob("*.part"))
        _check_gone(started)
        if (place / "m.model").exists():
            load_model(place / "m.model")
    done = subprocess.run(
        _command(VERBS[verb].replace("demo -o", "demo --quick -o")),
        cwd=place,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def _check_gone(processes):
    end = time.monotonic() + 5
    while time.monotonic() < end and any(one.is_running() and one.status() != "zombie" for one in processes):
        time.sleep(0.1)
    assert not [one for one in processes if one.is_running() and one.status() != "zombie"]
