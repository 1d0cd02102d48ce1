"""The verbs `evaluate` and `compare`: the library's own figures, and one line for a mistake."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from superproto.errors import UserError
from superproto.experiments.records import read_records


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-m", "ezsl"], "there is no method 'ezsl'. Did you mean 'eszsl'?"),
        (["-p", "omga=0.5"], "hpl has no parameter 'omga'. Did you mean 'omega'?"),
        (["-p", "rho=high"], "rho is 'high', but it must be a number."),
        (["-p", "rho=1.5"], "rho is 1.5, but it must be at least 0 and below 1."),
        (["-p", "rho"], "--param rho is not NAME=VALUE. Write it as rho=0.6."),
        (["--params", "none.json"], "none.json does not exist."),
        (["--protocol", "ss"], "has no standard split"),
        (["--split", "val"], "has no train_loc and val_loc"),
        (["--attributes", "w2v"], "w2v"),
        (["--record", "nowhere/r.jsonl"], "nowhere/r.jsonl cannot be written"),
    ],
)
def test_a_user_s_mistake_is_one_line(mistake, packed, arguments, said):
    assert said in mistake("evaluate", packed, *arguments)


def test_a_record_is_never_appended_to_the_pack(mistake, packed):
    before = packed.read_bytes()
    assert "would be replaced" in mistake("evaluate", packed, "-m", "eszsl", "--record", packed)
    assert "would be replaced" in mistake("compare", packed, "--methods", "eszsl", "--record", packed)
    assert packed.read_bytes() == before


def test_files_that_are_missing_cut_off_or_foreign_are_one_line(mistake, packed, tmp_path):
    assert "does not exist" in mistake("evaluate", tmp_path / "none.npz")
    assert "res101.mat" in mistake("evaluate", tmp_path)
    (tmp_path / "cut.npz").write_bytes(packed.read_bytes()[:1000])
    (tmp_path / "foreign.npz").write_text("hello")
    for name in ("cut.npz", "foreign.npz"):
        assert name in mistake("evaluate", tmp_path / name)
        assert name in mistake("info", tmp_path / name)


def test_the_library_s_warnings_are_notes(call, packed):
    code, out, err = call("evaluate", packed, "-p", "theta=1.0", "--json")
    assert code == 0
    assert all(line.startswith("note: ") for line in err.splitlines())
    assert any("as many super-prototypes as classes" in line for line in json.loads(out)["notes"])
    assert "as many super-prototypes as classes" in err


def test_json_of_evaluate_has_the_fields_of_the_contract(call, packed):
    code, out, _ = call("evaluate", packed, "--json", "--seed", 3, "-p", "rho=0.5")
    found = json.loads(out)
    assert code == 0
    assert {"per_class_accuracy", "seconds", "method", "params", "interval", "top5", "ece", "breakdown"} <= set(found)
    assert (found["method"], found["params"]["rho"], found["seed"], found["setting"]) == ("hpl", 0.5, 3, "zsl")
    stations = {"import", "load", "read", "passes", "whiten", "fit", "predict", "score"}
    assert set(found["breakdown"]) == stations
    found = json.loads(call("evaluate", packed, "--json", "--setting", "gzsl", "--method", "eszsl")[1])
    assert {"unseen", "seen", "harmonic_mean", "ausuc", "seconds", "method", "params"} <= set(found)


def test_text_of_evaluate_says_the_score_and_where_the_time_went(call, packed):
    code, out, err = call("evaluate", packed, "--inductive")
    assert code == 0
    assert "per-class accuracy" in out
    assert "95 % interval" in out
    assert "pool none" in out
    assert all(word in out.partition("time")[2] for word in ("import", "load", "whiten", "fit", "predict", "score"))
    assert "note: 80 samples of 8 features" in err


def test_parameters_come_from_a_file_and_the_command_line_wins(call, mistake, packed, tmp_path):
    path = tmp_path / "tuned.json"
    path.write_text(
        '{"method": "hpl", "params": {"rho": 0.3, "omega": 0.2}, "folds": [], "task": "t", "setting": "zsl"}'
    )
    found = json.loads(call("evaluate", packed, "--params", path, "-p", "rho=0.4", "--json")[1])
    assert (found["params"]["rho"], found["params"]["omega"]) == (0.4, 0.2)
    assert found["chosen"] == "tuned on held-out seen classes of t (zsl), then given on the command line"
    assert "has parameters of hpl, not of eszsl" in mistake("evaluate", packed, "--params", path, "-m", "eszsl")
    path.write_text('{"rho": 0.3}')
    assert json.loads(call("evaluate", packed, "--params", path, "--json")[1])["params"]["rho"] == 0.3
    for text in ("[1]", "{", "\xff"):
        path.write_bytes(text.encode("latin-1"))
        assert "tuned.json" in mistake("evaluate", packed, "--params", path)


def test_a_record_is_appended_when_asked(call, packed, tmp_path):
    path = tmp_path / "r.jsonl"
    _, out, _ = call("evaluate", packed, "-m", "prototypes", "--record", path, "--json")
    call("compare", packed, "--methods", "prototypes,eszsl", "--features", "own", "--record", path)
    records = read_records(path)
    assert [record.method for record in records] == ["prototypes", "prototypes", "eszsl"]
    assert records[0].scores["per_class_accuracy"] == json.loads(out)["per_class_accuracy"]
    assert records[0].key == records[1].key


def test_a_pool_without_labels_cannot_be_scored(call, mistake, files):
    inputs = ("--features", files / "x.npy", "--labels", files / "y.csv", "--classes", files / "classes.csv")
    assert call("pack", *inputs, "-o", files / "own.npz")[0] == 0
    assert "are unknown, so there is nothing to score" in mistake("evaluate", files / "own.npz")
    assert "are unknown, so there is nothing to score" in mistake("compare", files / "own.npz", "--methods", "eszsl")


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
def test_compare_shows_the_figures_of_evaluate_and_their_differences(call, packed, setting):
    code, out, _ = call(
        "compare", packed, "--methods", "eszsl, prototypes,eszsl", "--setting", setting, "--features", "own", "--json"
    )
    assert code == 0
    first, second = json.loads(out)["results"]
    alone = json.loads(call("evaluate", packed, "--method", "prototypes", "--setting", setting, "--json")[1])
    score = "harmonic_mean" if setting == "gzsl" else "per_class_accuracy"
    assert second[score] == alone[score]
    assert first["difference"] is None
    assert second["difference"]["difference"] == pytest.approx(second[score] - first[score])
    code, out, _ = call("compare", packed, "--methods", "eszsl,prototypes", "--setting", setting)
    assert code == 0
    assert all(word in out for word in ("eszsl", "prototypes", "95 % interval", "seconds", "minus eszsl"))


def test_compare_refuses_names_before_it_reads(mistake, packed):
    assert "Did you mean 'hpl'?" in mistake("compare", "none.npz", "--methods", "eszsl,hpll")
    assert "names no method" in mistake("compare", packed, "--methods", " , ")


def test_an_xlsa17_folder_is_evaluated_like_the_pack_of_its_arrays(call, packed, task, tmp_path):
    from scipy.io import savemat

    rows = {"trainval": ~task.asked, "test_unseen": task.asked & np.isin(task.truth, task.unseen_classes)}
    rows["test_seen"] = task.asked & ~rows["test_unseen"]
    places = {f"{name}_loc": np.flatnonzero(mask)[:, None] + 1 for name, mask in rows.items()}
    names = np.array([[name] for name in task.class_names], dtype=object)
    savemat(tmp_path / "res101.mat", {"features": task.X.T, "labels": task.truth[:, None] + 1})
    savemat(tmp_path / "att_splits.mat", {"att": task.semantics.T, "allclasses_names": names, **places})
    code, out, _ = call("evaluate", tmp_path, "--json")
    assert code == 0
    expected = json.loads(call("evaluate", packed, "--json")[1])["per_class_accuracy"]
    assert json.loads(out)["per_class_accuracy"] == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cub_efficientnet_lite0", "flo_efficientnet_lite0", "awa1_handcrafted_pca512"])
def test_a_real_pack_is_evaluated(call, pack, name):
    code, out, _ = call("evaluate", pack(name), "-m", "eszsl", "--json")
    assert code == 0
    assert json.loads(out)["per_class_accuracy"] > 0.3


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs the processor time of a child process")
def test_cub_from_a_cold_start_takes_less_than_thirty_seconds_of_one_core(pack, shell):
    import resource

    def used():
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    before = used()
    done = shell("evaluate", pack("cub_efficientnet_lite0"), "--json", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    assert used() - before < 30, "processor time, so that a busy machine does not decide"
    found = json.loads(done.stdout)
    assert found["per_class_accuracy"] > 0.7
    assert found["breakdown"]["fit"] > found["breakdown"]["score"]


def test_an_error_of_the_library_is_the_line_of_the_command(mistake, packed):
    from superproto.datasets import load

    with pytest.raises(UserError) as caught:
        load(packed, protocol="ss")
    assert mistake("evaluate", packed, "--protocol", "ss") == f"error: {caught.value}\n"


def test_compare_prepares_the_features_of_all_methods_alike(call, packed):
    _, out, _ = call("compare", packed, "--methods", "kmeans,hpl,eszsl", "--json", "-p", "hpl.max_iter=3")
    assert {row["params"]["whiten"] for row in json.loads(out)["results"]} == {True}
    assert [row["params"].get("max_iter") for row in json.loads(out)["results"]][1] == 3
    _, out, _ = call("compare", packed, "--methods", "kmeans,hpl", "--json", "--features", "raw")
    assert {row["params"]["whiten"] for row in json.loads(out)["results"]} == {False}
    _, out, _ = call("compare", packed, "--methods", "kmeans,eszsl")
    assert out.count("whitened") == 2


def test_compare_gives_zero_shot_the_features_as_they_are_and_says_so(call, packed):
    _, out, _ = call("compare", packed, "--methods", "zero-shot,eszsl", "--json")
    assert [row["params"]["whiten"] for row in json.loads(out)["results"]] == [False, True]
    _, out, _ = call("compare", packed, "--methods", "zero-shot,eszsl")
    rows = {line.split()[1]: line.split()[3] for line in out.splitlines() if line.startswith("│")}
    assert rows == {"zero-shot": "raw", "eszsl": "whitened"}
    _, out, _ = call("compare", packed, "--methods", "zero-shot,eszsl", "--features", "whitened", "--json")
    assert [row["params"]["whiten"] for row in json.loads(out)["results"]] == [True, True]


MINE = """
import numpy as np
class Nearest:
    def fit(self, X, y, semantics=None):
        self.unseen = np.setdiff1d(np.arange(len(semantics)), y)
        return self
    def predict(self, X):
        return np.full(len(X), self.unseen[0])
