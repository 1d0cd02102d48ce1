"""The verbs `pack` and `info`: one's own files become a data set, and a data set is described."""

from __future__ import annotations

import json

import numpy as np

from superproto import HPL
from superproto.metrics import per_class_accuracy


def test_own_arrays_packed_and_evaluated_give_the_figure_of_the_library(call, files, task):
    inputs = ("--features", files / "x.npy", "--labels", files / "scored.csv", "--classes", files / "classes.csv")
    assert call("pack", *inputs, "-o", files / "own.npz")[0] == 0
    code, out, _ = call("evaluate", files / "own.npz", "--json")
    assert code == 0
    figure = json.loads(out)["per_class_accuracy"]
    rows = np.flatnonzero(~task.asked | np.isin(task.truth, task.unseen_classes))
    model = HPL(random_state=0).fit(task.X[rows], task.y[rows], semantics=task.semantics)
    asked = task.asked[rows]
    assert figure == per_class_accuracy(task.truth[rows][asked], model.transduction_[asked])


def test_info_says_what_is_inside(call, packed):
    code, out, err = call("info", packed)
    assert (code, err) == (0, "")
    assert "80 samples of 8 features" in out
    found = json.loads(call("info", packed, "--json")[1])
    assert {"name", "facts", "leaks", "warnings", "faults", "card"} == set(found)


def test_pack_writes_nothing_when_something_is_wrong(mistake, files):
    (files / "y.csv").write_text("id,label\n0,clas 1\n")
    inputs = ("--features", files / "x.npy", "--labels", files / "y.csv", "--classes", files / "classes.csv")
    before = sorted(files.iterdir())
    mistake("pack", *inputs, "-o", files / "own.npz")
    assert sorted(files.iterdir()) == before
    (files / "y.csv").write_text((files / "scored.csv").read_text().replace("class 3,", "clas 3,"))
    assert "Did you mean 'class 3'?" in mistake("pack", *inputs, "-o", files / "own.npz")
    assert sorted(files.iterdir()) == before
    assert "does not exist" in mistake("pack", *inputs[:-1], files / "none.csv", "-o", files / "own.npz")


def test_unseen_classes_are_named_on_the_command_line(call, files, task):
    lines = [f"{i},{task.class_names[c]}" for i, c in enumerate(task.truth)]
    (files / "all.csv").write_text("\n".join(lines))
    inputs = ("--features", files / "x.npy", "--labels", files / "all.csv", "--classes", files / "classes.csv")
    code, out, _ = call(
        "pack", *inputs, "--unseen", "class 8", "--unseen", "class 9", "-o", files / "own.npz", "--json"
    )
    assert code == 0
    assert json.loads(out)["pack"] == str(files / "own.npz")
    assert json.loads(call("evaluate", files / "own.npz", "-m", "eszsl", "--json")[1])["questions"] == 16


def test_an_unwritable_output_is_one_line(mistake, files):
    inputs = ("--features", files / "x.npy", "--labels", files / "y.csv", "--classes", files / "classes.csv")
    said = "cannot be written: the folder"
    assert said in mistake("pack", *inputs, "-o", files / "none" / "own.npz")
    assert said in mistake("pack", *inputs[:-1], files / "absent.csv", "-o", files / "none" / "own.npz")
