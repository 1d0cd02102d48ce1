"""One's own arrays: what goes into a pack comes out of it, and what looks wrong is told."""

from __future__ import annotations

import json

import numpy as np
import pytest

from superproto.datasets import (
    describe,
    load,
    make_pack,
    make_task,
    pack_arrays,
    read_classes,
    read_features,
    to_task,
)
from superproto.datasets.packs import write_pack
from superproto.errors import UserError
from superproto.estimator.label_table import csv_cell


@pytest.fixture
def task():
    return make_task(n_seen=5, n_unseen=3, samples_per_class=6, n_features=4, n_attributes=3, setting="gzsl")


@pytest.fixture
def folder(tmp_path, task):
    """The task as a user's files: features.npy, labels.csv with empty labels, scored.csv with a split, classes.csv."""
    np.save(tmp_path / "features.npy", task.X)
    lines = [f"{i},{task.class_names[c] if c >= 0 else ''}" for i, c in enumerate(task.y)]
    (tmp_path / "labels.csv").write_text("id,label\n" + "\n".join(lines))
    lines = [f"{i},{task.class_names[c]},{'test' if a else ''}" for i, (c, a) in enumerate(zip(task.truth, task.asked))]
    (tmp_path / "scored.csv").write_text("id,label,split\n" + "\n".join(lines))
    lines = [",".join([name, *map(repr, map(float, row))]) for name, row in zip(task.class_names, task.semantics)]
    (tmp_path / "classes.csv").write_text("name,big,red,round\n" + "\n".join(lines))
    return tmp_path


def _pack(folder, labels="labels.csv", classes="classes.csv", **options):
    made = make_pack(folder / "features.npy", folder / labels, folder / classes, folder / "own.npz", **options)
    return made, folder / "own.npz"


def test_a_pack_of_own_files_is_the_task_of_the_arrays(folder, task):
    made, path = _pack(folder, "scored.csv")
    assert made.attribute_names.tolist() == ["big", "red", "round"]
    back = load(path, setting="gzsl")
    order = np.argsort(back.rows)
    assert (back.X[order] == task.X).all()
    assert back.X.dtype == task.X.dtype, "nothing is rounded on the way"
    assert (back.y[order] == task.y).all()
    assert (back.truth[order] == task.truth).all()
    assert (back.semantics == task.semantics).all()
    assert back.truth_known


def test_empty_labels_are_asked_and_their_truth_is_unknown(folder, task):
    _, path = _pack(folder)
    back = load(path, setting="gzsl")
    assert (back.y[np.argsort(back.rows)] == task.y).all()
    assert not back.truth_known
    assert load(path).candidates == "unseen"


def test_unseen_classes_can_be_named(folder, task):
    lines = [f"{i},{task.class_names[c]}" for i, c in enumerate(task.truth)]
    (folder / "all.csv").write_text("\n".join(lines))
    _, path = _pack(folder, "all.csv", unseen=["class 6", "class 7"])
    back = load(path)
    assert back.class_names[back.unseen_classes].tolist() == ["class 6", "class 7"]
    assert back.truth_known


def test_validation_classes_can_be_declared(task):
    names = task.class_names[task.truth]
    split = np.where(task.truth >= 5, "test", np.where(task.truth >= 3, "val", "train"))
    pack = pack_arrays(task.X, names, task.semantics, task.class_names, split=split)
    assert to_task(pack, split="val").class_names.tolist() == [f"class {c}" for c in range(5)]
    with pytest.raises(UserError, match="in train and in val"):
        pack_arrays(
            task.X, names, task.semantics, task.class_names, split=np.where(np.arange(len(names)) % 2, "val", "")
        )


