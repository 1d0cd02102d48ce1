"""A small run to explore, opened: digits, three of them without an example."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from superproto.datasets import digits
from superproto.datasets.task import Task
from superproto.evaluation.training import fit_task
from superproto.explorer.run import keep_task_run, open_run
from superproto.explorer.session import Session


def small_task() -> Task:
    """60 of each digit."""
    whole = digits()
    rows = np.concatenate([np.flatnonzero(whole.truth == digit)[:60] for digit in range(10)])
    return Task(
        X=whole.X[rows], y=whole.y[rows], semantics=whole.semantics, class_names=whole.class_names,
        truth=whole.truth[rows], name="digits",
    )  # fmt: skip


@pytest.fixture(scope="session")
def task():
    return small_task()


@pytest.fixture(scope="session")
def kept_run(task, tmp_path_factory):
    """The folder of a run, never opened for writing: tests take copies."""
    folder = tmp_path_factory.mktemp("runs") / "digits"
    keep_task_run(folder, task)
    fit_task(task, rejection=False).save(folder / "model.safetensors")
    return folder


@pytest.fixture
def folder(kept_run, tmp_path):
    return shutil.copytree(kept_run, tmp_path / "run")


@pytest.fixture
def opened(folder):
    """``opened()`` is a session on the run; a second call closes the first."""
    sessions = []

    def open_again():
        close()
        sessions.append(Session(open_run(folder)))
        return sessions[-1]

    def close():
        for session in sessions:
            session.refitter.wait()
            session.close()
        sessions.clear()

    yield open_again
    close()


@pytest.fixture
def session(opened):
    return opened()
