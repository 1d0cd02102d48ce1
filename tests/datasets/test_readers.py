"""Readers: what a file says is what the task has, in our conventions, with every oddity told."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from superproto.datasets import load, read_splits
from superproto.datasets.cards import CARDS, differences, recognize
from superproto.datasets.feature_files import read_features
from superproto.errors import UserError


def small(**changes):
    """A pack of 40 samples: classes 0 to 3 seen (2 and 3 for validation), 4 and 5 unseen, rows from 36 on test_seen."""
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.repeat(np.arange(6), 6), np.arange(4)])
    arrays = {
        "features": rng.normal(size=(40, 5)).astype(np.float16),
        "labels": labels,
        "att": rng.random((6, 3)).astype(np.float32),
        "class_names": np.array(list("abcdef")),
        "trainval_loc": np.arange(24),
        "train_loc": np.arange(12),
        "val_loc": np.arange(12, 24),
        "test_seen_loc": np.arange(36, 40),
        "test_unseen_loc": np.arange(24, 36),
    }
    return {name: array for name, array in (arrays | changes).items() if array is not None}


@pytest.fixture
def write(tmp_path):
    def writer(**changes):
        path = tmp_path / "small.npz"
        np.savez_compressed(path, **small(**changes))
        return path

    return writer


def test_zsl_and_gzsl_take_the_rows_of_the_protocol(write):
    path, arrays = write(), small()
    task = load(path)
    assert task.X.dtype == np.float16
    assert (task.rows == np.r_[0:24, 24:36]).all()
    assert (arrays["features"][task.rows] == task.X).all()
    assert (task.truth == arrays["labels"][task.rows]).all()
    assert (task.y == np.where(task.truth < 4, task.truth, -1)).all()
    task = load(path, setting="gzsl")
    assert (task.rows == np.r_[0:24, 36:40, 24:36]).all()
    assert (task.setting, task.candidates, task.pool, task.protocol) == ("gzsl", "all", "mixed", "ps")


def test_validation_split_knows_nothing_of_the_test(write):
    path = write()
    task = load(path, split="val")
    assert task.class_names.tolist() == list("abcd")
    assert task.class_names[task.unseen_classes].tolist() == ["c", "d"]
    assert task.semantics.shape == (4, 3)
    assert (task.rows == np.arange(24)).all()
    mixed = load(path, split="val", setting="gzsl")
    assert np.bincount(mixed.truth[mixed.asked]).tolist() == [1, 1, 6, 6]
    assert load(path).folds(1)[0].class_names[load(path).folds(1)[0].unseen_classes].tolist() == ["c", "d"]


def test_notes_say_what_was_found(write):
    notes = " ".join(load(write(class_names=None)).notes)
    assert "40 samples of 5 features (float16), 6 classes with 3 attributes." in notes
    assert "Split version 2" in notes
    assert "24 labeled samples of 4 seen classes; 12 to be labeled among 2 candidates." in notes


def test_the_leaking_split_is_repaired_and_told(write):
    path = write(train_loc=np.r_[0:12, 36, 37], val_loc=np.r_[12:24, 38, 39])
    task = load(path, split="val")
    assert (np.sort(task.rows) == np.arange(24)).all()
    assert any("Split version 1" in note and "4 of them in test_seen_loc" in note for note in task.notes)
    assert any("Repaired by intersection" in note for note in load(path).notes)


def test_unknown_truth_can_be_asked_but_not_scored(write):
    labels = small()["labels"].copy()
    labels[24:36] = -1
    path = write(labels=labels, test_seen_loc=None, train_loc=None, val_loc=None)
    for setting in ("zsl", "gzsl"):
        task = load(path, setting=setting)
        assert not task.truth_known
        assert any("The true class of 12 samples is unknown" in note for note in task.notes)


def test_classes_without_samples_stay_candidates_and_are_told(write):
    path = write(test_unseen_loc=np.arange(24, 30))
    task = load(path)
    assert task.unseen_classes.tolist() == [4, 5]
    assert any("1 unseen classes without a sample (first: 'f')" in note for note in task.notes)


def test_standard_split_and_other_attributes(write):
    path = write(ss_trainval_loc=np.r_[0:18], ss_test_unseen_loc=np.r_[18:36], original_att=np.ones((6, 2)))
    task = load(path, protocol="ss", attributes="original_att")
    assert task.protocol == "ss"
    assert task.unseen_classes.tolist() == [3, 4, 5]
    assert task.semantics.shape == (6, 2)


@pytest.mark.parametrize(
    ("changes", "arguments", "message"),
    [
        ({"features": None}, {}, "no array 'features'"),
        ({"trainval_loc": None}, {}, "no array 'trainval_loc'"),
        ({"features": np.full((40, 5), np.nan)}, {}, r"NaN or infinity in 40 rows \(first: row 0\)"),
        ({"features": np.zeros((40, 5), "S1")}, {}, "Give a table of numbers"),
        ({"features": np.zeros(40)}, {}, r"features has shape \(40,\)"),
        ({"features": np.zeros((39, 5))}, {}, "labels has shape .40,., but features has 39 rows"),
        ({"att": np.full((6, 3), np.inf)}, {}, "att has NaN or infinity for class 'a'"),
        ({"att": np.zeros((5, 3))}, {}, "class_names has shape .6,., but att has 5 rows"),
        ({"class_names": np.array(list("abcdee"))}, {}, "class name 'e' occurs 2 times"),
        ({"labels": np.full(40, 6)}, {}, "labels has class 6, but att has 6 rows"),
        ({"labels": np.full(40, 0.5)}, {}, "labels has numbers that are not whole"),
        ({"labels": np.full(40, "a")}, {}, "labels has shape .40,. and type <U1"),
        ({"labels": np.full(40, -1)}, {}, "24 rows of trainval_loc have no label"),
        ({"trainval_loc": np.arange(24) + 20}, {}, "trainval_loc has row 40, but features has 40 rows"),
        ({"trainval_loc": np.arange(24).astype(np.uint16) - np.uint16(1)}, {}, "trainval_loc has row 65535"),
        ({"val_loc": np.full(3, 12)}, {}, "val_loc lists row 12 3 times"),
        ({"trainval_loc": np.arange(26)}, {}, "2 rows are both in trainval_loc and in test_unseen_loc"),
        ({"test_unseen_loc": np.arange(24, 38)}, {}, "class 'a' is both seen .trainval_loc. and unseen"),
        ({"test_seen_loc": np.arange(20, 38)}, {}, "4 rows are both in trainval_loc and in test_seen_loc"),
        ({"test_seen_loc": np.arange(30, 38)}, {}, "class 'f' is in test_seen_loc, but trainval_loc has no sample"),
        ({"trainval_loc": [], "test_unseen_loc": []}, {}, "both empty"),
        ({"test_seen_loc": None}, {"setting": "gzsl"}, "no test samples of seen classes"),
        ({"train_loc": None}, {"split": "val"}, "no train_loc and val_loc with different classes"),
        ({"train_loc": np.arange(24)}, {"split": "val"}, "no train_loc and val_loc with different classes"),
        ({}, {"protocol": "ss"}, "no standard split"),
        (
            {"ss_trainval_loc": np.r_[0:18], "ss_test_unseen_loc": np.r_[18:36]},
            {"protocol": "ss", "setting": "gzsl"},
            "Use protocol='ps' with 'gzsl'",
        ),
        ({}, {"setting": "both"}, "setting='both' is not known. Give 'zsl' or 'gzsl'"),
        ({}, {"split": "train"}, "split='train' is not known"),
        ({}, {"attributes": "words"}, "no array 'words'"),
    ],
)
def test_a_pack_with_a_fault_is_refused_in_one_sentence(write, changes, arguments, message):
    with pytest.raises(UserError, match=message) as caught:
        load(write(**changes), **arguments)
    assert "\n" not in str(caught.value)


def test_every_real_pack_loads_in_every_setting(pack):
    expected = {
        "cub_efficientnet_lite0": (7057, 2967, 1764, 150, 50),
        "flo_efficientnet_lite0": (5631, 1155, 1403, 82, 20),
        "awa1_handcrafted_pca512": (19830, 5685, 4960, 40, 10),
    }
    for name, (labeled, unseen, seen, m, n) in expected.items():
        task = load(pack(name))
        assert ((~task.asked).sum(), task.asked.sum()) == (labeled, unseen)
        assert (len(task.seen_classes), len(task.unseen_classes)) == (m, n)
        assert load(pack(name), setting="gzsl").asked.sum() == unseen + seen
    assert any("AwA1's has 19832" in note for note in task.notes)
    assert len(load(pack("awa1_handcrafted_pca512"), protocol="ss").unseen_classes) == 10


def _xlsa17(folder, version, rng, **changes):
    """An xlsa17 folder as MATLAB writes it: columns are samples, numbers from 1, the splits uint16 columns."""
    arrays = small()
    column = {key: (arrays[key] + 1).astype(np.uint16)[:, None] for key in arrays if key.endswith("_loc")}
    files = np.array([f"img/{i}.jpg" for i in range(40)], dtype=object)[:, None]
    names = np.array(list("abcdef"), dtype=object)[:, None]
    original = np.round(rng.random((3, 6)) * 100)
    original[1, 2] = -1
    res101 = {
        "features": arrays["features"].T.astype(np.float64),
        "labels": (arrays["labels"] + 1.0)[:, None],
        "image_files": files,
    }
    splits = {"att": arrays["att"].T.astype(float), "original_att": original, "allclasses_names": names} | column
    folder.mkdir()
    writer = savemat if version == 5 else _save_version_73
    writer(folder / "res101.mat", res101 | {k: v for k, v in changes.items() if k in res101})
    writer(folder / "att_splits.mat", splits | {k: v for k, v in changes.items() if k not in res101})
    return original


def _save_version_73(path, variables):
    """HDF5 after 512 bytes of MATLAB's own, arrays transposed, cells as references to text in numbers."""
    h5py = pytest.importorskip("h5py", reason="needs h5py (extra: scale)")
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            if value.dtype == object:
                texts = [np.array([[ord(letter)] for letter in text], np.uint16) for text in value.ravel()]
                made = [file.create_dataset(f"#refs#/{name}{i}", data=text).ref for i, text in enumerate(texts)]
                file.create_dataset(name, (1, len(made)), dtype=h5py.ref_dtype)[0] = made
            else:
                file[name] = value.T
    with path.open("r+b") as handle:
        handle.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


