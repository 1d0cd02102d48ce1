"""LAW: rounding decides no label: not in float32 with a large offset, not by how many rows are asked about at once."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from superproto import Task
from superproto.baselines.registry import DEEP, METHODS, load_model
from superproto.datasets import make_task

# The deep methods draw and train; they have laws of their own.
FAST = [name for name in METHODS if name not in (*DEEP, "zero-shot")]


def fitted(method: str, task: Task, X: Any, semantics: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return METHODS[method](candidates="all", random_state=0).fit(X, task.y, semantics=semantics)


def in_batches(model: Any, rows: Any, size: int) -> Any:
    return np.concatenate([model.predict(rows[start : start + size]) for start in range(0, len(rows), size)])


@pytest.fixture(scope="module")
def far() -> tuple[Task, Any]:
    """Samples in float32, ten thousand away from the origin: only their last digits differ."""
    task = make_task(
        n_seen=6, n_unseen=4, n_features=12, n_attributes=8, samples_per_class=12, setting="gzsl", random_state=1
    )
    return task, (task.X + 1e4).astype(np.float32)


@pytest.fixture(scope="module")
def twins() -> tuple[Task, Any]:
    """Three pairs of classes with one description each: every sample of one is a tie."""
    task = make_task(
        n_seen=12, n_unseen=9, n_features=257, n_attributes=8, samples_per_class=8, setting="gzsl", random_state=1
    )
    A = np.array(task.semantics)
    A[-1], A[-6], A[0] = A[-2], A[-3], A[1]
    return task, A


@pytest.mark.parametrize("method", FAST)
def test_predict_is_transduction_for_float32_with_a_large_offset(method: str, far: tuple[Task, Any]) -> None:
    task, X = far
    model = fitted(method, task, X, task.semantics)
    pool, wanted = X[task.asked], model.transduction_[task.asked]
    np.testing.assert_array_equal(model.predict(pool), wanted)
    np.testing.assert_array_equal(in_batches(model, pool, 1), wanted)


@pytest.mark.parametrize("method", FAST)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_number_of_rows_breaks_no_tie(method: str, dtype: type, twins: tuple[Task, Any]) -> None:
    task, A = twins
    X = task.X.astype(dtype)
    model = fitted(method, task, X, A)
    pool, wanted = X[task.asked], model.transduction_[task.asked]
    for size in (1, 7, len(pool)):
        np.testing.assert_array_equal(in_batches(model, pool, size), wanted)


def test_a_model_file_keeps_how_precisely_rows_are_compared(far: tuple[Task, Any], tmp_path: Any) -> None:
    task, X = far
    model = fitted("zlap", task, X, task.semantics)
    model.save(tmp_path / "zlap.model")
    read = load_model(tmp_path / "zlap.model")
    np.testing.assert_array_equal(read.predict(X[task.asked]), model.transduction_[task.asked])
