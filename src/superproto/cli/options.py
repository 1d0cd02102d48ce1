"""Options that several verbs share, and functions that read parameters, load data sets and check outputs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superproto.cli import terminal
from superproto.errors import UserError

if TYPE_CHECKING:
    from superproto.datasets.task import Task


class Setting(str, Enum):
    """Zero-shot learning, or generalized zero-shot learning."""

    zsl = "zsl"
    gzsl = "gzsl"


class Protocol(str, Enum):
    """The proposed split, or the standard split."""

    ps = "ps"
    ss = "ss"


class Split(str, Enum):
    """The test classes, or the validation classes."""

    test = "test"
    val = "val"


class Preparation(str, Enum):
    """How `compare` prepares the features."""

    standard = "standard"
    whitened = "whitened"
    raw = "raw"
    own = "own"


def method_params(methods: list[str], pairs: Iterable[str] | None, features: str) -> dict[str, dict[str, Any]]:
    """Return the parameters of each method: whitening by --features, then the values of --param that apply to it.

    Raises for every wrong parameter, before any data are read.
    """
    from superproto.evaluation.own_methods import method_for

    models = {name: method_for(name) for name in methods}
    accepted = {
        name: model.get_params(deep=False) if hasattr(model, "get_params") else {} for name, model in models.items()
    }
    found: dict[str, dict[str, Any]] = {
        name: {"whiten": _is_whitened(features, models[name])}
        if features != "own" and "whiten" in accepted[name]
        else {}
        for name in methods
    }
    for pair in pairs or ():
        given, _ = read_params([pair], None, "")
        ((name, value),) = given.items()
        method, dot, own = name.rpartition(".")
        targets = [method] if dot else [known for known in methods if name in accepted[known]]
        if not targets or targets[0] not in found:
            raise UserError(
                f"--param {pair}: none of the methods {', '.join(methods)} has this parameter. "
                "Write it as METHOD.NAME=VALUE."
            )
        for known in targets:
            found[known][own] = value
    for name in methods:
        method_for(name, found[name])
    return found


def _is_whitened(features: str, model: Any) -> bool:
    raw = getattr(model, "compares_raw_features", False)
    return features == "whitened" or (features == "standard" and not raw)


def read_params(pairs: Iterable[str] | None, file: Path | None, method: str) -> tuple[dict[str, Any], str | None]:
    """Return the parameters of --params and --param, and how they were chosen if the file states it.

    --param overrides --params. The file is a JSON object {name: value}, or the result of `tune`:
    {"method": ..., "params": {name: value}, ...}.
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
    """Parse a value: a number, true, false, none or a JSON list; anything else stays text."""
    try:
        return json.loads({"True": "true", "False": "false", "None": "null", "none": "null"}.get(text, text))
    except (ValueError, RecursionError):
        return text


def _complete_method(incomplete: str) -> list[str]:
    from superproto.baselines.registry import METHODS

    return [name for name in METHODS if name.startswith(incomplete)]


def load_task(path: Path, setting: Setting, protocol: Protocol, attributes: str, split: Split = Split.test) -> Task:
    """Load the task of a data set; print its notes on standard error."""
    from superproto.datasets import load

    task = load(path, setting=setting.value, protocol=protocol.value, split=split.value, attributes=attributes)
    for line in task.notes:
        terminal.note(line)
    return task


def check_output(output: Path | None, *inputs: Path | None) -> None:
    """Raise before any work if the output cannot be written or would replace an input."""
    from superproto.files import check_writable, refuse_to_replace

    if output is not None:
        check_writable(output)
        refuse_to_replace(output, *inputs)


PackPath = Annotated[
    Path,
    typer.Argument(
        metavar="PACK",
        help="A data set: a pack (.npz) from `superproto pack`, or a folder with res101.mat and att_splits.mat.",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        help="The method; `superproto methods` lists them.",
        autocompletion=_complete_method,
        metavar="NAME",
    ),
]
SettingOption = Annotated[
    Setting,
    typer.Option("--setting", help="Classes an unlabeled sample can get. zsl: unseen classes only; gzsl: all classes."),
]
ProtocolOption = Annotated[
    Protocol, typer.Option("--protocol", help="Split of the classes. ps: proposed split; ss: standard split.")
]
SplitOption = Annotated[
    Split, typer.Option("--split", help="Classes to score. test: the unseen classes; val: the validation classes.")
]
Inductive = Annotated[
    bool, typer.Option("--inductive", help="Learn from the labeled samples only, without the unlabeled ones.")
]
Param = Annotated[
    list[str] | None,
    typer.Option(
        "--param", "-p", metavar="NAME=VALUE", help="Set a parameter of the method, for example rho=0.6. Repeatable."
    ),
]
ParamsFile = Annotated[
    Path | None,
    typer.Option("--params", metavar="FILE", help="Read parameters from a JSON file, such as the result of `tune`."),
]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.", min=0)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Attributes = Annotated[
    str,
    typer.Option("--attributes", metavar="NAME", help="The class descriptions of PACK to use: att or original_att."),
]
OpenPage = Annotated[bool, typer.Option("--open", help="Open the page in a browser after writing it.")]
DataFolder = Annotated[Path, typer.Option("--data", metavar="DIR", help="The folder with the data packs.")]
