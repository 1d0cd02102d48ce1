"""The verb `methods`: every key of METHODS, one line each."""

from __future__ import annotations

import json
import re
from pathlib import Path

from superproto.baselines.registry import METHODS
from superproto.experiments.paper.published import read_toml

PLAN = Path(__file__).parents[2] / "benchmarks" / "leaderboard.toml"


def test_every_method_has_one_line(call):
    code, out, err = call("methods")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines] == list(METHODS)
    assert all(line.rstrip().endswith(".") for line in lines)


def test_json_has_the_same_with_names_for_the_fields(call):
    code, out, _ = call("methods", "--json")
    assert code == 0
    entries = {entry["name"]: entry for entry in json.loads(out)}
    assert list(entries) == list(METHODS)
    assert entries["eszsl"] == {
        "name": "eszsl",
        "kind": "inductive",
        "reference": "ICML 2015",
        "summary": "Embarrassingly simple zero-shot learning: a bilinear score learned by a ridge on both sides.",
    }
    assert all(20 < len(entry["summary"]) < 130 for entry in entries.values())
    assert all(re.fullmatch(r"|[\w. -]+ \d{4}", entry["reference"]) for entry in entries.values())
    assert [name for name, entry in entries.items() if not entry["reference"]] == [
        "prototypes",
        "kmeans",
    ]


def test_the_kinds_are_those_of_the_leaderboard(call):
    kinds = read_toml(PLAN)["groups"]
    found = json.loads(call("methods", "--json")[1])
    for entry in found:
        assert entry["name"] in kinds[entry["kind"]]


def test_listing_fits_nothing(call, monkeypatch):
    def broken(*_, **__):
        raise AssertionError("a fit")

    monkeypatch.setattr("superproto.baselines.base.Baseline.fit", broken)
    monkeypatch.setattr("superproto.hpl.estimator.HPL.fit", broken)
    assert call("methods")[0] == 0
