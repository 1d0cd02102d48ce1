"""Labels with their uncertainty, as one table or in resumable parts: the same as predict, in bounded memory."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import described_task
from superproto import Task, UserError
from superproto.datasets.feature_files import Features
from superproto.estimator.label_parts import stream_labels
from superproto.estimator.label_table import COLUMNS, csv_cell, label_rows, open_features, write_labels
from superproto.evaluation.training import fit_task
from superproto.files import this_process


@pytest.fixture(scope="module")
def task() -> Task:
    return described_task()


@pytest.fixture(scope="module")
def model(task: Task) -> Any:
    return fit_task(task, "hpl")


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def test_the_table_has_the_promised_columns_and_the_input_s_order(model: Any, task: Task, tmp_path: Path) -> None:
    ids = np.array([f"img, {i}.jpg" for i in range(len(task.X))])
    handed = write_labels(tmp_path / "l.csv", model, Features(task.X, ids))
    rows = read(tmp_path / "l.csv")
    assert tuple(rows[0]) == COLUMNS == ("id", "label", "probability", "margin", "runner_up")
    assert [row["id"] for row in rows] == ids.tolist()
    assert [row["label"] for row in rows] == model.predict(task.X).tolist()
    assert handed.rows == len(task.X)


def test_a_pool_row_gets_its_transduction(model: Any, task: Task, tmp_path: Path) -> None:
    write_labels(tmp_path / "l.csv", model, Features(task.X[task.asked], None))
    assert [row["label"] for row in read(tmp_path / "l.csv")] == model.transduction_[task.asked].tolist()


def test_probability_margin_and_runner_up_are_those_of_predict_proba(model: Any, task: Task) -> None:
    lines = next(label_rows(model, task.X))
    proba = model.predict_proba(task.X)
    ordered = np.sort(proba, axis=1)
    assert np.allclose(lines.probability, ordered[:, -1])
    assert np.allclose(lines.margin, ordered[:, -1] - ordered[:, -2])
    second = model.classes_[np.argsort(proba, axis=1, kind="stable")[:, -2]]
    assert np.mean(lines.runner_up == second) > 0.95  # probabilities of zero tie, scores do not
    assert not (lines.runner_up == lines.label).any()


def test_chunks_change_nothing(model: Any, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = next(label_rows(model, task.X))
    monkeypatch.setattr("superproto.estimator.label_table.chunk_length", lambda *_: 7)
    parts = list(label_rows(model, task.X))
    assert len(parts) > 10
    assert np.array_equal(np.concatenate([part.label for part in parts]), whole.label)
    assert np.concatenate([part.id for part in parts]).tolist() == [str(i) for i in range(len(task.X))]


def test_doubtful_rows_come_first(model: Any, task: Task, tmp_path: Path) -> None:
    write_labels(tmp_path / "l.csv", model, Features(task.X, None), uncertain_first=True, reject=True)
    rows = read(tmp_path / "l.csv")
    refused = [not row["label"] for row in rows]
    assert refused == sorted(refused, reverse=True)
    assert 0 < sum(refused) < len(rows)
    margins = [float(row["margin"]) for row in rows if row["label"]]
    assert margins == sorted(margins)
    assert sorted(int(row["id"]) for row in rows) == list(range(len(task.X)))


def test_one_candidate_has_no_runner_up(tmp_path: Path) -> None:
    task = described_task(n_unseen=1)
    model = fit_task(task, "prototypes", rejection=False)
    write_labels(tmp_path / "l.csv", model, Features(task.X[:3], None))
    assert [row["runner_up"] for row in read(tmp_path / "l.csv")] == [""] * 3
    assert read(tmp_path / "l.csv")[0]["margin"] == "1.000000"


def test_parquet_says_the_same_as_csv(model: Any, task: Task, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("l.csv", "l.parquet"):
        write_labels(tmp_path / name, model, Features(task.X, None), reject=True)
    table = parquet.read_table(tmp_path / "l.parquet").to_pylist()
    rows = read(tmp_path / "l.csv")
    assert list(table[0]) == list(COLUMNS)
    assert [row["label"] or "" for row in table] == [row["label"] for row in rows]
    assert [f"{row['margin']:.6f}" for row in table] == [row["margin"] for row in rows]


def test_features_of_every_kind_give_the_same_labels(model: Any, task: Task, tmp_path: Path) -> None:
    X = task.X[:20]
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "columns.npy", np.asfortranarray(X))
    np.savez(tmp_path / "x.npz", features=X)
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", fmt="%.9g")
    answers = []
    for name in ("x.npy", "columns.npy", "x.npz", "x.csv"):
        lines = next(label_rows(model, *open_features(tmp_path / name)[:2]))
        answers.append(lines.label.tolist())
    assert answers[0] == model.predict(X).tolist()
    assert all(answer == answers[0] for answer in answers)


def test_mistakes_in_the_rows_are_named(model: Any, task: Task, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="The rows have 5 features, but the model was fitted with 12"):
        write_labels(tmp_path / "l.csv", model, Features(task.X[:, :5], None))
    X = task.X.copy()
    X[7, 2] = np.nan
    with pytest.raises(UserError, match="Row 7 has NaN or infinity"):
        write_labels(tmp_path / "l.csv", model, Features(X, None))
    np.save(tmp_path / "flat.npy", X[0])
    with pytest.raises(UserError, match=r"features of shape \(12,\)"):
        open_features(tmp_path / "flat.npy")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "flat.npy").read_bytes()[:-3])
    with pytest.raises(UserError, match="Truncated"):
        open_features(tmp_path / "cut.npy")
    assert not (tmp_path / "l.csv").exists()


def test_a_failure_half_way_leaves_the_old_labels(model: Any, task: Task, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "l.csv"
    path.write_text("old")
    monkeypatch.setattr("superproto.estimator.label_table.chunk_length", lambda *_: 7)
    X = task.X.copy()
    X[-1] = np.inf
    with pytest.raises(UserError, match="has NaN or infinity"):
        write_labels(path, model, Features(X, None))
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["l.csv"]


def labels_in(folder: Path, rows: int) -> list[str]:
    parquet = pytest.importorskip("pyarrow.parquet")
    parts = [parquet.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    assert [name for part in parts for name in part["id"].to_pylist()] == [str(i) for i in range(rows)]
    return [label for part in parts for label in part["label"].to_pylist()]


@pytest.mark.extra
@pytest.mark.parametrize("kind", ["array", "chunks", "file"])
def test_parts_hold_the_labels_of_predict(kind: str, model: Any, task: Task, tmp_path: Path) -> None:
    X = np.array(task.X)
    np.save(tmp_path / "x.npy", X)
    rows = {"array": X, "chunks": [X[:100], X[100:]], "file": tmp_path / "x.npy"}[kind]
    done = stream_labels(model, rows, tmp_path / "labels", part_rows=40)
    assert done == (len(X), 0, -(-len(X) // 40))
    assert labels_in(tmp_path / "labels", len(X)) == [str(label) for label in model.predict(X)]


@pytest.mark.extra
def test_a_stopped_run_goes_on_with_the_first_missing_part(model: Any, task: Task, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done >= 80:
            raise KeyboardInterrupt

    X = np.array(task.X)
    with pytest.raises(KeyboardInterrupt):
        stream_labels(model, X, tmp_path / "labels", part_rows=40, progress=stop)
    (tmp_path / "labels" / ".part-0000002.parquet.1234.part").write_text("a run was killed here")
    seen: list[Any] = []
    done = stream_labels(model, X, tmp_path / "labels", part_rows=40, progress=lambda *told: seen.append(told))
    assert done.found == 80
    assert seen[0] == (120, len(X))
    assert not list((tmp_path / "labels").glob(".*"))
    assert labels_in(tmp_path / "labels", len(X)) == [str(label) for label in model.predict(X)]


@pytest.mark.extra
def test_a_folder_of_other_labels_is_refused(model: Any, task: Task, tmp_path: Path) -> None:
    X = np.array(task.X)
    stream_labels(model, X, tmp_path / "labels")
    with pytest.raises(UserError, match="labels of other rows"):
        stream_labels(model, X[::-1].copy(), tmp_path / "labels")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "diary.txt").write_text("mine")
    with pytest.raises(UserError, match="exists and is not a folder of labels"):
        stream_labels(model, X, tmp_path / "full")
    with pytest.raises(UserError, match=r"the folder .*none does not exist. Create it first"):
        stream_labels(model, X, tmp_path / "none" / "labels")


@pytest.mark.extra
def test_rows_of_another_width_are_refused(model: Any, task: Task, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="X has 5 features, but the model was fitted with 12"):
        stream_labels(model, np.array(task.X[:, :5]), tmp_path / "labels")


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("a\rb", '"a\rb"'),
        ("a\nb", '"a\nb"'),
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+cmd", "'+cmd"),
        ("-cmd,x", '"\'-cmd,x"'),
        ("-5", "-5"),
        ("+7.5", "+7.5"),
        ("plain", "plain"),
        ('say "x"', '"say ""x"""'),
        ("\ud800", "\\ud800"),
        (None, ""),
    ],
)
def test_names_neither_tear_a_table_nor_become_formulas(name: Any, cell: str) -> None:
    assert csv_cell(name) == cell
    assert csv_cell("=1+1", safe=False) == "=1+1"


