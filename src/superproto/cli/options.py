"""Options that several verbs share, declared once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "AsJson",
    "Attributes",
    "Inductive",
    "Method",
    "PackPath",
    "Param",
    "ParamsFile",
    "Protocol",
    "ProtocolOption",
    "Seed",
    "Setting",
    "SettingOption",
    "Split",
    "SplitOption",
    "nearest",
]


class Setting(str, Enum):
    zsl = "zsl"
    gzsl = "gzsl"


class Protocol(str, Enum):
    ps = "ps"
    ss = "ss"


class Split(str, Enum):
    test = "test"
    val = "val"


def nearest(name: str, known: Iterable[str]) -> str:
    """The cure for a misspelt name: the nearest known one, or all of them."""
    known = list(known)
    near = difflib.get_close_matches(name, known, 1)
    return f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(known)}."


def _complete_method(incomplete: str) -> list[str]:
    from superproto.baselines import METHODS

    return [name for name in METHODS if name.startswith(incomplete)]


PackPath = Annotated[
    Path, typer.Argument(metavar="PACK", help="A pack (.npz), or an xlsa17 folder (res101.mat and att_splits.mat).")
]
Method = Annotated[
    str, typer.Option("--method", "-m", help="Name of the method.", autocompletion=_complete_method, metavar="NAME")
]
SettingOption = Annotated[
    Setting, typer.Option("--setting", help="zsl: among the unseen classes. gzsl: among all classes.")
]
ProtocolOption = Annotated[Protocol, typer.Option("--protocol", help="ps: proposed split. ss: standard split.")]
SplitOption = Annotated[Split, typer.Option("--split", help="test, or val: the classes kept for choosing parameters.")]
Inductive = Annotated[
    bool,
    typer.Option("--inductive", help="Learn from labeled samples alone; the pool comes after fitting."),
]
Param = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", metavar="NAME=VALUE", help="A parameter of the method, as rho=0.6; repeatable."),
]
ParamsFile = Annotated[
    Path | None, typer.Option("--params", metavar="FILE", help="Parameters from a JSON file, as `tune` writes it.")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of whatever is drawn.", min=0)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Attributes = Annotated[
    str, typer.Option("--attributes", metavar="NAME", help="The array of descriptions: att or original_att.")
]
