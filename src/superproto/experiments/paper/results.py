"""Records by what was asked: which method with which parameters on which data, the newest for each seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from superproto.baselines.registry import METHODS, make_model, parameters_of
from superproto.experiments.records import Record


class Score(NamedTuple):
    """A score over its trials: mean, spread (0 for one trial), half the width of the 95 % interval of one run."""

    mean: float
    spread: float
    trials: int
    interval: float


class Results:
    """An index of records. A record answers for a method only if all its parameters are the ones asked for."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._runs: dict[tuple[str, str, str, str, str], dict[int, Record]] = {}
        self._figures: dict[tuple[str, str], dict[str, Any]] = {}
        for record in records:
            if record.method.startswith("figure "):
                self._figures[record.method.removeprefix("figure "), record.task] = record.scores
            else:
                pool = "none" if record.pool == "none" else "pool"
                key = (record.task, record.setting, record.protocol, record.method, pool)
                self._runs.setdefault((*key[:4], f"{pool} {_fingerprint(record.params)}"), {})[record.seed] = record

    def tasks(self) -> set[str]:
        """The data sets that a record speaks of."""
        return {key[0] for key in self._runs} | {task for _, task in self._figures}

    def has(self, task: str, protocol: str) -> bool:
        """Whether anything was run under this protocol."""
        return any(key[0] == task and key[2] == protocol for key in self._runs)

    def runs(
        self,
        task: str,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        setting: str = "zsl",
        protocol: str = "ps",
        inductive: bool = False,
    ) -> list[Record]:
        """The records of these runs, one for each seed."""
        if method not in METHODS:
            return []
        full = parameters_of(make_model(method, params))
        pool = "none" if inductive else "pool"
        found = self._runs.get((task, setting, protocol, method, f"{pool} {_fingerprint(full)}"), {})
        return [found[seed] for seed in sorted(found)]

    def score(self, task: str, method: str, params: Mapping[str, Any] | None = None, **where: Any) -> Score | None:
        """The headline of the setting (per-class accuracy, or the harmonic mean), or None where nothing was run."""
        name = "harmonic_mean" if where.get("setting") == "gzsl" else "per_class_accuracy"
        return self.value(name, task, method, params, **where)

    def value(
        self, name: str, task: str, method: str, params: Mapping[str, Any] | None = None, **where: Any
    ) -> Score | None:
        """Any score by its name; "seconds" too."""
        records = self.runs(task, method, params, **where)
        if not records:
            return None
        values = np.array([r.seconds if name == "seconds" else r.scores.get(name, np.nan) for r in records], float)
        widths = [(r.scores["interval"][1] - r.scores["interval"][0]) / 2 for r in records if "interval" in r.scores]
        spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        return Score(float(values.mean()), spread, len(values), float(np.mean(widths)) if widths else 0.0)

    def figure(self, name: str) -> dict[str, dict[str, Any]]:
        """What was measured for a figure, by data set."""
        return {task: content for (figure, task), content in self._figures.items() if figure == name}


def _fingerprint(params: Mapping[str, Any]) -> str:
    return repr(sorted(params.items()))
