"""Plans: one reader, errors that name what is wrong, and plans that come with the installed package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from superproto.baselines.registry import METHODS
from superproto.errors import UserError
from superproto.experiments.plans import read_leaderboard_plan, read_plan, read_toml

ROOT = Path(__file__).parents[2]
LEADERBOARD = """
groups.inductive = ["prototypes", "ale"]
groups.transductive = ["kmeans", "hpl"]
seeds = 3
chance = ["ale"]
limit = 300
folds = 2
untuned = ["hpl"]
data = [{ title = "Small", find = "small.npz", dataset = "small", features = "drawn" }]
parts = [
  { data = "small.npz", features = "whitened", trials = 2, seconds = 60 },
  { data = "small.npz", features = "raw" },
]
skips = [{ method = "hpl", features = "raw", reason = "it whitens by itself" }]
"""


def test_the_plan_has_every_method_on_four_data_sets_raw_and_whitened() -> None:
    plan = read_leaderboard_plan()
    assert sorted(plan.methods) == sorted(METHODS)
    assert len(plan.data) == 4
    assert {(part.data, part.features) for part in plan.parts} == {
        (data, kind) for data in plan.data for kind in ("raw", "whitened")
    }
    assert plan.seeds == 6
    assert all(part.trials <= 8 and part.seconds <= 60 for part in plan.parts)
    assert all(skip.reason for skip in plan.skips)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"kmeans"', '"kmean"', "no method 'kmean'. Did you mean 'kmeans'?"),
        ("folds = 2", "", "has no 'folds'"),
        ('features = "raw" }', 'features = "unit" }', "features = 'unit' is not known"),
        ('{ data = "small.npz"', '{ data = "smal.npz"', "has no data set 'smal.npz'. Did you mean 'small.npz'?"),
        ('reason = "', 'because = "', "has an entry that is not known"),
        ("seeds = 3", "seeds = ", "is not valid TOML"),
    ],
)
def test_a_wrong_plan_is_told_by_what_is_wrong_with_it(tmp_path: Path, old: str, new: str, says: str) -> None:
    (tmp_path / "plan.toml").write_text(LEADERBOARD.replace(old, new, 1))
    with pytest.raises(UserError, match=says):
        read_leaderboard_plan(tmp_path / "plan.toml")


def test_a_broken_plan_is_named(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text("data = [", encoding="utf-8")
    with pytest.raises(UserError, match=r"plan\.toml is not valid TOML"):
        read_toml(tmp_path / "plan.toml")
    with pytest.raises(UserError, match=r"missing\.toml cannot be read"):
        read_toml(tmp_path / "missing.toml")


def test_a_data_set_is_described_once_and_named_by_its_file_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(LEADERBOARD)
    plan = read_leaderboard_plan(tmp_path / "plan.toml")
    assert all(part.data == plan.data[0] for part in plan.parts)
    assert plan.titles == {
        "prototypes": "inductive",
        "ale": "inductive",
        "kmeans": "transductive",
        "hpl": "transductive",
    }
    assert [plan.seeds_of(method) for method in ("ale", "hpl")] == [range(3), range(1)]
    assert [part.trials for part in plan.parts] == [2, 0]


def test_every_method_that_a_plan_names_is_there(tmp_path: Path) -> None:
    text = (
        (ROOT / "benchmarks" / "paper.toml").read_text(encoding="utf-8").replace('method = "hpl1"', 'method = "hpl0"')
    )
    (tmp_path / "paper.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"paper\.toml: there is no method 'hpl0'"):
        read_plan(tmp_path / "paper.toml")


def test_every_plan_is_installed_with_the_package() -> None:
    included = read_toml(ROOT / "pyproject.toml")["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    plans = {f"benchmarks/{plan.name}" for plan in (ROOT / "benchmarks").glob("*.toml")}
    assert set(included) == {*plans, "benchmarks/leaderboard.jsonl"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as a wheel installs it: sources and plans, no checkout around them."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "src" / "superproto", site / "superproto", ignore=shutil.ignore_patterns("__pycache__"))
    (site / "superproto" / "benchmarks").mkdir()
    for file in (*(ROOT / "benchmarks").glob("*.toml"), ROOT / "benchmarks" / "leaderboard.jsonl"):
        shutil.copy(file, site / "superproto" / "benchmarks")
    return site


OUTSIDE = """
import contextlib, io, json, sys
from superproto.cli.exit_codes import run_command
found = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = run_command(arguments)
    found.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(found))
"""


def test_a_verb_outside_a_checkout_says_what_to_give_and_writes_nothing(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").touch()
    before = sorted(installed.rglob("*"))
    cases = {
        "research leaderboard --run --data .": "Give --records",
        "research ablation --data .": "--output",
        "research robustness r.jsonl": "--output",
    }
    shown = ["research leaderboard --records r.jsonl --setting zsl", "research leaderboard --setting zsl"]
    command = [sys.executable, "-c", OUTSIDE, json.dumps([line.split() for line in (*cases, *shown)])]
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    *refused, (code, leaderboard, _), (shipped_code, shipped, _) = json.loads(done.stdout)
    for says, (failure, _, error) in zip(cases.values(), refused):
        assert failure == 2
        assert says in error
        assert len(error.splitlines()) == 1
    assert code == 0
    assert "not run" in leaderboard
    assert shipped_code == 0
    assert "≈" in shipped
    assert sorted(installed.rglob("*")) == before
    assert [path.name for path in tmp_path.iterdir()] == ["r.jsonl"]
