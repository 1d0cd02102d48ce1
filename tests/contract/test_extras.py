"""Contract: what `pip install superproto[NAME]` brings is what the code imports."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
# Extras of those who work on the project: src imports none of their packages.
TOOLS = {"all", "test", "lint", "docs"}
MODULES = {"pillow": "PIL", "pot": "ot"}
# What the project itself is tested and documented with; the package imports none of it.
TOOLS = {"all", "test", "lint", "docs"}
CODE = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.py")))


def packages(extra: str) -> list[str]:
    return [re.match(r"[\w-]+", requirement).group(0).lower() for requirement in EXTRAS[extra]]


@pytest.mark.parametrize("extra", sorted(set(EXTRAS) - TOOLS))
def test_an_extra_installs_only_what_the_code_knows(extra):
    for package in packages(extra):
        module = MODULES.get(package, package.replace("-", "_"))
        known = re.search(rf"(?m)^\s*(?:import|from) {module}\b|[\"']{module}[\"'.]", CODE)
        assert known, f"superproto[{extra}] installs {package}, which no line of src uses"


def test_the_names_of_the_contract_are_there():
    assert {"tune", "frames", "scale", "torch", "docs", "all", "transport", "plots", "images"} <= set(EXTRAS)
    assert EXTRAS["transport"] == EXTRAS["plots"] == []


def test_all_has_every_extra_that_installs_something():
    [everything] = EXTRAS["all"]
    named = set(re.search(r"\[(.*)\]", everything).group(1).split(","))
    assert named == {name for name in EXTRAS if EXTRAS[name]} - TOOLS
