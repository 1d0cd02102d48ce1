"""Options that several verbs share, declared once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from superproto.errors import UserError


class Setting(str, Enum):
    zsl = "zsl"
    gzsl = "gzsl"


class Protocol(str, Enum):
    ps = "ps"
    ss = "ss"


class Split(str, Enum):
    test = "test"
    val = "val"


def read_params(pairs: Iterable[str] | None, file: Path | None, method: str) -> tuple[dict[str, Any], str | None]:
    """The parameters of --params and --param (which wins), and how they were chosen, if the file says so.

    The file is a JSON object: {name: value}, or what `tune` writes: {"method": ..., "params": {name: value}, ...}.
    """
    params, chosen = ({}, None) if file is None else _params_file(file, method)
    for pair in pairs or ():
        name, sign, text = pair.partition("=")
        if not sign or not name.strip():
            raise UserError(f"--param {pair} is not NAME=VALUE. Write it as rho=0.6.")
        params[name.strip()] = _value(text.strip())
        chosen = None if chosen is None else f"{chosen}, then given on the command line"
    return params, chosen


def _params_file(file: Path, method: str) -> tuple[dict[str, Any], str | None]:
    from superproto.files import existing_file

    file = existing_file(file)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file} is not JSON ({error}).") from None
    if not isinstance(content, dict):
        raise UserError(f"{file} must hold a JSON object, as {{'rho': 0.6}}.")
    if not isinstance(content.get("params"), dict):
        return content, None
    if content.get("method", method) != method:
        raise UserError(f"{file} has parameters of {content['method']}, not of {method}. Give --method to match.")
    searched = f"tuned on held-out seen classes of {content.get('task')} ({content.get('setting')})"
    return dict(content["params"]), searched if "folds" in content else f"from {file.name}"


def _value(text: str) -> Any:
    """A number, true, false, none or a JSON list as such; anything else is a word."""
    try:
        return json.loads({"True": "true", "False": "false", "None": "null", "none": "null"}.get(text, text))
    except ValueError:
        return text


def _complete_method(incomplete: str) -> list[str]:
    from superproto.baselines.registry import METHODS

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
