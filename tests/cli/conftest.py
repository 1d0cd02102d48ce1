"""A small data set as a pack and as one's own files, and the command line as a function."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from superproto.cli import exit_codes
from superproto.datasets import make_task, pack_arrays
from superproto.datasets.packs import write_pack


@pytest.fixture(scope="module")
def task():
    return make_task(n_seen=6, n_unseen=4, n_features=8, n_attributes=5, samples_per_class=8, setting="gzsl")


@pytest.fixture(scope="module")
def packed(task, tmp_path_factory):
    """The task as a pack."""
    path = tmp_path_factory.mktemp("packs") / "small.npz"
    split = np.where(task.asked, "test", "train")
    labels = task.class_names[task.truth]
    write_pack(path, pack_arrays(task.X, labels, task.semantics, task.class_names, split=split))
    return path


@pytest.fixture
def files(task, tmp_path):
    """The task as one's own files: features, labels without and with test labels, classes."""
    np.save(tmp_path / "x.npy", task.X)
    known = [f"{i},{task.class_names[c] if c >= 0 else ''}" for i, c in enumerate(task.y)]
    (tmp_path / "y.csv").write_text("id,label\n" + "\n".join(known))
    scored = [
        f"{i},{task.class_names[c]},{'test' if a else ''}" for i, (c, a) in enumerate(zip(task.truth, task.asked))
    ]
    (tmp_path / "scored.csv").write_text("id,label,split\n" + "\n".join(scored))
    rows = [",".join([name, *map(repr, map(float, row))]) for name, row in zip(task.class_names, task.semantics)]
    (tmp_path / "classes.csv").write_text("\n".join(rows))
    return tmp_path


@pytest.fixture
def call(capsys):
    """``call("info", path)`` is (exit code, stdout, stderr)."""

    def run(*arguments):
        code = exit_codes.run_command([str(argument) for argument in arguments])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def mistake(call):
    """The one line of a mistake: exit code 2, nothing on stdout."""

    def run(*arguments):
        code, out, err = call(*arguments)
        assert (code, out) == (exit_codes.MISTAKE, "")
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        return err

    return run


@pytest.fixture(scope="session")
def shell():
    """``shell("info", path, NAME="value")`` is the command in a process of its own, with these variables set."""

    def run(*arguments, **environment):
        command = [sys.executable, "-c", "from superproto.cli import main; main()", *map(str, arguments)]
        env = {**os.environ, **environment}
        return subprocess.run(command, capture_output=True, text=True, env=env, timeout=280, check=False)

    return run