@pytest.mark.parametrize("version", [5, 7.3])
def test_an_xlsa17_folder_is_the_pack_it_was_made_from(tmp_path, write, version):
    original = _xlsa17(tmp_path / "XLS", version, np.random.default_rng(1))
    for arguments in ({}, {"setting": "gzsl"}, {"split": "val"}):
        task, twin = load(tmp_path / "XLS", **arguments), load(write(), **arguments)
        assert (task.X == twin.X).all()
        assert (task.y == twin.y).all()
        assert (task.truth == twin.truth).all()
        assert task.semantics == pytest.approx(twin.semantics)
        assert task.class_names.tolist() == twin.class_names.tolist()
    assert task.name == "XLS"
    assert task.paths[0] == "img/0.jpg"
    told = load(tmp_path / "XLS", attributes="original_att")
    assert told.semantics[2, 1] == pytest.approx(original[1, [0, 1, 3, 4, 5]].mean())
    assert any("original_att lacks 1 values (-1): filled with" in note for note in told.notes)


def test_compressed_and_plain_variables_read_alike(tmp_path):
    _xlsa17(tmp_path / "A", 5, np.random.default_rng(1))
    before = load(tmp_path / "A")
    for name in ("res101.mat", "att_splits.mat"):
        content = {k: v for k, v in loadmat(tmp_path / "A" / name).items() if not k.startswith("__")}
        savemat(tmp_path / "A" / name, content, do_compression=True)
    assert load(tmp_path / "A").digest() == before.digest()


