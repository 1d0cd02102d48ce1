"""An interrupted fit goes on from its last outer iteration and ends as if nothing had happened."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from superproto import HPL
from superproto.datasets import make_task
from superproto.errors import UserError

# Noisy descriptions: a fit of some twenty outer iterations.
TASK = make_task(n_seen=12, n_unseen=6, n_features=24, attribute_noise=0.4, separation=2.5, random_state=0)
VARIANTS = {
    "default": {},
    "published": {"prototypes": "free", "temperature": 0.0, "prior": None, "discriminative_weight": 1.0},
    "one way": {"alternate": False},
}


class Stop(Exception):
    pass


def stop_at(iteration: int):
    def callback(sweep):
        if sweep.iteration == iteration:
            raise Stop

    return callback


def fitted(model: HPL) -> HPL:
    return model.fit(TASK.X, TASK.y, semantics=TASK.semantics)


@pytest.mark.filterwarnings("ignore:.*received no sample")
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_resumed_fit_equals_an_uninterrupted_one_bit_for_bit(variant, tmp_path):
    options, path = {"tol": 1e-9, "max_iter": 12, **VARIANTS[variant]}, tmp_path / "fit.checkpoint"
    whole = fitted(HPL(**options))
    seen = []
    with pytest.raises(Stop):
        fitted(HPL(**options, checkpoint=path, callback=stop_at(2)))
    again = fitted(HPL(**options, checkpoint=path, callback=lambda sweep: seen.append(sweep.iteration)))
    assert seen[:1] == ([3] if whole.n_iter_ > 2 else [])
    np.testing.assert_array_equal(again.objective_, whole.objective_)
    np.testing.assert_array_equal(again.visual_prototypes_, whole.visual_prototypes_)
    np.testing.assert_array_equal(again.transduction_, whole.transduction_)


def test_a_finished_fit_leaves_no_checkpoint(tmp_path):
    fitted(HPL(max_iter=3, checkpoint=tmp_path / "fit.checkpoint"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", [{"rho": 0.5}, {"candidates": "all"}])
def test_the_checkpoint_of_another_fit_is_refused(change, tmp_path):
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(Stop):
        fitted(HPL(checkpoint=path, callback=stop_at(1)))
    with pytest.raises(UserError, match="another fit"):
        fitted(HPL(checkpoint=path, **change))


def test_a_longer_fit_may_go_on_from_a_checkpoint(tmp_path):
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(Stop):
        fitted(HPL(tol=1e-9, max_iter=3, checkpoint=path, callback=stop_at(3)))
    longer = fitted(HPL(tol=1e-9, max_iter=6, checkpoint=path))
    np.testing.assert_array_equal(longer.objective_, fitted(HPL(tol=1e-9, max_iter=6)).objective_)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", bytes(100)])
def test_a_file_that_is_no_checkpoint_is_refused(content, tmp_path):
    path = tmp_path / "fit.checkpoint"
    path.write_bytes(content)
    with pytest.raises(UserError, match="no checkpoint, or not a whole one"):
        fitted(HPL(checkpoint=path))
    assert path.read_bytes() == content


def test_a_place_that_does_not_exist_is_refused_before_the_first_iteration(tmp_path):
    told = []
    with pytest.raises(UserError, match=r"the folder .*nowhere does not exist"):
        fitted(HPL(checkpoint=tmp_path / "nowhere" / "fit.checkpoint", callback=told.append))
    with pytest.raises(UserError, match=r"is a folder\. Give the name of a file"):
        fitted(HPL(checkpoint=tmp_path, callback=told.append))
    with pytest.raises(UserError, match="checkpoint is 3, but it is the path of a file, or None"):
        fitted(HPL(checkpoint=3, callback=told.append))
    assert told == []


SCRIPT = """
import sys
import numpy as np
from superproto import HPL
from superproto.datasets import make_task
{before}
def callback(sweep):
    {each}
task = make_task(n_seen=12, n_unseen=6, n_features=24, attribute_noise=0.4, separation=2.5, random_state=0)
model = HPL(tol=1e-9, max_iter=8, checkpoint=sys.argv[1], callback=callback)
model.fit(task.X, task.y, semantics=task.semantics)
np.save(sys.argv[2], model.transduction_)
"""


def run(path: Path, labels: Path, before: str, each: str) -> subprocess.CompletedProcess:
    code = SCRIPT.format(before=before, each=each)
    return subprocess.run(
        [sys.executable, "-c", code, str(path), str(labels)], capture_output=True, text=True, timeout=120
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_killed_process_is_continued_with_the_same_labels(tmp_path):
    path, labels = tmp_path / "fit.checkpoint", tmp_path / "labels.npy"
    kill = "if sweep.iteration == 3: os.kill(os.getpid(), signal.SIGKILL)"
    assert run(path, labels, "import os, signal", kill).returncode == -signal.SIGKILL
    assert path.exists()
    done = run(path, labels, "", "print(sweep.iteration)")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "4"
    np.testing.assert_array_equal(np.load(labels), fitted(HPL(tol=1e-9, max_iter=8)).transduction_)


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_full_disk_stops_the_fit_and_leaves_the_last_checkpoint(tmp_path):
    path, labels = tmp_path / "fit.checkpoint", tmp_path / "labels.npy"
    fill = "if sweep.iteration == 3: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"
    full = run(path, labels, "import resource", fill)
    assert "UserError" in full.stderr
    assert "fit.checkpoint cannot be written" in full.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["fit.checkpoint"]
    done = run(path, labels, "", "print(sweep.iteration)")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "4"


def test_a_checkpoint_of_an_older_version_is_refused(tmp_path):
    from safetensors import safe_open
    from safetensors.numpy import save_file

    path = tmp_path / "fit.checkpoint"
    with pytest.raises(Stop):
        fitted(HPL(checkpoint=path, callback=stop_at(1)))
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys() if name != "state.self_influence"}  # noqa: SIM118
        owner = file.metadata()
    save_file(arrays, path, owner)
    with pytest.raises(UserError, match="another version"):
        fitted(HPL(checkpoint=path))
