"""What a new user does wrong: exit code 2 and one line that names the value and the cure; nothing is written."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from superproto.cli import exit_codes

TABLES = {
    "short.csv": "id,label\n0,ant\n",
    "twice.csv": "id,label\n" + "0,ant\n" * 80,
    "ragged.csv": "id,label\n0,ant,train,x\n1\n",
    "semicolons.csv": "id;label\n0;ant\n1;bee\n",
    "tabs.csv": "id\tlabel\n0\tant\n1\tbee\n",
    "other.csv": "file,class\n" + "".join(f"{i},ant\n" for i in range(80)),
    "named.csv": "id,label\n" + "".join(f"img_{i},\n" for i in range(80)),
    "extra.csv": "id,label,age\n" + "".join(f"{i},,3\n" for i in range(80)),
    "word.csv": "id,a\nx,1\ny,two\n",
    "hole.csv": "id,a\nx,1\ny,\n",
    "nameless.csv": ",1.5,2\nbee,1,2\n",
    "names.csv": "name\nant\nbee\n",
    "words.csv": "name,description\nant,small\n",
    "nan.csv": "ant,1,nan\nbee,1,2\n",
    "uneven.csv": "ant,1,2\nbee,1\n",
    "cut.json": "{",
    "list.json": "[1]",
    "deep.json": "[" * 100_000,
    "typo.json": '{"rhoo": 1}',
    "empty": "",
    "empty.csv": "",
    "empty.npy": "",
    "empty.npz": "",
    "empty.model": "",
    "picture.jpg": "no picture",
}
PACK = "pack --features {} --labels {} --classes {} -o new"
MISTAKES = {
    # pack
    PACK.format("none.npy", "y.csv", "classes.csv"): "none.npy does not exist. Check the path",
    PACK.format("folder", "y.csv", "classes.csv"): "folder has no res101.mat",
    PACK.format("empty.npy", "y.csv", "classes.csv"): "empty.npy is not a readable .npy file",
    PACK.format("empty.csv", "y.csv", "classes.csv"): "empty.csv is empty",
    PACK.format("nan.npy", "y.csv", "classes.csv"): "1 rows have NaN or infinity (first: row 7). Drop or correct",
    PACK.format("huge.npy", "y.csv", "classes.csv"): "infinity",
    PACK.format("one.npy", "y.csv", "classes.csv"): "features have shape (8,) and type float64. Give numbers, one row",
    PACK.format("cube.npy", "y.csv", "classes.csv"): "features have shape (80, 2, 4)",
    PACK.format("few.npy", "y.csv", "classes.csv"): "y.csv has 80 lines, features have 70 rows. Give one line per row",
    PACK.format("text.npy", "y.csv", "classes.csv"): "type <U1. Give numbers",
    PACK.format("objects.npy", "y.csv", "classes.csv"): "holds pickled objects, which can run code",
    PACK.format("word.csv", "y.csv", "classes.csv"): "row 3, column 'a' has 'two', which is not a number",
    PACK.format("hole.csv", "y.csv", "classes.csv"): "NaN or infinity (first: row 1)",
    PACK.format("semicolons.csv", "y.csv", "classes.csv"): "has semicolons between its cells. Save it with commas",
    PACK.format("picture.jpg", "y.csv", "classes.csv"): "superproto label . --classes",
    PACK.format("x.model", "y.csv", "classes.csv"): "ends in '.model'. Give features as .npy",
    PACK.format("y.csv", "x.npy", "classes.csv"): "It looks like a table of labels",
    PACK.format("x.npy", "none.csv", "classes.csv"): "none.csv does not exist",
    PACK.format("x.npy", "folder", "classes.csv"): "folder is a folder. Give a file",
    PACK.format("x.npy", "short.csv", "classes.csv"): "short.csv has 1 lines, features have 80 rows",
    PACK.format("x.npy", "twice.csv", "classes.csv"): "the id '0' occurs 80 times. Give each row one",
    PACK.format("x.npy", "ragged.csv", "classes.csv"): "each line is id,label or id,label,split",
    PACK.format("x.npy", "semicolons.csv", "classes.csv"): "has semicolons between its cells",
    PACK.format("x.npy", "tabs.csv", "classes.csv"): "has tabs between its cells",
    PACK.format("x.npy", "other.csv", "classes.csv"): "call them id,label",
    PACK.format("x.npy", "named.csv", "classes.csv"): "has the id 'img_0', but the features have no ids",
    PACK.format("x.npy", "extra.csv", "classes.csv"): "has the column 'age'. The columns must be id, label",
    PACK.format("x.npy", "empty.csv", "classes.csv"): "has no rows. Write one line for each sample",
    PACK.format("x.npy", "latin.csv", "classes.csv"): "Save it as CSV with the encoding UTF-8",
    PACK.format("x.npy", "y.csv", "nameless.csv"): "the first line has no name before its numbers (1.5, ...)",
    PACK.format("x.npy", "y.csv", "names.csv"): "superproto label PHOTOS",
    PACK.format("x.npy", "y.csv", "words.csv"): "has 'small', which is not a number",
    PACK.format("x.npy", "y.csv", "nan.csv"): "class 'ant' has NaN or infinity. Drop the class",
    PACK.format("x.npy", "y.csv", "uneven.csv"): "class 'bee' has 1 numbers, 'ant' has 2",
    PACK.format("x.npy", "y.csv", "empty.csv"): "describes no class",
    PACK.format("x.npy", "y.csv", "cut.json"): "cut.json is not JSON",
    PACK.format("x.npy", "y.csv", "deep.json"): "deep.json is not JSON",
    PACK.format("x.npy", "y.csv", "list.json"): "must be a JSON object",
    PACK.format("x.npy", "y.csv", "classes.csv") + " --unseen zebra": "the label 'zebra' is none of the 10 classes",
    PACK.format("x.npy", "y.csv", "classes.csv") + " -o folder": "folder is a folder. Give the name of a file",
    PACK.format("x.npy", "y.csv", "classes.csv") + " -o none/p": "the folder none does not exist. Create it first",
    PACK.format("x.npy", "y.csv", "classes.csv") + " -o x.npy": "would be replaced. Give --output another name",
    PACK.format("x.npy", "y.csv", "classes.csv") + " -o /dev/full": "No space left on device. Choose another place",
    # info, evaluate, compare
    "info none.npz": "none.npz does not exist",
    "info empty.npz": "empty.npz is not a pack (.npz). Make one of your own arrays with: superproto pack",
    "info folder": "An xlsa17 folder holds res101.mat beside att_splits.mat",
    "info x.model": "x.model is not a pack",
    "evaluate p.npz -m hlp": "there is no method 'hlp'. Did you mean 'hpl'?",
    "evaluate p.npz -p rhoo=1": "hpl has no parameter 'rhoo'. Did you mean 'rho'?",
    "evaluate p.npz -p rho": "--param rho is not NAME=VALUE. Write it as rho=0.6",
    "evaluate p.npz -p rho=abc": "rho is 'abc', but it must be",
    "evaluate p.npz -p rho=-1": "rho is -1, but it must be",
    "evaluate p.npz -p max_iter=0": "max_iter is 0, but it must be",
    "evaluate p.npz --params cut.json": "cut.json is not JSON",
    "evaluate p.npz --params list.json": "must hold a JSON object",
    "evaluate p.npz --params deep.json": "deep.json is not JSON",
    "evaluate p.npz --params typo.json": "hpl has no parameter 'rhoo'",
    "evaluate p.npz --params folder": "folder is a folder. Give a file",
    "evaluate p.npz -m os:path": "os:path cannot be constructed",
    "evaluate p.npz -m nowhere:Class": "cannot be imported",
    "evaluate p.npz --record folder": "folder is a folder",
    "evaluate p.npz --record /dev/full": "/dev/full",
    "compare p.npz --methods hpl,zebra": "there is no method 'zebra'",
    "compare p.npz --methods ,": "names no method. Write it as eszsl,hpl",
    # fit
    "fit -o new": "Give a data set, or --features, --labels and --classes",
    "fit x.npy -o new": "x.npy is not a pack",
    "fit folder -o new": "folder has no res101.mat",
    "fit picture.jpg -o new": "superproto label",
    "fit --features x.npy --labels y.csv -o new": "Give --classes too",
    "fit p.npz --labels y.csv -o new": "p.npz is read as a data set",
    "fit p.npz -o folder": "folder is a folder",
    "fit p.npz -m eszsl -o /dev/full": "No space left on device",
    "fit p.npz -o y.csv": "y.csv exists and is a text file, not a model. Give another name, or --force",
    "fit p.npz -o new --checkpoint folder": "folder is a folder. Give the name of a file",
    "fit p.npz -o new --checkpoint none/c": "the folder none does not exist",
    # predict
    "predict none.model x.npy -o new": "none.model does not exist",
    "predict p.npz x.npy -o new": "p.npz is a pack or an archive, not a model. Fit one with",
    "predict empty.model x.npy -o new": "header too small). Give what `superproto fit` wrote",
    "predict folder x.npy -o new": "folder is a folder",
    "predict x.model none.npy -o new": "none.npy does not exist",
    "predict x.model nan.npy -o new": "nan.npy: Row 7 has NaN or infinity",
    "predict x.model wide.npy -o new": "The rows have 16 features, but the model was fitted with 8",
    "predict x.model one.npy -o new": "features of shape (8,)",
    "predict x.model y.csv -o new": "It looks like a table of labels",
    "predict x.model x.model -o new": "ends in '.model'",
    "predict x.model x.npy -o folder": "folder is a folder",
    "predict x.model x.npy -o x.model": "would be replaced",
    "predict x.model x.npy -o /dev/full": "No space left on device",
    "predict x.model x.npy --only-unlabeled -o new": "x.npy is not a pack",
    # report, tune, attributes, demo and the rest
    "report p.npz -o new.html": "p.npz is a pack or an archive, not a model",
    "report x.model --pack x.npy -o new.html": "x.npy is not a pack",
    "report x.model --images folder -o new.html": "--images folder needs --pack",
    "report x.model --pack p.npz --images none -o new.html": "--images none is no folder",
    "report x.model --params deep.json -o new.html": "deep.json is not JSON. Give the file that `superproto tune`",
    "report x.model -o /dev/full": "No space left on device",
    "tune p.npz -o new.json --folds 1": "folds=1 shows no spread over classes. Give at least 2",
    "tune p.npz -o new.json --folds 100": "need at least 100 seen classes, but there are 6",
    "tune p.npz -o new.json --search magic": "search='magic' is not known. Give 'tpe' or 'grid'",
    "tune p.npz -o p.npz": "would be replaced",
    "attributes p.npz -o new.txt": "Give a name that ends in .html or .csv",
    "demo -o y.csv": "'y.csv' is a file",
    "demo --quick -o /dev/full": "/dev/full: File exists. Give another name",
    "embed none -o new.npz": "none does not exist. Give the folder that holds the pictures",
    "embed folder -o new.npz": "folder holds no picture",
    "describe empty.csv -o new.npz": "describes no class",
    "research leaderboard --records y.csv": "y.csv holds no record",
    "research leaderboard --records folder": "folder cannot be read: Is a directory",
    "research paper --output none/p": "Give --records",
    "research docs --output folder": "No page in folder has generated blocks",
    "zebra": "No such command 'zebra'",
}  # fmt: skip


@pytest.fixture(scope="module")
def place(task, packed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "folder").mkdir()
    X, names = np.array(task.X, float), task.class_names
    lines = [f"{i},{names[c] if c >= 0 else ''}" for i, c in enumerate(task.y)]
    (folder / "y.csv").write_text("id,label\n" + "\n".join(lines))
    rows = [",".join([name, *map(repr, map(float, row))]) for name, row in zip(names, task.semantics)]
    (folder / "classes.csv").write_text("\n".join(rows))
    (folder / "latin.csv").write_bytes("id,label\n0,caf\xe9\n".encode("latin-1"))
    for name, text in TABLES.items():
        (folder / name).write_text(text)
    hole = X.copy()
    hole[7, 3] = np.nan
    arrays = {
        "x": X, "nan": hole, "huge": X * 1e308 * 10, "one": X[0], "cube": X.reshape(len(X), 2, -1), "few": X[:70],
        "wide": np.hstack([X, X]), "text": np.full((80, 2), "a"), "objects": np.array([{}], dtype=object),
    }  # fmt: skip
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=name == "objects")
    shutil.copy(packed, folder / "p.npz")
    assert exit_codes.run_command(["fit", str(packed), "-m", "eszsl", "-o", str(folder / "x.model")]) == 0
    return folder


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:.*is not a record")
@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_line_with_its_cure(line, place, mistake, monkeypatch):
    if "/dev/full" in line and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    monkeypatch.chdir(place)
    before = sorted(place.rglob("*"))
    assert MISTAKES[line] in mistake(*shlex.split(line))
    assert sorted(place.rglob("*")) == before
