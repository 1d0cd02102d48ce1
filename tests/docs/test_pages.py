"""The Python of every page runs as it stands, block after block; sessions (``>>>``) print what the page says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^```python\n(.*?)^```", re.S | re.M)


def blocks_of(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


PAGES = [page for page in (*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))) if blocks_of(page)]


def run_block(block: str, name: str, names: dict[str, Any]) -> None:
    """Run a block with the names of those before it; compare what a session prints."""
    if ">>>" not in block:
        exec(compile(block, name, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block, names, name, name, 0)
    told: list[str] = []
    results = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append, clear_globs=False)
    assert not results.failed, "".join(told)
    names.update(test.globs)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_code_on_a_page_runs(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for number, block in enumerate(blocks_of(page), start=1):
        try:
            run_block(block, f"{page.name}, block {number}", names)
        except ModuleNotFoundError as error:
            pytest.skip(f"needs {error.name}: make test-extras")


def test_the_pages_with_code_are_found():
    assert {"README.md", "accuracy.md", "choosing.md"} <= {page.name for page in PAGES}


@pytest.mark.parametrize("number", range(len(blocks_of(ROOT / "README.md"))))
def test_each_block_of_the_readme_runs_alone(number, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_block(blocks_of(ROOT / "README.md")[number], f"README.md, block {number + 1}", {"__name__": "page"})


def test_the_readme_says_how_long_its_commands_take():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    timed = [line for line in lines if re.match(r"\$ make (demo|test)\b", line)]
    assert len(timed) == 2
    assert all(re.search(r"\d+ to \d+ minutes", line) for line in timed)


def test_readme_s_first_words_come_true(capsys):
    exec(blocks_of(ROOT / "README.md")[0], {})
    said = re.match(r"(\d+)% of (\d+) pictures", capsys.readouterr().out)
    assert int(said.group(1)) > 90
