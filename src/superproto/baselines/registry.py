"""FIT: every method by its key in ``METHODS``: found, made with checked parameters, and read from a model file."""

from __future__ import annotations

import difflib
import importlib
import inspect
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from superproto.errors import UserError

_HOMES: dict[str, str] = {
    "prototypes": "superproto.baselines.prototypes:Prototypes",
    "zero-shot": "superproto.baselines.zero_shot:ZeroShot",
    "eszsl": "superproto.baselines.eszsl:ESZSL",
    "sae": "superproto.baselines.sae:SAE",
    "ale": "superproto.baselines.ale:ALE",
    "devise": "superproto.baselines.devise:DeViSE",
    "sje": "superproto.baselines.sje:SJE",
    "sync": "superproto.baselines.sync:SynC",
    "exem": "superproto.baselines.exem:EXEM",
    "cdl": "superproto.baselines.cdl:CDL",
    "capd": "superproto.baselines.capd:CAPD",
    "msplit-lbi": "superproto.baselines.msplit_lbi:MSplitLBI",
    "dap": "superproto.baselines.dap:DAP",
    "conse": "superproto.baselines.conse:ConSE",
    "gfzsl": "superproto.baselines.gfzsl:GFZSL",
    "gfzsl-em": "superproto.baselines.gfzsl:GFZSLEM",
    "mdp": "superproto.baselines.mdp:MDP",
    "kmeans": "superproto.baselines.kmeans:PrototypeKMeans",
    "label-spreading": "superproto.baselines.label_spreading:SeededSpreading",
    "zlap": "superproto.baselines.zlap:ZLaP",
    "transclip": "superproto.baselines.transclip:TransCLIP",
    "stata": "superproto.baselines.stata:StatA",
    "wdvsc": "superproto.baselines.wdvsc:WDVSc",
    "bmvsc": "superproto.baselines.wdvsc:BMVSc",
    "cdvsc": "superproto.baselines.wdvsc:CDVSc",
    "em-dirichlet": "superproto.baselines.em_dirichlet:EMDirichlet",
    "inmap": "superproto.baselines.inmap:InMaP",
    "dipl": "superproto.baselines.dipl:DIPL",
    "dsrl": "superproto.baselines.dsrl:DSRL",
    "tmv-hlp": "superproto.baselines.tmv_hlp:TMVHLP",
    "bidilel": "superproto.baselines.bidilel:BiDiLEL",
    "sp-zsr": "superproto.baselines.sp_zsr:SPZSR",
    "stzsl": "superproto.baselines.stzsl:STZSL",
    "tstd": "superproto.baselines.tstd:TSTD",
    "ale-trans": "superproto.baselines.ale_trans:ALETrans",
    "f-clswgan": "superproto.baselines.deep.f_clswgan:FCLSWGAN",
    "dcn": "superproto.baselines.deep.dcn:DCN",
    "se-zsl": "superproto.baselines.deep.se_zsl:SEZSL",
    "preser": "superproto.baselines.deep.preser:PreseR",
    "vzsl": "superproto.baselines.deep.vzsl:VZSL",
    "qfsl": "superproto.baselines.deep.qfsl:QFSL",
    "ganzrl": "superproto.baselines.deep.ganzrl:GANZrl",
    "cada-vae": "superproto.baselines.deep.cada_vae:CADAVAE",
    "f-vaegan-d2": "superproto.baselines.deep.f_vaegan_d2:FVAEGAND2",
    "hpl": "superproto.hpl.estimator:HPL",
    "hpl-published": "superproto.baselines.published_hpl:PublishedHPL",
    "hpl1": "superproto.baselines.published_hpl:HPL1",
}
# Methods that need torch to learn. Importing them, and answers of a fitted model, do not.
DEEP = tuple(key for key, home in _HOMES.items() if ".baselines.deep." in home)


class _Methods(Mapping[str, type]):
    """name -> class, importing a family's file on first use."""

    def __getitem__(self, name: str) -> type:
        module, _, attribute = _HOMES[name].partition(":")
        return getattr(importlib.import_module(module), attribute)

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


METHODS: Mapping[str, type] = _Methods()