@pytest.mark.parametrize("order", ["<", ">"])
def test_files_of_either_byte_order_read(tmp_path, order):
    def element(kind, data):
        return struct.pack(order + "II", kind, len(data)) + data + bytes(-len(data) % 8)

    def variable(name, table):
        header = element(6, struct.pack(order + "II", 6, 0)) + element(5, struct.pack(order + "ii", *table.shape))
        numbers = table.astype(order + "f8").tobytes(order="F")
        return element(14, header + element(1, name.encode()) + element(9, numbers))

    tables = {"att": np.arange(6.0).reshape(3, 2), "trainval_loc": np.c_[[1, 2]], "test_unseen_loc": np.c_[[3]]}
    mark = b"\x00\x01IM" if order == "<" else b"\x01\x00MI"
    content = b"MATLAB 5.0 MAT-file".ljust(124) + mark + b"".join(variable(*item) for item in tables.items())
    (tmp_path / "att_splits.mat").write_bytes(content)
    splits = read_splits(tmp_path / "att_splits.mat")
    assert (splits.att == tables["att"].T).all()
    assert splits.trainval_loc.tolist() == [0, 1]
    assert splits.version is None


def test_the_standard_split_of_a_folder_is_a_second_file(tmp_path):
    _xlsa17(tmp_path / "A", 5, np.random.default_rng(1))
    standard = {"att": np.ones((3, 6)), "trainval_loc": np.arange(1, 19), "test_unseen_loc": np.arange(19, 37)}
    savemat(tmp_path / "A" / "ss_att_splits.mat", standard)
    assert load(tmp_path / "A", protocol="ss").unseen_classes.tolist() == [3, 4, 5]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.zeros((40, 1))}, "labels has 0, but MATLAB counts from 1"),
        ({"labels": np.full((40, 1), 7.0)}, "labels has class 6, but att has 6 rows"),
        ({"labels": np.ones((39, 1))}, "features has shape .5, 40., but there are 39 labels"),
        ({"att": np.ones((3, 7))}, "att has shape .3, 7., but there are 6 class names"),
        ({"trainval_loc": np.full((3, 1), 41.0)}, "trainval_loc has row 40, but features has 40 rows"),
        ({"trainval_loc": np.full((3, 1), 1.5)}, "trainval_loc has numbers that are not whole"),
    ],
)
def test_a_folder_with_a_fault_is_refused(tmp_path, changes, message):
    _xlsa17(tmp_path / "A", 5, np.random.default_rng(1), **changes)
    with pytest.raises(UserError, match=message):
        load(tmp_path / "A")