def test_labels_follow_the_names_of_the_samples(folder, task):
    shuffled = np.random.default_rng(0).permutation(len(task.X))
    rows = [f"s{i}," + ",".join(map(repr, map(float, task.X[i]))) for i in shuffled]
    (folder / "named.csv").write_text("id,a,b,c,d\n" + "\n".join(rows))
    (folder / "byname.csv").write_text(
        "id,label\n" + "\n".join(f"s{i},{task.class_names[c]}" for i, c in enumerate(task.truth))
    )
    pack = make_pack(folder / "named.csv", folder / "byname.csv", folder / "classes.csv", folder / "own.npz")
    assert (pack.labels == task.truth[shuffled]).all()
    assert pack.ids[0] == f"s{shuffled[0]}"
    assert read_features(folder / "own.npz").ids[0] == pack.ids[0]


def test_row_numbers_out_of_order_are_row_numbers(folder, task):
    for start in (0, 1):
        lines = [f"{i + start},{task.class_names[c]}" for i, c in enumerate(task.truth)]
        (folder / "back.csv").write_text("id,label\n" + "\n".join(reversed(lines)))
        assert (_pack(folder, "back.csv")[0].labels == task.truth).all()


def test_several_vectors_are_averaged_or_kept(tmp_path):
    (tmp_path / "c.csv").write_text("a,1,2\nb,0,0\na,3,4\nb,2,2\n")
    assert read_classes(tmp_path / "c.csv").semantics.tolist() == [[2, 3], [1, 1]]
    kept = read_classes(tmp_path / "c.csv", several="keep")
    assert kept.semantics.tolist() == [[1, 2, 3, 4], [0, 0, 2, 2]]
    assert kept.names.tolist() == ["a", "b"]
    (tmp_path / "c.json").write_text(json.dumps({"a": [[1, 2], [3, 4]], "b": [1, 1]}))
    assert read_classes(tmp_path / "c.json").semantics.tolist() == [[2, 3], [1, 1]]
    with pytest.raises(UserError, match="'b' has 1 vectors, 'a' has 2"):
        read_classes(tmp_path / "c.json", several="keep")
    (tmp_path / "c.json").write_text(json.dumps({"a": {"big": 1, "red": 0}, "b": {"red": 1, "big": 0}}))
    named = read_classes(tmp_path / "c.json")
    assert named.attributes.tolist() == ["big", "red"]
    assert named.semantics.tolist() == [[1, 0], [0, 1]]


def test_every_kind_of_feature_file_gives_the_same_table(tmp_path, task):
    from safetensors.numpy import save_file

    table = task.X
    np.save(tmp_path / "f.npy", table)
    np.savez(tmp_path / "f.npz", whatever=table)
    np.savez(tmp_path / "g.npz", features=table, other=table, ids=np.arange(len(table)).astype(str))
    save_file({"x": table}, tmp_path / "f.safetensors")
    np.savetxt(tmp_path / "f.csv", table, delimiter=",", fmt="%.9g")
    (tmp_path / "f").write_bytes((tmp_path / "f.npz").read_bytes())
    for name in ("f.npy", "f.npz", "f", "g.npz", "f.safetensors", "f.csv"):
        assert (table == read_features(tmp_path / name).X.astype(np.float32)).all()
    assert read_features(tmp_path / "g.npz").ids[3] == "3"


@pytest.mark.parametrize("first", ["id,0,1,2,3", ",0,1,2,3", "id,a,b,c,d"])
def test_the_header_of_a_data_frame_is_no_sample(tmp_path, first):
    (tmp_path / "f.csv").write_text(f"{first}\n7,1,2,3,4\n8,5,6,7,8\n")
    found = read_features(tmp_path / "f.csv")
    assert found.X.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert found.ids.tolist() == ["7", "8"]
    (tmp_path / "c.csv").write_text(f"{first}\nzebra,1,2,3,4\n")
    assert read_classes(tmp_path / "c.csv").names.tolist() == ["zebra"]


