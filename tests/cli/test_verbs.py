"""The command line: results on stdout, one line on stderr for a mistake, and the library's own figures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from superproto import HPL
from superproto.cli import exit_codes, terminal
from superproto.cli.app import app, complete_app
from superproto.datasets import make_task, pack_arrays
from superproto.datasets.packs import write_pack
from superproto.errors import UserError
from superproto.experiments.records import read_records
from superproto.metrics import per_class_accuracy


@pytest.fixture(scope="module")
def task():
    return make_task(n_seen=6, n_unseen=4, n_features=8, n_attributes=5, samples_per_class=8, setting="gzsl")


@pytest.fixture(scope="module")
def packed(task, tmp_path_factory):
    """The task as a pack."""
    path = tmp_path_factory.mktemp("packs") / "small.npz"
    split = np.where(task.asked, "test", "train")
    labels = task.class_names[task.truth]
    write_pack(path, pack_arrays(task.X, labels, task.semantics, task.class_names, split=split))
    return path


@pytest.fixture
def files(task, tmp_path):
    """The task as one's own files: features, labels without and with test labels, classes."""
    np.save(tmp_path / "x.npy", task.X)
    known = [f"{i},{task.class_names[c] if c >= 0 else ''}" for i, c in enumerate(task.y)]
    (tmp_path / "y.csv").write_text("id,label\n" + "\n".join(known))
    scored = [
        f"{i},{task.class_names[c]},{'test' if a else ''}" for i, (c, a) in enumerate(zip(task.truth, task.asked))
    ]
    (tmp_path / "scored.csv").write_text("id,label,split\n" + "\n".join(scored))
    rows = [",".join([name, *map(repr, map(float, row))]) for name, row in zip(task.class_names, task.semantics)]
    (tmp_path / "classes.csv").write_text("\n".join(rows))
    return tmp_path


@pytest.fixture
def call(capsys):
    """``call("info", path)`` is (exit code, stdout, stderr)."""

    def run(*arguments):
        code = exit_codes.run_command([str(argument) for argument in arguments])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def mistake(call):
    """The one line of a mistake: exit code 2, nothing on stdout."""

    def run(*arguments):
        code, out, err = call(*arguments)
        assert (code, out) == (exit_codes.MISTAKE, "")
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        return err

    return run


def shell(*arguments, **environment):
    command = [sys.executable, "-c", "from superproto.cli import main; main()", *map(str, arguments)]
    env = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=280, check=False)