def test_an_id_with_a_carriage_return_stays_one_row(model: Any, task: Task, tmp_path: Path) -> None:
    ids = np.array([f"a\r{i}" for i in range(len(task.X))])
    write_labels(tmp_path / "labels.csv", model, Features(task.X, ids))
    with (tmp_path / "labels.csv").open(newline="") as handle:
        rows = list(csv.reader(handle))
    assert [row[0] for row in rows[1:]] == ids.tolist()


@pytest.mark.extra
def test_parts_notice_changed_rows_damage_and_a_second_run(model: Any, task: Task, tmp_path: Path) -> None:
    X, folder = np.array(task.X), tmp_path / "labels"
    stream_labels(model, X, folder, part_rows=40)
    part = sorted(folder.glob("part-*.parquet"))[1]
    whole = part.read_bytes()
    part.write_bytes(whole[:-9] + b"x" + whole[-8:])
    assert stream_labels(model, X, folder, part_rows=40).found < len(X)
    assert part.read_bytes() == whole
    X[[41, 42]] = X[[42, 41]]
    with pytest.raises(UserError, match="rows 40 to 79 have changed"):
        stream_labels(model, X, folder, part_rows=40)

    def again(*_: Any) -> None:
        with pytest.raises(UserError, match="Another run is writing"):
            stream_labels(model, task.X, tmp_path / "two", part_rows=40)

    stream_labels(model, task.X, tmp_path / "two", part_rows=40, progress=again)
    (tmp_path / "two" / "_lock").write_text(f"{this_process().partition('-')[0]}-999999999")
    assert stream_labels(model, task.X, tmp_path / "two", part_rows=40).found == len(X)


@pytest.mark.extra
def test_ids_of_parquet_are_the_same_in_a_table_and_in_parts(model: Any, task: Task, tmp_path: Path) -> None:
    import datetime

    import pyarrow as pa
    import pyarrow.parquet as pq

    n = len(task.X)
    columns = {f"f{i}": task.X[:, i] for i in range(task.X.shape[1])}
    numbers = [None, *range(2**53 + 1, 2**53 + n)]
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=i) for i in range(n)]
    for ids in (pa.array(numbers, pa.int64()), pa.array([b"b%d" % i for i in range(n)]), pa.array(days)):
        pq.write_table(pa.table({"id": ids, **columns}), tmp_path / "x.parquet")
        one, many = open_features(tmp_path / "x.parquet").ids, tmp_path / f"parts {ids.type}"
        stream_labels(model, tmp_path / "x.parquet", many)
        found = pq.read_table(next(many.glob("part-*.parquet"))).column("id").to_pylist()
        assert found == one.tolist()
        assert one[1] in (str(2**53 + 1), "b1", "2020-01-02")