@pytest.mark.parametrize("first", ["0,1,2", "1,2,3", "a,b,c"])
def test_the_header_of_a_table_without_ids_is_no_sample(tmp_path, first):
    (tmp_path / "f.csv").write_text(f"{first}\n7.5,1,2\n8,5,6\n")
    assert read_features(tmp_path / "f.csv").X.tolist() == [[7.5, 1, 2], [8, 5, 6]]
    (tmp_path / "c.csv").write_text(f"species,{first}\nzebra,1,2,3\n")
    assert read_classes(tmp_path / "c.csv").names.tolist() == ["zebra"]


def test_parquet_columns_and_lists(tmp_path, task):
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow (extra: frames)")
    parquet = pytest.importorskip("pyarrow.parquet")
    ids = [f"s{i}" for i in range(len(task.X))]
    columns = {"id": ids} | {f"x{j}": task.X[:, j] for j in range(4)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    parquet.write_table(pyarrow.table({"features": list(task.X), "file": ids}), tmp_path / "b.parquet")
    indexed = columns | {"__index_level_0__": np.arange(len(ids))}
    parquet.write_table(pyarrow.table(indexed), tmp_path / "i.parquet")
    assert (read_features(tmp_path / "i.parquet").X == task.X).all()
    for name in ("a.parquet", "b.parquet"):
        found = read_features(tmp_path / name)
        assert (found.X == task.X).all()
        assert found.ids.tolist() == ids
    (tmp_path / "c.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(UserError, match="not a Parquet file"):
        read_features(tmp_path / "c.parquet")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"labels.csv": "id,label\n0,class 1\n"}, "has 1 lines, features have 48 rows"),
        ({"labels.csv": "id,label\n" + "".join(f"{i},\n" for i in [*range(48), 5])}, "the id '5' occurs 2 times"),
        ({"labels.csv": "file,class\n" + "".join(f"{i},\n" for i in range(48))}, "names columns, call them id,label"),
        ({"classes.csv": "a,1,nan\nb,1,2\n"}, "classes.csv: class 'a' has NaN or infinity"),
        ({"labels.csv": "id,label\n" + "0,class 1\n" * 48}, "the id '0' occurs 48 times"),
        ({"labels.csv": "id,label\n" + "".join(f"{i},clas 1\n" for i in range(48))}, "Did you mean 'class 1'"),
        ({"labels.csv": "id,label,weight\n0,a,1\n"}, "has the column 'weight'"),
        ({"labels.csv": "0,a,train,x\n"}, "each line is id,label or id,label,split; found '0,a,train,x'"),
        ({"labels.csv": ""}, "has no rows. Write one line for each sample"),
        ({"labels.csv": "id,label\n"}, "has no rows. Write one line for each sample"),
        ({"labels.csv": "".join(f"{i},,train\n" for i in range(48))}, "sample 0 has split 'train'. Give train, val or"),
        ({"classes.csv": "a,1,2\nb,1\n"}, "'b' has 1 numbers, 'a' has 2"),
        ({"classes.csv": "name,big\na,1\nb,large\n"}, "class 'b' has 'large', which is not a number"),
        ({"classes.csv": ""}, "describes no class"),
        ({"classes.csv": "a\n"}, "names of classes but no numbers"),
        ({"labels.csv": "0,\xff\n"}, "is not a CSV file in UTF-8"),
    ],
)
def test_a_table_with_a_fault_is_refused_and_nothing_is_written(folder, files, message):
    for name, text in files.items():
        (folder / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match=message):
        _pack(folder)
    assert not (folder / "own.npz").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("f.txt", b"1", "ends in '.txt'"),
        ("f.csv", b"", "is empty"),
        ("f.csv", b"1,2\n3\n", "row 2 has 1 cells, the first has 2"),
        ("f.csv", b"1,2\n3,x\n", "row 2, column 2 has 'x', which is not a number"),
        ("f.csv", b"1,2\n3,\n", r"1 rows have NaN or infinity \(first: row 1\)"),
        ("f.csv", b"a,b\n", "Give numbers, one row per sample"),
        ("f.json", b"[]", "ends in '.json'"),
        ("f.safetensors", b"12345678", "not a safetensors file"),
    ],
)
def test_a_feature_file_with_a_fault_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_features(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "must be a JSON object"),
        ("{", "is not JSON"),
        ('{"a": "b"}', "class 'a' must have a list of numbers"),
        (f'{{"a": [1{"0" * 400}]}}', "class 'a' must have a list of numbers"),
        ('{"a": {"x": 1}, "b": {"y": 1}}', "class 'b' has other attributes"),
        ("[" * 100000, "is not JSON"),
    ],
)
def test_a_class_file_with_a_fault_is_refused(tmp_path, text, message):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(UserError, match=message):
        read_classes(tmp_path / "c.json")


