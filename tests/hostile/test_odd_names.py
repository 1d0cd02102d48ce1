"""Classes, samples and files with odd names: bytes, halves of characters, control characters, line breaks."""

from __future__ import annotations

import csv
import os

import numpy as np
import pytest

from builders import described_task
from superproto.cli import exit_codes
from superproto.datasets import pack_arrays
from superproto.datasets.packs import write_pack

TASK = described_task()
SPLIT = np.where(TASK.asked, "test", "train")
KINDS = {
    "UTF-8 bytes": lambda i: f"vögel {i}".encode(),
    "Latin-1 bytes": lambda i: f"vögel {i}".encode("latin-1"),
    "half of a character": lambda i: f"bird \ud800 {i}",
    "escape sequence": lambda i: f"\x1b[2J\x07bird {i}",
    "line breaks": lambda i: f"bird\r\n{i}",
    "formula": lambda i: f"=HYPERLINK({i})",
    "right to left": lambda i: f"\u202ebird {i}",
    "markup": lambda i: f"<script>{i}</script>&\"'",
    "commas and quotes": lambda i: f'a,"b",{i}',
    "long": lambda i: f"{i}" + "x" * 5000,
    "one letter apart": lambda i: "a" * (i + 1),
}


@pytest.fixture
def odd_pack(tmp_path):
    def make(name_of):
        names = np.array([f"class {i}" for i in range(len(TASK.class_names))])
        path = tmp_path / "p.npz"
        ids = np.array([f"s{i}" for i in range(len(TASK.X))])
        write_pack(path, pack_arrays(TASK.X, names[TASK.truth], TASK.semantics, names, split=SPLIT, ids=ids))
        with np.load(path) as file:
            arrays = dict(file)
        arrays["class_names"] = np.array([name_of(i) for i in range(len(names))])
        arrays["ids"] = np.array([name_of(i) for i in range(len(ids))])
        np.savez(path, **arrays)
        return path

    return make


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_odd_names_pass_every_verb_and_reach_no_terminal(kind, odd_pack, tmp_path, capsys):
    pack, model, table = odd_pack(KINDS[kind]), tmp_path / "m.model", tmp_path / "labels.csv"
    for line in (
        ("info", pack),
        ("fit", pack, "-m", "cdl", "--no-rejection", "-o", model),
        ("predict", model, pack, "-o", table),
        ("report", model, "--pack", pack, "-o", tmp_path / "page.html"),
        ("evaluate", pack, "-m", "cdl", "--record", tmp_path / "r.jsonl"),
        ("report", tmp_path / "r.jsonl", "-o", tmp_path / "records.html"),
    ):
        code = exit_codes.run_command([str(word) for word in line])
        out, err = capsys.readouterr()
        assert code == 0, err
        assert all(letter.isprintable() or letter in "\n\t" for letter in out + err)
    with table.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.reader(handle))
    assert [len(row) for row in rows] == [5] * (1 + len(TASK.X))
    assert not [cell for row in rows for cell in row[:2] if cell[:1] in tuple("=@")]
    assert "<script" not in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="names of POSIX")
@pytest.mark.parametrize("name", [b"\xff\xfe", b"a\nb\x1b", b"-o", b"x" * 200, "vögel 🐦".encode()])
def test_files_may_have_odd_names(name, odd_pack, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pack, odd = odd_pack(lambda i: f"bird {i}"), "./" + os.fsdecode(name)
    os.link(pack, odd + ".npz")
    for line in (
        ("fit", odd + ".npz", "-m", "eszsl", "--no-rejection", "-o", odd + ".model"),
        ("predict", odd + ".model", odd + ".npz", "-o", odd + ".csv"),
        ("report", odd + ".model", "-o", odd + ".html"),
        ("evaluate", odd + ".npz", "-m", "eszsl", "--record", odd + ".jsonl"),
        ("report", odd + ".jsonl", "-o", odd + ".html"),
    ):
        code = exit_codes.run_command([str(word) for word in line])
        out, err = capsys.readouterr()
        assert code == 0, err
        assert all(letter.isprintable() or letter in "\n\t" for letter in out + err)
