"""Features that stay on the disk, as a user meets them: fit and predict by file name, and what is said of bad files."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from superproto import HPL, load_model
from superproto.cli.exit_codes import run_command
from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.samples.readers.on_disk import open_rows

TASK = make_task(n_seen=8, n_unseen=4, n_features=12, random_state=3)
X = np.ascontiguousarray(TASK.X, dtype=np.float32)
NAMES = TASK.class_names.astype(str)


def write_tables(folder) -> tuple[str, str]:
    with (folder / "y.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows([("id", "label"), *((i, "" if c < 0 else NAMES[c]) for i, c in enumerate(TASK.y))])
    with (folder / "c.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows([(name, *row) for name, row in zip(NAMES, TASK.semantics.tolist())])
    return str(folder / "y.csv"), str(folder / "c.csv")


def write_features(kind: str, folder) -> str:
    path = folder / f"x.{kind}"
    if kind == "npy":
        np.save(path, X)
    elif kind == "zarr":
        group = pytest.importorskip("zarr").open_group(str(path), mode="w")
        group.create_array("features", shape=X.shape, chunks=(50, 12), dtype="f4")[:] = X
        group.create_array("other", shape=(3, 3), dtype="f4")
    elif kind == "h5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["table"] = X
    else:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        columns = {"id": [f"picture {i}" for i in range(len(X))], **{f"f{j}": X[:, j] for j in range(12)}}
        pq.write_table(pa.table(columns), path, row_group_size=70)
    return str(path)


KINDS = ["npy", *(pytest.param(kind, marks=pytest.mark.extra) for kind in ("zarr", "h5", "parquet"))]


@pytest.mark.filterwarnings("ignore:.*numbers the rows and does not use their ids")
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_fitted_and_labeled_by_its_name(kind, tmp_path, capsys):
    features, (labels, classes) = write_features(kind, tmp_path), write_tables(tmp_path)
    model = str(tmp_path / "m.model")
    assert run_command(["fit", "--features", features, "--labels", labels, "--classes", classes, "-o", model]) == 0
    assert "iteration 1: objective" in capsys.readouterr().err
    expected = HPL().fit(X, TASK.y, semantics=TASK.semantics).transduction_
    assert (load_model(model).transduction_ == NAMES[expected]).all()
    assert run_command(["predict", model, features, "-o", str(tmp_path / "labels.csv")]) == 0
    with (tmp_path / "labels.csv").open() as handle:
        lines = list(csv.DictReader(handle))
    asked = TASK.y < 0
    assert (np.array([line["label"] for line in lines])[asked] == NAMES[expected][asked]).all()
    assert lines[1]["id"] == ("picture 1" if kind == "parquet" else "1")


def test_what_a_table_marks_as_test_is_asked_about_and_the_inductive_setting_never_reads_it(tmp_path):
    features, (_, classes) = write_features("npy", tmp_path), write_tables(tmp_path)
    rows = [(i, NAMES[c], "test" if asked else "train") for i, (c, asked) in enumerate(zip(TASK.truth, TASK.asked))]
    with (tmp_path / "s.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows([("id", "label", "split"), *rows])
    tables = ["--labels", str(tmp_path / "s.csv"), "--classes", classes, "-o", str(tmp_path / "m.model")]
    assert run_command(["fit", "--features", features, *tables]) == 0
    expected = HPL().fit(X, TASK.y, semantics=TASK.semantics).transduction_
    assert (load_model(tmp_path / "m.model").transduction_ == NAMES[expected]).all()
    assert run_command(["fit", "--features", features, *tables, "--inductive"]) == 0
    assert len(load_model(tmp_path / "m.model").transduction_) == int((~TASK.asked).sum())


@pytest.mark.filterwarnings("ignore:.*numbers the rows and does not use their ids")
@pytest.mark.extra
def test_parts_keep_the_names_of_rows(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    features, (labels, classes) = write_features("parquet", tmp_path), write_tables(tmp_path)
    model = str(tmp_path / "m.model")
    assert run_command(["fit", "--features", features, "--labels", labels, "--classes", classes, "-o", model]) == 0
    assert run_command(["predict", model, features, "-o", str(tmp_path / "labels"), "--parts"]) == 0
    ids = pq.read_table(tmp_path / "labels" / "part-0000000.parquet")["id"].to_pylist()
    assert ids == [f"picture {i}" for i in range(len(X))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_a_mistake_that_is_named(kind, tmp_path):
    pytest.importorskip({"zarr": "zarr", "h5": "h5py", "parquet": "pyarrow"}.get(kind, "numpy"))
    path = tmp_path / f"bad.{kind}"
    path.write_bytes(b"hello, this is not what its name says")
    with pytest.raises(UserError, match=rf"bad.{kind} cannot be opened as .{kind} .*Is it complete"):
        open_rows(path)


def test_what_is_no_table_of_features_is_named(tmp_path):
    np.save(tmp_path / "flat.npy", np.zeros(5))
    with pytest.raises(UserError, match=r"flat.npy: X has shape \(5,\)"):
        open_rows(tmp_path / "flat.npy")
    (tmp_path / "x.doc").write_text("")
    with pytest.raises(UserError, match=r"ends in '.doc'. Give a .npy"):
        open_rows(tmp_path / "x.doc")
    with pytest.raises(UserError, match="does not exist"):
        open_rows(tmp_path / "nowhere.npy")


@pytest.mark.extra
def test_tables_that_cannot_be_told_apart_are_named(tmp_path):
    h5py, pa = pytest.importorskip("h5py"), pytest.importorskip("pyarrow")
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["a"], file["b"] = X, X
    with pytest.raises(UserError, match=r"two.h5: it has 2 tables of numbers"):
        open_rows(tmp_path / "two.h5")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="it has no Parquet file"):
        open_rows(tmp_path / "empty")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"f": [1.0], "note": ["x"]}), tmp_path / "n.parquet")
    with pytest.raises(UserError, match="column 'note' of type string, which is not numeric"):
        open_rows(tmp_path / "n.parquet")


def test_a_file_of_features_needs_both_tables(tmp_path, capsys):
    features, (labels, _) = write_features("npy", tmp_path), write_tables(tmp_path)
    assert run_command(["fit", "--features", features, "--labels", labels, "-o", str(tmp_path / "m.model")]) == 2
    assert "Give --classes too." in capsys.readouterr().err