def test_describe_tells_what_looks_wrong(tmp_path):
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(30, 4)), rng.random((6, 3))
    X[:, 2] = 1
    X[:, 3] *= 1e5
    X[29], X[20] = X[0], X[21]
    A[:, 0] = 5
    A[4] = A[1]
    labels = np.repeat(np.array(["a", "b", "c", ""]), [10, 10, 5, 5])
    write_pack(tmp_path / "p.npz", pack_arrays(X, labels, A, list("abcdef"), unseen=["c"]))
    found = describe(tmp_path / "p.npz")
    told = "\n".join((*found.facts, *found.leaks, *found.warnings))
    assert not found.faults
    for sentence in (
        "trainval: 20 samples of 2 classes.",
        "test_unseen: 10 samples of 1 classes, 5 of unknown class.",
        "1 samples of test_unseen_loc repeat a sample of trainval_loc exactly.",
        "2 of 30 samples repeat another one exactly.",
        "1 of 4 features are the same for every sample.",
        "1 of 3 attributes are the same for every class.",
        "1 classes have the same description as another class",
        "3 classes have no labeled sample (first: 'd'): samples of unknown class may be of them.",
        "Descriptions range from",
        "times the median",
    ):
        assert sentence in told


def test_describe_lists_faults_instead_of_refusing(tmp_path):
    X = np.ones((4, 2), np.float32)
    X[3, 0] = np.nan
    splits = {"trainval_loc": [0, 1], "test_unseen_loc": [2, 3]}
    np.savez(tmp_path / "p.npz", features=X, labels=[0, 0, 1, 1], att=np.eye(2), **splits)
    found = describe(tmp_path / "p.npz")
    assert found.faults == ("features has NaN or infinity in 1 rows (first: row 3). Drop or correct them.",)
    assert "4 samples of 2 features (float32), 2 classes with 2 attributes." in found.facts


def test_describe_names_the_card_of_a_real_pack(pack):
    found = describe(pack("flo_efficientnet_lite0"))
    assert found.card.name == "FLO"
    assert not found.faults
    assert "Split version 2: train_loc and val_loc lie inside trainval_loc." in found.leaks