# Not the user's to give as parameters: the task and the seed decide them.
FROM_THE_TASK = {"candidates": "It follows from the setting.", "random_state": "Give the seed instead."}
# How a fit is watched, not what it computes.
_WATCHING = ("verbose", "callback", "checkpoint")
_SIMPLE = (bool, int, float, str, NoneType)


def nearest(name: str, known: Iterable[str]) -> str:
    """The cure for a misspelt name: the nearest known one, or all of them."""
    known = list(known)
    near = difflib.get_close_matches(name.lower(), known, 1)
    return f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(known)}."


def find_method(name: str) -> type:
    """The class of a method."""
    if name not in METHODS:
        raise UserError(f"there is no method '{name}'. {nearest(name, METHODS)}")
    return METHODS[name]


def make_model(
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    candidates: str = "unseen",
    seed: int | None = 0,
    constants: Mapping[str, Any] | None = None,
) -> Any:
    """The method with these parameters, unfitted; names and types are checked here, ranges by `fit`.

    ``constants``: hand-set numbers of HPL, for an ablation.
    """
    kind: Any = find_method(method)
    kind = kind.with_constants(**constants) if constants else kind
    accepted = inspect.signature(kind).parameters
    # A dataclass has the types of its parameters on the class, where each base's names are looked up in its own module.
    hints = get_type_hints(kind if is_dataclass(kind) else kind.__init__)
    for name, value in (params or {}).items():
        if name in FROM_THE_TASK:
            raise UserError(f"{name} is not a parameter to choose. {FROM_THE_TASK[name]}")
        if name not in accepted:
            choices = [known for known in accepted if known not in (*FROM_THE_TASK, *_WATCHING)]
            raise UserError(f"{method} has no parameter '{name}'. {nearest(name, choices)}")
        _check_type(name, value, hints.get(name, Any))
    fixed = {"candidates": candidates, "random_state": seed}
    return kind(**{name: value for name, value in fixed.items() if name in accepted}, **(params or {}))


def load_model(path: str | os.PathLike[str]) -> Any:
    """The model that ``save`` wrote; a clear error for a file that is truncated, altered, foreign or too new.

    >>> from superproto import load_model
    >>> load_model("birds.model").predict(X_new)  # doctest: +SKIP
    """
    from superproto.estimator.model_file import read_model

    return read_model(path, _find_listed)


def _find_listed(key: str | None, class_name: str | None) -> type | None:
    """The class of a key, or of the class name in an older file; nothing that is not listed is ever imported."""
    if key is None:
        key = next((name for name, home in _HOMES.items() if home.endswith(f":{class_name}")), None)
    return METHODS[key] if key in _HOMES else None


def parameters_of(model: Any) -> dict[str, Any]:
    """Every parameter that decides the result, defaults included; the task's and the seed's are recorded apart."""
    return {
        name: _plain(value)
        for name, value in model.get_params(deep=False).items()
        if name not in (*FROM_THE_TASK, *_WATCHING)
    }


def _check_type(name: str, value: Any, wanted: Any) -> None:
    """Refuse a value that the parameter's annotation rules out; whole numbers are numbers, True is not."""
    kinds = get_args(wanted) if get_origin(wanted) in (Union, UnionType) else (wanted,)
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{name} is {value}, but it must be finite.")
    if any(get_origin(kind) is Callable for kind in kinds) and value is not None and not callable(value):
        raise UserError(f"{name} is {value!r}, but it must be a function. Give it in Python.")
    if not all(kind in _SIMPLE for kind in kinds):
        return
    accepted = {*kinds, *([int] if float in kinds else [])}
    if type(value) not in accepted and not (hasattr(value, "item") and type(value.item()) in accepted):
        words = {bool: "true or false", int: "a whole number", float: "a number", str: "a word", NoneType: "none"}
        raise UserError(f"{name} is {value!r}, but it must be {' or '.join(words[kind] for kind in kinds)}.")


def _plain(value: Any) -> Any:
    """What JSON can hold: numbers, words and lists as they are, anything else by its name."""
    if isinstance(value, _SIMPLE):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return type(value).__name__
