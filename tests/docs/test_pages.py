"""The Python of README and docs runs as it stands, block after block."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/accuracy.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_code_on_a_page_runs(page, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)
    assert blocks
    names = {}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"{page}, block {number}", "exec"), names)


def test_readme_s_first_words_come_true(capsys):
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    exec(block.group(1), {})
    said = re.match(r"(\d+)% of (\d+) pictures", capsys.readouterr().out)
    assert int(said.group(1)) > 90