@pytest.mark.extra
def test_labels_find_the_rows_of_a_parquet_file_by_their_ids(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from superproto.evaluation.training import fit_files

    task = make_task(n_seen=6, n_unseen=3, samples_per_class=15)
    names = [f"class {j}" for j in range(len(task.semantics))]
    order = np.random.default_rng(0).permutation(len(task.X))
    columns = {f"x{i}": column for i, column in enumerate(np.asarray(task.X)[order].T)}
    pq.write_table(pa.table({"id": [f"p{i}" for i in order], **columns}), tmp_path / "x.parquet")
    lines = [f"p{i},{names[j] if j >= 0 else ''}" for i, j in enumerate(task.y)]
    (tmp_path / "y.csv").write_text("\n".join(["id,label", *lines]))
    rows = [",".join([name, *map(str, row)]) for name, row in zip(names, task.semantics)]
    (tmp_path / "c.csv").write_text("\n".join(rows))
    model = fit_files(tmp_path / "x.parquet", tmp_path / "y.csv", tmp_path / "c.csv")
    assert np.mean(model.transduction_ == np.array(names)[task.truth[order]]) > 0.95


def test_pictures_and_names_alone_lead_to_the_command_for_pictures(tmp_path):
    from superproto.datasets import load

    (tmp_path / "photos" / "zebra").mkdir(parents=True)
    picture = tmp_path / "photos" / "zebra" / "1.jpg"
    picture.write_bytes(b"x")
    for path in (tmp_path / "photos", tmp_path / "photos" / "zebra", picture):
        with pytest.raises(UserError, match="superproto label"):
            load(path)
    (tmp_path / "names.csv").write_text("zebra\nhorse\n")
    with pytest.raises(UserError, match="superproto label PHOTOS --classes"):
        read_classes(tmp_path / "names.csv")


def test_the_note_counts_the_seen_classes_where_no_class_is_unseen(tmp_path):
    from superproto.datasets import load, pack_arrays
    from superproto.datasets.packs import write_pack

    pack = pack_arrays(np.eye(6), ["a", "b", "a", "b", "", ""], np.eye(2), ["a", "b"])
    write_pack(tmp_path / "p.npz", pack)
    assert "2 to be labeled among 2 candidates." in " ".join(load(tmp_path / "p.npz").notes)


def test_without_an_unseen_class_the_seen_ones_are_counted_as_candidates(task):
    names = task.class_names.astype(str)
    labels = np.where(np.arange(len(task.X)) % 2, "", names[task.truth])
    pack = pack_arrays(task.X, labels, task.semantics, names)
    notes = " ".join(to_task(pack).notes)
    assert "among 0 candidates" not in notes
    assert f"to be labeled among {len(names)} candidates" in notes


def test_a_pack_keeps_the_files_of_pictures(folder, task):
    files = np.array([f"birds/{number}.jpg" for number in range(len(task.X))])
    np.savez(folder / "x.npz", features=task.X, image_files=files)
    lines = [f"{name},{task.class_names[c]}" for name, c in zip(files, task.truth)]
    (folder / "by-file.csv").write_text("id,label\n" + "\n".join(reversed(lines)))
    make_pack(folder / "x.npz", folder / "by-file.csv", folder / "classes.csv", folder / "own.npz")
    with np.load(folder / "own.npz") as arrays:
        assert arrays["image_files"].tolist() == files.tolist()
        assert arrays["labels"].tolist() == task.truth.tolist()


def test_ids_and_files_of_pictures_may_differ(folder, task):
    ids = np.array([f"s{number}" for number in range(len(task.X))])
    files = np.array([f"{number}.jpg" for number in range(len(task.X))])
    np.savez(folder / "x.npz", features=task.X, ids=ids, image_files=files)
    (folder / "by-id.csv").write_text(
        "id,label\n" + "\n".join(f"{name}," for name in ids[1:]) + f"\ns0,{task.class_names[0]}"
    )
    made = make_pack(folder / "x.npz", folder / "by-id.csv", folder / "classes.csv", folder / "own.npz")
    assert (made.names_of_samples[0], made.paths[0]) == ("s0", "0.jpg")


def test_names_that_were_made_safe_for_a_spreadsheet_are_known_again(folder, task):
    names = ["-rf.png", "=1+1.png", "@home.png", *(f"{n}.png" for n in range(len(task.X) - 3))]
    np.savez(folder / "x.npz", features=task.X, ids=np.array(names))
    written = [f"{csv_cell(name)},{task.class_names[0]},0.9,0.8,{task.class_names[1]}" for name in names]
    (folder / "predicted.csv").write_text("id,label,probability,margin,runner_up\n" + "\n".join(written))
    assert written[0].startswith("'-rf.png,")
    made = make_pack(folder / "x.npz", folder / "predicted.csv", folder / "classes.csv", folder / "own.npz")
    assert made.ids.tolist() == names