class Broken(Nearest):
    def fit(self, X, y, semantics=None):
        raise RuntimeError("no idea")
"""


def test_a_method_of_one_s_own_is_compared_and_a_failing_one_is_a_row(call, mistake, packed, tmp_path, monkeypatch):
    (tmp_path / "mine_of_a_test.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    names = "mine_of_a_test:Broken,mine_of_a_test:Nearest,eszsl"
    code, out, _ = call("compare", packed, "--methods", names)
    assert code == 0
    assert "RuntimeError: no idea" in out
    _, out, _ = call("compare", packed, "--methods", names, "--json")
    found = json.loads(out)
    assert [row["method"] for row in found["results"]] == ["mine_of_a_test:Nearest", "eszsl"]
    assert found["failed"] == [{"method": "mine_of_a_test:Broken", "error": "RuntimeError: no idea"}]
    assert "no idea" in mistake("compare", packed, "--methods", "mine_of_a_test:Broken")
    assert "package.module:Class" in mistake("compare", packed, "--methods", "mine_of_a_test:Absent")
    assert "METHOD.NAME=VALUE" in mistake("compare", packed, "--methods", "eszsl", "-p", "nothing=3")
    assert call("evaluate", packed, "-m", "mine_of_a_test:Nearest")[0] == 0
