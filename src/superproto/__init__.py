"""Zero-shot recognition with hierarchical prototypes.

The main class is :class:`HPL`; :mod:`superproto.datasets` loads data and :mod:`superproto.metrics` scores predictions.
Public names are imported when they are first used, so that ``import superproto`` is fast.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

_HOMES = {
    "HPL": "superproto.hpl.estimator",
    "WithinClassWhitening": "superproto.estimator.whitening",
    "Task": "superproto.datasets.task",
    "UserError": "superproto.errors",
    "load_model": "superproto.baselines.registry",
    "tune": "superproto.evaluation.tuning.tuner",
}
_MODULES = {
    "baselines": "superproto.baselines",
    "datasets": "superproto.datasets",
    "metrics": "superproto.metrics",
    "records": "superproto.experiments.records",
    "report": "superproto.reporting.model_report",
    "tuning": "superproto.evaluation.tuning",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    raise AttributeError(f"module 'superproto' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
