"""Zero-shot recognition with hierarchical prototypes.

Public names load when they are first used, so that ``import superproto`` costs nothing.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

_HOMES = {
    "HPL": "superproto.hpl",
    "WithinClassWhitening": "superproto.whitening",
    "Task": "superproto.task",
    "UserError": "superproto.errors",
    "load_model": "superproto.persistence",
    "tune": "superproto.tuning",
}
_MODULES = ("baselines", "datasets", "metrics", "records", "report", "tuning")

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"superproto.{name}")
    raise AttributeError(f"module 'superproto' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
