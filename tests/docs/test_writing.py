"""Pages are readable, have no figure that was typed by hand, and decisions name their evidence."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from docs.code_blocks import PAGES, ROOT, name_of
from superproto.baselines import METHODS

HOOKS = ROOT / "docs" / "hooks"
DECISIONS = sorted((ROOT / "docs" / "development" / "decisions").glob("[0-9]*.md"))
NO_PROSE = re.compile(r"<!-- generated:([\w-]+) -->.*?<!-- /generated:\1 -->|^( *)```.*?^\2```|`[^`\n]*`", re.S | re.M)
# Levels of tests and intervals, and constants of the model: no measurements.
LEVELS = {"95 %", "5 %", "3 %"}
MEASURED = re.compile(r"\b\d+(?:\.\d+)? ?%|\b\d+(?:\.\d+)? points\b")


def hook(name: str) -> ModuleType:
    """A module beside the pages, which the site is built with."""
    found = importlib.util.spec_from_file_location(name, HOOKS / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_sentences_are_short(page: Path) -> None:
    assert not hook("readability").complaints(page)


def test_a_long_sentence_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    code = "\n```text\n" + "code " * 90 + "\n```\n"
    page.write_text("# Title\n\nShort one. Long" + " word" * 45 + ".\n" + code, encoding="utf-8")
    assert [len(line) > 0 for line in hook("readability").complaints(page)] == [True]
    page.write_text("Word " * 30 + ".\n", encoding="utf-8")
    assert hook("readability").complaints(page)[0].endswith("30.0 words a sentence on average, 22 at most")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_figure_is_typed_by_hand(page: Path) -> None:
    prose = NO_PROSE.sub("", page.read_text(encoding="utf-8"))
    assert set(MEASURED.findall(prose)) <= LEVELS


@pytest.mark.parametrize("page", DECISIONS, ids=name_of)
def test_a_decision_is_one_screen_with_evidence(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^\*\*(\w+)\.\*\*", text, re.M)
    assert found == ["Context", "Decision", "Evidence", "Consequences", "Status"]
    evidence = text[text.index("**Evidence.**") : text.index("**Consequences.**")]
    sources = re.findall(r"`((?:benchmarks|tests)/[\w./]+)`", evidence)
    assert sources
    assert all((ROOT / source).exists() for source in sources)
    written = NO_PROSE.sub("", text)
    assert len(written.split()) < 260


def test_every_decision_is_listed() -> None:
    index = (DECISIONS[0].parent / "index.md").read_text(encoding="utf-8")
    assert all(f"]({page.name})" in index for page in DECISIONS)


def test_the_generated_pages_have_every_method_and_every_command() -> None:
    pages = dict(hook("generated_pages").generated_pages())
    assert {f"methods/{key}.md" for key in METHODS} <= set(pages)
    for verb in ("demo", "pack", "fit", "predict", "label", "explore", "research docs"):
        assert f"\n### {verb}\n" in pages["guide/command-line.md"]
    assert "| `--output, -o MODEL` | " in pages["guide/command-line.md"]
