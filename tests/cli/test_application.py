"""The application: help, usage, exit codes, notes, completion."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from superproto.cli import exit_codes, terminal
from superproto.cli.app import app, complete_app, research_app


def test_help_loads_no_heavy_package():
    heavy = ("sklearn", "scipy", "matplotlib", "numpy", "pandas", "torch", "optuna", "jinja2")
    code = f"""
import sys
import superproto
from superproto.cli.exit_codes import run_command as run
asked = (["--help"], ["evaluate", "--help"], ["report", "--help"], ["research", "docs", "--help"], ["--version"])
assert [run(arguments) for arguments in asked] == [0] * len(asked)
print("loaded:", [name for name in {heavy} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "loaded: []\n"


def test_help_has_a_panel_for_each_group(call):
    _, out, _ = call("--help")
    verbs = {
        "Start": ["demo"],
        "Data": ["pack", "info", "attributes", "embed", "describe"],
        "Model": ["label", "explore", "export", "fit", "predict", "tune", "report"],
        "Score": ["evaluate", "compare", "methods"],
        "Research": ["research"],
    }
    found = {}
    for line in out.splitlines():
        title = re.match(r"╭─ (\w+) ─", line)
        verb = re.match(r"│ ([a-z]+) ", line)
        if title:
            found[title.group(1)] = group = []
        elif verb:
            group.append(verb.group(1))
    assert {title: found[title] for title in verbs} == verbs
    assert list(found) == ["Options", *verbs]


def test_no_function_of_a_verb_has_the_name_of_a_library_function():
    complete_app()
    for command in (*app.registered_commands, *research_app.registered_commands):
        assert command.callback.__name__ == f"{command.name}_verb"


def test_every_verb_teaches_with_an_example(call):
    complete_app()
    verbs = [[command.name] for command in app.registered_commands]
    verbs += [["research", command.name] for command in research_app.registered_commands]
    assert len(verbs) == 22
    for verb in verbs:
        code, out, _ = call(*verb, "--help")
        assert code == 0
        assert f"superproto {' '.join(verb)}" in out.partition("Example")[2], f"{verb} --help has no example"


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


def test_a_ctrl_c_that_python_drops_is_sent_again():
    """In a destructor Python prints a traceback for it and goes on: three in a row still stop the command."""
    code = """
import signal, sys, time
from superproto.cli import exit_codes
signal.signal(signal.SIGINT, signal.default_int_handler)
class Late:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def busy(arguments):
    for _ in range(3):
        Late()
    time.sleep(30)
exit_codes._call = busy
sys.exit(exit_codes.run_command(["methods"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=25, check=False)
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


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


def test_json_has_null_where_there_is_no_number(capsys):
    terminal.show_json({"a": np.float32(0.5), "b": float("nan"), "c": (1, np.arange(2)), "d": np.bool_(True)})
    assert json.loads(capsys.readouterr().out) == {"a": 0.5, "b": None, "c": [1, [0, 1]], "d": True}


def test_the_shell_completes_verbs_and_methods(shell):
    zsh = {"_SUPERPROTO_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "superproto eval"}
    assert "evaluate" in shell(**zsh).stdout
    zsh["_TYPER_COMPLETE_ARGS"] = "superproto evaluate x.npz --method esz"
    assert "eszsl" in shell(**zsh).stdout


def test_escape_sequences_and_half_characters_do_not_reach_the_terminal(capsys):
    from superproto.cli import terminal

    terminal.note("a \x1b[2J note")
    terminal.show("a \x1b]0;title\x07 line \ud800")
    terminal.show_table(["name"], [["\x1b[31mred"]], title="\x9b")
    terminal.show_json({"name": "\ud800"})
    out, err = capsys.readouterr()
    assert not set("\x1b\x07\x9b\ud800") & set(out + err)


def test_a_reader_that_has_seen_enough_and_a_closed_output_are_no_errors(tmp_path):
    command = f"{sys.executable} -c 'from superproto.cli import main; main()' methods"
    for line, code in (
        (f"bash -c 'set -o pipefail; {command.replace(chr(39), chr(34))} | head -c 1'", 0),
        (f"{command} >&-", 0),
    ):
        done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (code, ""), line


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_is_a_mistake_in_one_line():
    line = f"{sys.executable} -c 'from superproto.cli import main; main()' methods >/dev/full"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_a_deeply_nested_parameter_is_a_mistake(mistake, packed):
    mistake("evaluate", packed, "-p", "rho=" + "[" * 100_000)
