"""Every block of code on every page is executed in order: Python as it stands, commands beside the files they name."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import pytest

from docs.code_blocks import PAGES, ROOT, Block, blocks_of, name_of
from superproto.cli.exit_codes import run_command

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# What is not run here, and where it is.
ELSEWHERE = {
    "demo": "tests/cli and tests/reporting run the demo, which takes a minute",
    "explore": "tests/explorer: the page is served until it is stopped",
    "export": "tests/explorer: it needs answers that a person gave on the page",
    "research": "tests/experiments: the studies take hours",
}
# Verbs and options that need optional packages: those of pictures, and pyarrow.
NEED_EXTRAS = ("embed", "describe", "label", "--parts")
# Encoders that need packages of their own.
OTHER_ENCODERS = ("efficientnet-lite1", "efficientnet-lite2", "open_clip", "timm", "hf:")
WITH_CODE = [page for page in PAGES if any(block.language in ("python", "console") for block in blocks_of(page))]


def needs_extra(page: Path) -> bool:
    """Whether a block needs an optional package."""
    blocks = blocks_of(page)
    words = [word for block in blocks for command in commands_of(block) for word in command.split()]
    return any(block.needs_extra for block in blocks) or any(word in NEED_EXTRAS for word in words)


def commands_of(block: Block) -> list[str]:
    """What follows `$ superproto` in a block of commands."""
    found = re.findall(r"^\$ superproto (.*)$", block.code, re.M) if block.language == "console" else []
    return [command.partition("  #")[0].strip() for command in found]


def run_python(block: Block, name: str, names: dict[str, Any]) -> None:
    """Run a block with the names of those before it; compare what it prints."""
    if ">>>" in block.code:
        test = doctest.DocTestParser().get_doctest(block.code, names, name, name, 0)
        told: list[str] = []
        results = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append, clear_globs=False)
        assert not results.failed, "".join(told)
        names.update(test.globs)
        return
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.code, name, "exec"), names)
    if block.prints is not None:
        same = doctest.OutputChecker().check_output(block.prints, printed.getvalue(), FLAGS)
        assert same, f"{name} prints\n{printed.getvalue()}instead of\n{block.prints}"


def run_commands(block: Block, name: str, *, with_extras: bool) -> None:
    for command in commands_of(block):
        words = shlex.split(command)
        skipped = words[0] in ELSEWHERE or (not with_extras and any(word in NEED_EXTRAS for word in words))
        if skipped or any(other in command for other in OTHER_ENCODERS) or "--images" in words:
            continue
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore", UserWarning)
            assert run_command(words) == 0, f"{name}: superproto {command}"


def run_page(page: Path, *, extras: bool) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for number, block in enumerate(blocks_of(page), start=1):
        name = f"{page.name}, block {number}"
        if block.language == "console":
            run_commands(block, name, with_extras=extras)
        elif block.language == "python" and (extras or not block.needs_extra):
            run_python(block, name, names)


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_the_code_on_a_page_runs(page: Path, workspace: Path) -> None:
    run_page(page, extras=False)


@pytest.mark.extra
@pytest.mark.parametrize("page", [page for page in WITH_CODE if needs_extra(page)], ids=name_of)
def test_the_code_on_a_page_runs_with_optional_packages(page: Path, pictures: Path) -> None:
    run_page(page, extras=True)


def test_pages_use_known_languages_for_code() -> None:
    languages = {block.language for page in PAGES for block in blocks_of(page)}
    assert languages <= {"python", "console", "text"}


def test_the_pages_with_code_are_found() -> None:
    assert {"README.md", "getting-started.md", "tuning.md", "add-a-method.md"} <= {page.name for page in WITH_CODE}


PYTHON_OF_README = [block for block in blocks_of(ROOT / "README.md") if block.language == "python"]


@pytest.mark.parametrize("number", range(len(PYTHON_OF_README)))
def test_each_block_of_the_readme_runs_alone(number: int, workspace: Path) -> None:
    run_python(PYTHON_OF_README[number], f"README.md, block {number + 1}", {"__name__": "page"})


def test_other_commands_on_pages_are_targets_extras_or_installations() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for page in PAGES:
        for block in blocks_of(page):
            for line in re.findall(r"^\$ (.*)$", block.code, re.M) if block.language == "console" else []:
                words = line.split()
                if words[0] == "make":
                    assert words[1] in targets, f"{name_of(page)}: {line}"
                else:
                    assert words[0] in ("superproto", "pip", "git", "bash", "source"), f"{name_of(page)}: {line}"


def test_the_readme_says_how_long_its_commands_take() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    timed = [line for line in lines if re.match(r"\$ make (demo|test)\b", line)]
    assert len(timed) == 2
    assert all(re.search(r"\d+ to \d+ minutes", line) for line in timed)
