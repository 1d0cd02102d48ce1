"""The examples in the docstrings of the package print what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import superproto

PACKAGE = Path(superproto.__file__).parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def module_name(path: Path) -> str:
    return ".".join(("superproto", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


MODULES = [module_name(path) for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        pytest.skip(f"needs {error.name}: make test-extras")
    told: list[str] = []
    finder, runner = doctest.DocTestFinder(exclude_empty=True), doctest.DocTestRunner(optionflags=FLAGS)
    for test in finder.find(module, name):
        runner.run(test, out=told.append)
    assert not runner.failures, "".join(told)
    assert runner.tries > 0


def test_modules_with_examples_are_found():
    assert {"superproto.metrics", "superproto.hpl.estimator"} <= set(MODULES)