def test_help_loads_no_heavy_package():
    heavy = ("sklearn", "scipy", "matplotlib", "numpy", "pandas", "torch", "optuna")
    code = f"""
import sys
from superproto.cli.exit_codes import run_command as run
assert run(["--help"]) == 0 and run(["evaluate", "--help"]) == 0 and run(["--version"]) == 0
print("loaded:", [name for name in {heavy} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "loaded: []\n"


def test_every_verb_teaches_with_an_example(call):
    complete_app()
    names = [command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands]
    assert {"pack", "info", "evaluate", "compare"} <= set(names)
    for name in names:
        code, out, _ = call(name, "--help")
        assert code == 0
        assert f"superproto {name}" in out.partition("Example")[2], f"{name} --help has no example"


def test_no_argument_shows_help_and_version_is_the_package_s(call):
    import superproto

    assert call() == call("--help")
    assert call("--version") == (0, f"superproto {superproto.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evalute"], "No such command 'evalute'. Did you mean 'evaluate'"),
        (["evaluate"], "Missing argument 'PACK'"),
        (["evaluate", "x.npz", "--metod", "hpl"], "No such option: --metod"),
        (["evaluate", "x.npz", "--setting", "fsl"], "'fsl' is not one of 'zsl', 'gzsl'"),
        (["evaluate", "x.npz", "--seed", "one"], "--seed"),
        (["evaluate", "x.npz", "y.npz"], "y.npz"),
        (["compare", "x.npz"], "--methods"),
        (["pack", "--features", "x.npy"], "--labels"),
    ],
)
def test_wrong_usage_is_one_line_that_says_where_help_is(mistake, arguments, said):
    line = mistake(*arguments)
    assert said in line
    assert "--help" in line


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


def test_files_that_are_missing_cut_off_or_foreign_are_one_line(mistake, packed, tmp_path):
    assert "does not exist" in mistake("evaluate", tmp_path / "none.npz")
    assert "res101.mat" in mistake("evaluate", tmp_path)
    (tmp_path / "cut.npz").write_bytes(packed.read_bytes()[:1000])
    (tmp_path / "foreign.npz").write_text("hello")
    for name in ("cut.npz", "foreign.npz"):
        assert name in mistake("evaluate", tmp_path / name)
        assert name in mistake("info", tmp_path / name)


def test_what_is_unexpected_is_one_line_too(call, packed, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("the\nsky fell")

    monkeypatch.setattr("superproto.evaluation.evaluate.evaluate", broken)
    code, out, err = call("evaluate", packed)
    assert (code, out) == (exit_codes.OURS, "")
    assert err == "error: RuntimeError: the sky fell (SUPERPROTO_DEBUG=1 shows where)\n"
    monkeypatch.setenv("SUPERPROTO_DEBUG", "1")
    with pytest.raises(RuntimeError, match="sky fell"):
        call("evaluate", packed)


def test_ctrl_c_is_130_and_one_line(call, packed, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("superproto.evaluation.evaluate.evaluate", interrupted)
    assert call("evaluate", packed) == (130, "", "error: interrupted\n")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_real_ctrl_c_leaves_no_traceback(tmp_path):
    os.mkfifo(tmp_path / "endless.npz")  # reading it waits for ever
    # A shell that starts the tests in the background has told them, and so their children, to ignore Ctrl-C.
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from superproto.cli.exit_codes import run_command\n"
    code += "print('ready', flush=True); sys.exit(run_command(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "info", str(tmp_path / "endless.npz")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "error: interrupted\n"


def test_a_reader_that_leaves_early_is_no_error(packed):
    code = "from superproto.cli import main; main()"
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", code, "info", str(packed)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(writer)
    assert done.stderr == ""


def test_notes_are_one_line_each_and_none_beside_a_mistake(capsys):
    terminal.note("two\nlines")
    terminal.note("two lines")
    terminal.flush_notes()
    assert capsys.readouterr().err == "note: two lines\n"


def test_the_library_s_warnings_are_notes(call, packed):
    code, out, err = call("evaluate", packed, "-p", "theta=1.0", "--json")
    assert code == 0
    assert all(line.startswith("note: ") for line in err.splitlines())
    assert any("as many super-prototypes as classes" in line for line in json.loads(out)["notes"])
    assert "as many super-prototypes as classes" in err


def test_json_has_null_where_there_is_no_number(capsys):
    terminal.show_json({"a": np.float32(0.5), "b": float("nan"), "c": (1, np.arange(2)), "d": np.bool_(True)})
    assert json.loads(capsys.readouterr().out) == {"a": 0.5, "b": None, "c": [1, [0, 1]], "d": True}


def test_the_shell_completes_verbs_and_methods():
    zsh = {"_SUPERPROTO_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "superproto eval"}
    assert "evaluate" in shell(**zsh).stdout
    zsh["_TYPER_COMPLETE_ARGS"] = "superproto evaluate x.npz --method esz"
    assert "eszsl" in shell(**zsh).stdout


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
    call("compare", packed, "--methods", "prototypes,eszsl", "--record", path)
    records = read_records(path)
    assert [record.method for record in records] == ["prototypes", "prototypes", "eszsl"]
    assert records[0].scores["per_class_accuracy"] == json.loads(out)["per_class_accuracy"]
    assert records[0].key == records[1].key


def test_a_pool_without_labels_cannot_be_scored(call, mistake, files):
    inputs = ("--features", files / "x.npy", "--labels", files / "y.csv", "--classes", files / "classes.csv")
    assert call("pack", *inputs, "-o", files / "own.npz")[0] == 0
    assert "is unknown, so there is nothing to score" in mistake("evaluate", files / "own.npz")
    assert "is unknown, so there is nothing to score" in mistake("compare", files / "own.npz", "--methods", "eszsl")


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
def test_compare_shows_the_figures_of_evaluate_and_their_differences(call, packed, setting):
    code, out, _ = call("compare", packed, "--methods", "eszsl, prototypes,eszsl", "--setting", setting, "--json")
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
    assert "cannot be written" in mistake("pack", *inputs, "-o", files / "none" / "own.npz")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cub_efficientnet_lite0", "flo_efficientnet_lite0", "awa1_handcrafted_pca512"])
def test_a_real_pack_is_evaluated(call, pack, name):
    code, out, _ = call("evaluate", pack(name), "-m", "eszsl", "--json")
    assert code == 0
    assert json.loads(out)["per_class_accuracy"] > 0.3


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs the processor time of a child process")
def test_cub_from_a_cold_start_takes_less_than_thirty_seconds_of_one_core(pack):
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