def test_wrong_paths_name_the_cure(tmp_path):
    _xlsa17(tmp_path / "A", 5, np.random.default_rng(1))
    (tmp_path / "empty").mkdir()
    for path, message in (
        (tmp_path / "A" / "att_splits.mat", "Give the folder"),
        (tmp_path / "empty", "has no res101.mat"),
        (tmp_path / "absent.npz", "does not exist"),
        (tmp_path / "A" / "nothing.mat", "does not exist"),
    ):
        with pytest.raises(UserError, match=message):
            load(path)
    with pytest.raises(UserError, match="attributes='words' is not in"):
        load(tmp_path / "A", attributes="words")
    with pytest.raises(UserError, match="has no 'att'"):
        read_splits(tmp_path / "A" / "res101.mat")


GENUINE = {  # classes, attributes, version, trainval, train, val, test_seen, test_unseen
    "APY": (32, 64, "v2", 5932, 4906, 1026, 1483, 7924),
    "AWA1": (50, 85, "v1", 19832, 13460, 6372, 4958, 5685),
    "AWA2": (50, 85, "v1", 23527, 16187, 7340, 5882, 7913),
    "CUB": (200, 312, "v1", 7057, 4702, 2355, 1764, 2967),
    "FLO": (102, 1024, "v1", 5631, 4705, 926, 1403, 1155),
    "SUN": (717, 102, "v1", 10320, 9280, 1040, 2580, 1440),
}


@pytest.mark.parametrize("name", GENUINE)
def test_the_genuine_split_files_read(pack, name):
    path = pack("cub_efficientnet_lite0").parent / "xlsa17" / f"{name}.att_splits.mat"
    splits = read_splits(path)
    parts = (splits.trainval_loc, splits.train_loc, splits.val_loc, splits.test_seen_loc, splits.test_unseen_loc)
    assert (*splits.att.shape, splits.version, *map(len, parts)) == GENUINE[name]
    assert (np.union1d(splits.train_loc, splits.val_loc) == np.sort(splits.trainval_loc)).all()
    everything = np.sort(np.concatenate(parts[:1] + parts[3:]))
    assert (everything == np.arange(len(everything))).all(), "0-based, each sample once"
    raw = loadmat(path)
    assert (splits.att == raw["att"].T).all()
    assert (splits.test_unseen_loc == raw["test_unseen_loc"].ravel().astype(int) - 1).all()
    assert any(f"Looks like {name.replace('AWA', 'AwA').replace('APY', 'aPY')}." in note for note in splits.notes)
    if name == "FLO":
        assert splits.original_att is None
        assert splits.class_names[0] == "0"
    else:
        assert splits.class_names.tolist() == [str(cell[0]) for cell in raw["allclasses_names"].ravel()]
        assert splits.original_att.min() >= 0, "no -1 is left"


def test_every_card_adds_up():
    for card in CARDS:
        for counts in (card.ps, card.ss):
            assert counts is None or sum(counts) == card.samples
        assert card.license
        assert card.citation
        assert card.source.startswith("https://")
        assert recognize(card.some_classes, card.classes, card.attributes, card.samples) is card
        assert recognize(None, card.classes, card.attributes, card.samples) is card


def test_differences_from_a_card_are_counted():
    card = next(card for card in CARDS if card.name == "CUB")
    assert list(differences(card, 11788, 200, 312, (7057, 1764, 2967), "ps")) == []
    assert list(differences(card, 11787, 200, 1024, (7056, 1764, 2967), "ps")) == [
        "It has 11787 samples; CUB has 11788.",
        "It has 1024 attributes; CUB has 312.",
        "Its trainval part (PS) has 7056 samples; CUB's has 7057.",
    ]
    assert recognize(["zebra", "horse"], 2, 85, 100) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,label\na,\nb,whale\n", r"row 3, column 'label' has 'whale', which is not a number. It looks like a table"),
        ("a,1.5,x\nb,2.5,3\n", r"the first line has numbers \(1.5\) and words \('x'\)"),
        ("1.5,2\n2.5,x\n", r"row 2, column 2 has 'x', which is not a number. Give a table of features"),
        ("name\nzebra\nhorse\n", r"one column, of text. Give a table of features"),
    ],
)
def test_a_table_of_something_else_is_no_table_of_features(text, words, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(UserError, match=words):
        read_features(tmp_path / "t.csv")
