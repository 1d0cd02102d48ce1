"""The class docstrings of the methods have one form, and say of the parameters what the constructor says."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

import pytest

from superproto.baselines import METHODS
from superproto.baselines.base import Baseline
from superproto.baselines.deep.base import DeepBaseline
from superproto.baselines.deep.synthesis import GenerativeBaseline

OWN = [name for name in METHODS if METHODS[name].__module__.startswith("superproto.baselines")]
HEADING = re.compile(r"^(\w+)\n-+$", re.MULTILINE)


def sections(kind: type) -> dict[str, str]:
    """The text under each heading; that before the first heading is called "Summary"."""
    parts = HEADING.split(inspect.cleandoc(kind.__doc__ or ""))
    return {"Summary": parts[0], **dict(zip(parts[1::2], parts[2::2]))}


def entries(text: str) -> Iterator[tuple[list[str], str]]:
    """The names and the type of each entry of a list of parameters."""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            names, _, kind = line.partition(" : ")
            yield names.split(", "), kind


@pytest.mark.parametrize("name", OWN)
def test_a_docstring_has_a_summary_a_description_parameters_and_references(name: str) -> None:
    found = sections(METHODS[name])
    summary, *description = found["Summary"].strip().split("\n\n")
    assert re.fullmatch(r"[^\n]+\.", summary)
    assert description
    order = ["Summary", "Parameters", "Attributes", "Notes", "References"]
    assert list(found) == [heading for heading in order if heading in found]
    assert {"Parameters", "References"} <= set(found)


@pytest.mark.parametrize("name", OWN)
def test_a_docstring_names_every_parameter_once_in_any_order(name: str) -> None:
    named = [parameter for names, _ in entries(sections(METHODS[name])["Parameters"]) for parameter in names]
    assert sorted(named) == sorted(inspect.signature(METHODS[name]).parameters)


@pytest.mark.parametrize("kind", [*(METHODS[name] for name in OWN), Baseline, DeepBaseline, GenerativeBaseline])
def test_documented_defaults_are_those_of_the_constructor(kind: type) -> None:
    accepted = inspect.signature(kind).parameters
    for names, told in entries(sections(kind)["Parameters"]):
        if told:
            default = ast.literal_eval(told.rpartition("default=")[2])
            assert [accepted[name].default for name in names] == [default] * len(names), names
