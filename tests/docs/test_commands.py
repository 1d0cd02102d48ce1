"""Every command that a page, a message or a plan shows exists, with every option that it is shown with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from superproto.cli.app import complete_app

ROOT = Path(__file__).parents[2]
COMMAND = re.compile(r"^\$ superproto (.*)$", re.M)
SHOWN = [
    (page.relative_to(ROOT).as_posix(), command.partition("  #")[0].strip())
    for page in (*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")))
    for command in dict.fromkeys(COMMAND.findall(page.read_text(encoding="utf-8")))
]
QUOTED = re.compile(r"`superproto ([^`{}]+)`")
SHOWN += [
    (place.relative_to(ROOT).as_posix(), command)
    for place in (*sorted((ROOT / "src").rglob("*.py")), *sorted((ROOT / "benchmarks").glob("*.toml")))
    for command in dict.fromkeys(QUOTED.findall(place.read_text(encoding="utf-8")))
    if not command.startswith("-") and command != "research"
]


@pytest.fixture(scope="module")
def program() -> Any:
    return typer.main.get_command(complete_app())


def test_pages_show_commands():
    assert len(SHOWN) > 10


@pytest.mark.parametrize(("page", "command"), SHOWN, ids=str)
def test_a_command_on_a_page_exists(page: str, command: str, program: Any):
    words, verb = command.split(), program
    while words and hasattr(verb, "commands") and words[0] in verb.commands:
        verb = verb.commands[words.pop(0)]
    assert verb is not program, f"{page} shows 'superproto {command}', but there is no such command"
    assert not hasattr(verb, "commands"), f"{page} shows 'superproto {command}', which lacks a command"
    known = {option for parameter in verb.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word.partition("=")[0] for word in words if word.startswith("-")} <= known
