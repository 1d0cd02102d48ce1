"""Labels of many rows: the same as at once, in bounded memory, and resumed after a stop."""

from __future__ import annotations

import numpy as np
import pytest

from superproto import HPL
from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.estimator.label_table import stream_labels

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extra
TASK = make_task(n_seen=8, n_unseen=4, n_features=12, random_state=2)
X = np.ascontiguousarray(TASK.X, dtype=np.float32)


@pytest.fixture(scope="module")
def model() -> HPL:
    return HPL(max_iter=5).fit(X, TASK.y, semantics=TASK.semantics)


def labels_in(folder) -> list[str]:
    import pyarrow.parquet as pq

    parts = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    assert [name for part in parts for name in part["id"].to_pylist()] == [str(i) for i in range(len(X))]
    return [label for part in parts for label in part["label"].to_pylist()]


@pytest.mark.parametrize("kind", ["array", "chunks", "file"])
def test_parts_hold_the_labels_of_predict(kind, model, tmp_path):
    np.save(tmp_path / "x.npy", X)
    rows = {"array": X, "chunks": [X[:100], X[100:]], "file": tmp_path / "x.npy"}[kind]
    done = stream_labels(model, rows, tmp_path / "labels", part_rows=100)
    assert done == (len(X), 0, -(-len(X) // 100))
    assert labels_in(tmp_path / "labels") == [str(label) for label in model.predict(X)]


def test_a_stopped_run_goes_on_with_the_first_missing_part(model, tmp_path):
    def stop(done, total):
        if done >= 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stream_labels(model, X, tmp_path / "labels", part_rows=100, progress=stop)
    (tmp_path / "labels" / ".part-0000002.parquet.1234.part").write_text("a run was killed here")
    seen = []
    done = stream_labels(model, X, tmp_path / "labels", part_rows=100, progress=lambda *told: seen.append(told))
    assert done.found == 200
    assert seen[0] == (300, len(X))
    assert not list((tmp_path / "labels").glob(".*"))
    assert labels_in(tmp_path / "labels") == [str(label) for label in model.predict(X)]


def test_a_folder_of_other_labels_is_refused(model, tmp_path):
    stream_labels(model, X, tmp_path / "labels")
    with pytest.raises(UserError, match="labels of another model or other rows"):
        stream_labels(model, X[::-1].copy(), tmp_path / "labels")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "diary.txt").write_text("mine")
    with pytest.raises(UserError, match="exists and is no folder of labels"):
        stream_labels(model, X, tmp_path / "full")


def test_rows_of_another_width_are_refused(model, tmp_path):
    with pytest.raises(UserError, match="X has 5 features, but the model was fitted with 12"):
        stream_labels(model, X[:, :5], tmp_path / "labels")
