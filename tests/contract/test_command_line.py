"""Contract: the command lines that scripts outside the project call, each run as it is written."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from superproto.baselines.registry import METHODS
from superproto.cli.exit_codes import run_command
from superproto.datasets import make_task

COLUMNS = ["id", "label", "probability", "margin", "runner_up"]


class Done(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


def superproto(command: str, folder: Path) -> Done:
    """The words after `superproto`, run in the folder."""
    before, out, err = Path.cwd(), io.StringIO(), io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_command(command.split())
    finally:
        os.chdir(before)
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One's own arrays, as a user has them, and the pack of the second line of the contract."""
    folder = tmp_path_factory.mktemp("own")
    task = make_task(n_seen=8, n_unseen=4, n_features=10, n_attributes=6, samples_per_class=8)
    np.save(folder / "F.npy", task.X)
    np.savez(folder / "F.npz", features=task.X)
    np.savetxt(folder / "F.csv", task.X, delimiter=",")
    with (folder / "L.csv").open("w", newline="") as handle:
        rows = [(i, task.class_names[c], "test" if a else "") for i, (c, a) in enumerate(zip(task.truth, task.asked))]
        csv.writer(handle).writerows([("id", "label", "split"), *rows])
    with (folder / "asked.csv").open("w", newline="") as handle:
        rows = [(i, "" if c < 0 else task.class_names[c]) for i, c in enumerate(task.y)]
        csv.writer(handle).writerows([("id", "label"), *rows])
    with (folder / "C.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows([(name, *row) for name, row in zip(task.class_names, task.semantics.tolist())])
    (folder / "tuned.json").write_text('{"rho": 0.5}')
    done = superproto("pack --features F.npy --labels L.csv --classes C.csv -o PACK", folder)
    assert done.returncode == 0, done.stderr
    assert superproto("fit PACK -o MODEL", folder).returncode == 0
    return folder


def test_demo_ends_with_a_report(tmp_path):
    done = superproto("demo --quick", tmp_path)
    assert done.returncode == 0
    last = done.stdout.splitlines()[-1]
    assert last.startswith("Report: ")
    assert (tmp_path / last.removeprefix("Report: ")).stat().st_size > 10_000


def test_pack_takes_empty_labels_for_what_is_to_be_labeled(folder):
    assert superproto("pack --features F.npy --labels asked.csv --classes C.csv -o ASKED", folder).returncode == 0
    assert superproto("fit ASKED -o ASKED.model", folder).returncode == 0
    done = superproto("predict ASKED.model ASKED -o asked-labels.csv", folder)
    assert done.returncode == 0
    with (folder / "asked-labels.csv").open() as handle:
        assert all(row["label"] for row in csv.DictReader(handle))


def test_predict_can_leave_out_labeled_samples(folder):
    superproto("pack --features F.npy --labels asked.csv --classes C.csv -o ASKED", folder)
    superproto("fit ASKED -o ASKED.model", folder)
    assert superproto("predict ASKED.model ASKED --only-unlabeled -o new.csv", folder).returncode == 0
    with (folder / "asked.csv").open() as asked, (folder / "new.csv").open() as new:
        expected = [row["id"] for row in csv.DictReader(asked) if not row["label"]]
        assert [row["id"] for row in csv.DictReader(new)] == expected
    assert superproto("predict MODEL PACK --only-unlabeled -o new.csv", folder).returncode == 2


@pytest.mark.parametrize("options", ["", "--inductive", "--param rho=0.6", "--params tuned.json", "--method eszsl"])
def test_evaluate_prints_json_of_the_zero_shot_setting(folder, options):
    done = superproto(f"evaluate PACK {options} --json", folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"per_class_accuracy", "seconds", "method", "params"} <= set(found)
    assert 0 <= found["per_class_accuracy"] <= 1
    if options.startswith("--param"):
        assert found["params"]["rho"] == (0.6 if "rho" in options else 0.5)


def test_evaluate_has_the_defaults_of_the_contract(folder):
    found = [
        json.loads(superproto(f"evaluate PACK {options} --json", folder).stdout)
        for options in ("", "--method hpl --setting zsl --protocol ps")
    ]
    assert found[0]["per_class_accuracy"] == found[1]["per_class_accuracy"]
    assert (found[0]["method"], found[0]["setting"], found[0]["protocol"]) == ("hpl", "zsl", "ps")
    assert superproto("evaluate PACK", folder).returncode == 0


def test_evaluate_prints_json_of_the_generalized_setting(tmp_path):
    task = make_task(n_seen=8, n_unseen=4, n_features=10, n_attributes=6, samples_per_class=8, setting="gzsl")
    seen = np.isin(task.truth, task.unseen_classes, invert=True)
    np.savez(
        tmp_path / "PACK.npz",
        features=task.X,
        labels=task.truth,
        att=task.semantics,
        trainval_loc=np.flatnonzero(~task.asked),
        test_unseen_loc=np.flatnonzero(task.asked & ~seen),
        test_seen_loc=np.flatnonzero(task.asked & seen),
    )
    done = superproto("evaluate PACK.npz --setting gzsl --json", tmp_path)
    assert done.returncode == 0, done.stderr
    assert {"unseen", "seen", "harmonic_mean", "ausuc", "seconds", "method", "params"} <= set(json.loads(done.stdout))


def test_compare_takes_names_with_commas(folder):
    done = superproto("compare PACK --methods eszsl,hpl", folder)
    assert done.returncode == 0
    assert "eszsl" in done.stdout
    assert "hpl" in done.stdout


@pytest.mark.parametrize("features", ["F.npy", "F.npz", "F.csv", "PACK"])
def test_predict_labels_every_row_in_order(folder, features):
    done = superproto(f"predict MODEL {features} -o LABELS.csv", folder)
    assert done.returncode == 0, done.stderr
    with (folder / "LABELS.csv").open() as handle:
        reader = csv.DictReader(handle)
        rows = list(reader)
    assert reader.fieldnames == COLUMNS
    assert [row["id"] for row in rows] == [str(number) for number in range(96)]
    assert all(0 <= float(row["probability"]) <= 1 for row in rows)


@pytest.mark.extra
def test_predict_reads_parquet(folder):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X = np.load(folder / "F.npy")
    pq.write_table(pa.table({f"f{j}": X[:, j] for j in range(X.shape[1])}), folder / "F.parquet")
    assert superproto("predict MODEL F.parquet -o LABELS.csv", folder).returncode == 0


def test_fit_writes_the_model_at_exactly_that_path(folder):
    assert (folder / "MODEL").is_file()
    assert (folder / "PACK").is_file()


def test_methods_has_every_key_with_a_line(folder):
    done = superproto("methods", folder)
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(METHODS)


@pytest.mark.parametrize(
    "command", ["evaluate none.npz", "evaluate", "evaluate PACK --metod hpl", "nothing", "fit PACK"]
)
def test_a_mistake_is_one_line_and_exit_code_two(folder, command):
    done = superproto(command, folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
