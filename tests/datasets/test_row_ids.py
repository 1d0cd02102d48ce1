"""Labels land on the rows they were given for, or the command stops."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from superproto.datasets import make_pack, read_features
from superproto.datasets.own_files import read_classes, read_labels
from superproto.errors import UserError

N = 12
NAMES = np.array(["ant", "bee", "cat"])
TRUTH = NAMES[np.arange(N) % 3]

SPELLINGS = {
    "plain": str,
    "float": lambda i: f"{i}.0",
    "long float": lambda i: f"{i}.000",
    "point": lambda i: f"{i}.",
    "padded": lambda i: f"{i:03d}",
    "padded long": lambda i: f"{i:012d}",
    "plus": lambda i: f"+{i}",
    "exponent": lambda i: f"{i}e0",
    "blank before": lambda i: f" {i}",
    "blank after": lambda i: f"{i} ",
    "name": lambda i: f"img_{i}",
    "file": lambda i: f"a/{i:04d}.jpg",
    "quoted": lambda i: f"'{i}'",
    "hash": lambda i: f"#{i}",
    "hexadecimal": hex,
    "upper": lambda i: f"IMG_{i}",
}
ORDERS = {"same": np.arange(N), "reversed": np.arange(N)[::-1], "shuffled": np.random.default_rng(0).permutation(N)}
# Features' ids against the table's ids, in each order, from 0, 1 and 100: more than two thousand ways.
WAYS = list(itertools.product([None, *SPELLINGS], SPELLINGS, ORDERS, (0, 1, 100)))


def _way(tmp_path, own, theirs, order, base):
    table = [f"{SPELLINGS[theirs](i + base)},{TRUTH[i]}" for i in ORDERS[order]]
    path = tmp_path / "y.csv"
    path.write_text("id,label\n" + "\n".join(table))
    ids = None if own is None else np.array([SPELLINGS[own](i + base) for i in range(N)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_labels(path, NAMES, N, ids)


@pytest.mark.parametrize("own", [None, *SPELLINGS])
def test_each_spelling_of_ids_puts_every_label_on_its_row_or_is_refused(own, tmp_path):
    joined = 0
    for way in (way for way in WAYS if way[0] == own):
        try:
            found = _way(tmp_path, *way)
        except UserError as error:
            assert "id" in str(error)  # noqa: PT017
            continue
        assert found.tolist() == TRUTH.tolist(), way
        joined += 1
    assert joined >= len(ORDERS)


def test_spellings_of_one_number_are_one_id(tmp_path):
    for own, theirs in (("plain", "float"), ("float", "padded"), ("padded", "plain"), ("plain", "plain")):
        assert _way(tmp_path, own, theirs, "shuffled", 100).tolist() == TRUTH.tolist()


def _files(tmp_path, ids, header="id,label"):
    np.save(tmp_path / "x.npy", np.arange(2.0 * N).reshape(N, 2))
    (tmp_path / "y.csv").write_text(header + "\n" + "\n".join(f"{i}{t}" for i, t in zip(ids, TRUTH)))
    (tmp_path / "c.csv").write_text("ant,1,0\nbee,0,1\ncat,1,1\ndog,2,1")
    return tmp_path / "x.npy", tmp_path / "y.csv", tmp_path / "c.csv", tmp_path / "p.npz"


def test_named_ids_for_features_without_ids_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"has the id 'img_0', but the features have no ids"):
        make_pack(*_files(tmp_path, [f"img_{i}," for i in range(N)]))


@pytest.mark.parametrize(("header", "start"), [("id,label", ","), ("label", "")])
def test_a_table_without_ids_is_taken_in_order_and_says_so(tmp_path, header, start):
    with pytest.warns(UserWarning, match="in the order of the rows"):
        pack = make_pack(*_files(tmp_path, [start] * N, header))
    assert pack.class_names[pack.labels].tolist() == TRUTH.tolist()


def test_ids_that_are_the_same_number_are_refused(tmp_path):
    ids = [f"{i}," for i in range(N)]
    ids[3] = "01,"
    with pytest.raises(UserError, match="'1' and '01' are the same number"):
        make_pack(*_files(tmp_path, ids))


def test_ids_that_occur_twice_in_features_are_refused(tmp_path):
    (tmp_path / "y.csv").write_text("id,label\na,ant\nb,bee\nc,cat")
    with pytest.raises(UserError, match="features: the id 'a' occurs 2 times"):
        read_labels(tmp_path / "y.csv", NAMES, 3, np.array(["a", "b", "a"]))


def test_a_class_without_a_name_is_refused(tmp_path):
    (tmp_path / "c.csv").write_text("name,x,y\nant,1,0\n,0,1\n")
    with pytest.raises(UserError, match="a class has no name"):
        read_classes(tmp_path / "c.csv")


@pytest.mark.parametrize("line", [",1.5,2", ",1,0", ",0,1,1"])
def test_a_first_class_without_a_name_is_not_taken_for_names_of_columns(tmp_path, line):
    (tmp_path / "c.csv").write_text(f"{line}\nbee,0,1,1\n")
    with pytest.raises(UserError, match="the first line has no name before its numbers"):
        read_classes(tmp_path / "c.csv")


def test_a_class_called_name_is_a_class(tmp_path):
    (tmp_path / "c.csv").write_text("name,0.5,1.5\nant,1,0\n")
    assert read_classes(tmp_path / "c.csv").names.tolist() == ["name", "ant"]


def test_a_first_row_of_counting_numbers_above_whole_numbers_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text("0,1,2\n3,4,5\n6,7,9\n")
    with pytest.raises(UserError, match="may be column names or numbers"):
        read_features(tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text("0,1,2\n3.5,4,5\n6,7,9\n")
    assert read_features(tmp_path / "x.csv").X.shape == (2, 3)
