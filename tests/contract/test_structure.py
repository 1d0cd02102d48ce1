"""The structure of the package: few entries, short modules, one home for each name, layers without exceptions."""

from __future__ import annotations

import ast
import importlib
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from superproto.baselines import METHODS
from superproto.baselines.registry import DEEP

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "superproto"
MODULES = sorted(PACKAGE.rglob("*.py"))
# Variants share the file of the method that they vary.
SHARED_FILES = {
    "gfzsl-em": "superproto.baselines.gfzsl",
    "bmvsc": "superproto.baselines.wdvsc",
    "cdvsc": "superproto.baselines.wdvsc",
    "hpl": "superproto.hpl.estimator",
    "hpl-published": "superproto.baselines.published_hpl",
    "hpl1": "superproto.baselines.published_hpl",
}


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def public_definitions(path: Path) -> Iterator[str]:
    """Names of the classes, functions and type aliases that a module defines at its top level."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names: list[str] = []
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        yield from (name for name in names if not name.startswith("_"))


def test_the_package_has_at_most_fifteen_entries():
    entries = sorted(path.name for path in PACKAGE.iterdir() if path.name not in ("__pycache__", "py.typed"))
    assert len(entries) <= 15, entries


def test_no_module_exceeds_four_hundred_lines():
    lengths = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert not {name: length for name, length in lengths.items() if length > 400}


def test_no_module_is_a_catch_all():
    vague = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert not [relative(path) for path in (*MODULES, *PACKAGE.rglob("*/")) if path.stem.strip("_") in vague]


def test_no_public_name_is_defined_in_two_modules():
    homes = defaultdict(list)
    for path in MODULES:
        for name in set(public_definitions(path)):
            homes[name].append(relative(path))
    assert not {name: places for name, places in homes.items() if len(places) > 1}


@pytest.mark.parametrize("key", METHODS)
def test_the_file_of_a_baseline_bears_its_name(key):
    expected = SHARED_FILES.get(key, f"superproto.baselines.{'deep.' * (key in DEEP)}{key.replace('-', '_')}")
    assert METHODS[key].__module__ == expected


def test_layers_need_no_imports_for_type_checking_alone():
    inner = [path for path in MODULES if relative(path).split("/")[0] in ("hpl", "estimator", "samples")]
    assert inner
    assert not [relative(path) for path in inner if "TYPE_CHECKING" in path.read_text(encoding="utf-8")]


def test_the_layers_are_exhaustive_and_have_no_exception():
    tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    assert settings["exclude_type_checking_imports"] is False
    layered = [contract for contract in settings["contracts"] if contract["type"] == "layers"]
    assert layered
    assert all(contract["exhaustive"] is True for contract in layered)
    assert not [contract["name"] for contract in settings["contracts"] if contract.get("ignore_imports")]


def test_no_test_module_imports_another():
    imported = [
        (path.relative_to(ROOT).as_posix(), name)
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
        if name.rpartition(".")[2].startswith("test_")
    ]
    assert not imported
