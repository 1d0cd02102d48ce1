"""CHOOSE: which point of a space to try next: Optuna's TPE where it is installed, points of a grid elsewhere.

A suggestion is a function of the space, the seed, the trial's number and the finished trials. Nothing else is
remembered, so a search that was killed goes on as if it had not been.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superproto.errors import UserError
from superproto.evaluation.tuning.spaces import Space, Span, grid_of

SEARCHES = ("tpe", "grid")


class Trial(NamedTuple):
    """One point of the space: its scores on the folds that it was tried on; ``stopped`` says why not on all of them."""

    number: int
    params: dict[str, Any]
    scores: tuple[float, ...]
    stopped: str | None
    seconds: float

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores)) if self.scores else -math.inf


def choose_search(search: str | None) -> str:
    """The named search; by default TPE if Optuna is installed, else the grid."""
    installed = find_spec("optuna") is not None
    if search is None:
        return "tpe" if installed else "grid"
    if search not in SEARCHES:
        raise UserError(f"search={search!r} is not known. Give 'tpe' or 'grid'.")
    if search == "tpe" and not installed:
        raise UserError("search='tpe' needs Optuna: pip install \"superproto[tune]\". Or give search='grid'.")
    return search


def suggest(search: str, space: Space, past: Sequence[Trial], number: int, seed: int) -> dict[str, Any] | None:
    """The parameters of trial ``number`` (1 is the first after the default); None when the grid is exhausted."""
    return _by_tpe(space, past, number, seed) if search == "tpe" else _by_grid(space, number, seed)


def _by_grid(space: Space, number: int, seed: int) -> dict[str, Any] | None:
    """The points of the grid in an order drawn by the seed, each once."""
    grid = grid_of(space)
    size = math.prod(len(values) for values in grid.values())
    if number > size:
        return None
    place = _permuted(number - 1, size, seed)
    chosen = {}
    for name, values in grid.items():
        place, at = divmod(place, len(values))
        chosen[name] = values[at]
    return chosen


def _permuted(index: int, size: int, seed: int) -> int:
    """The index-th entry of a permutation of 0..size-1 that is never written down: an affine map modulo size."""
    rng = np.random.default_rng(seed)
    start = int(rng.integers(size))
    golden = max(1, round(size * 0.6180339887))
    step = next(s for s in itertools.chain(range(golden, size + 1), [1]) if math.gcd(s, size) == 1)
    return (start + index * step) % size


def _by_tpe(space: Space, past: Sequence[Trial], number: int, seed: int) -> dict[str, Any]:
    """Tree-structured Parzen estimator over the finished trials; a fresh sampler each time, seeded by the number."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed * 100_003 + number, n_startup_trials=min(10, 2 + len(space)))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    ranges = {name: _distribution(values) for name, values in space.items()}
    for trial in past:
        if trial.scores and set(trial.params) == set(ranges):
            study.add_trial(_finished(trial, space, ranges))
    asked = study.ask(ranges)
    return {
        name: values.tidy(asked.params[name]) if isinstance(values, Span) else values[asked.params[name]]
        for name, values in space.items()
    }


def _distribution(values: Span | Sequence[Any]) -> Any:
    """Choices go by their place in the list, so that any value can be one."""
    import optuna

    if not isinstance(values, Span):
        return optuna.distributions.CategoricalDistribution(range(len(values)))
    if values.whole:
        return optuna.distributions.IntDistribution(int(values.low), int(values.high), log=values.log)
    return optuna.distributions.FloatDistribution(values.low, values.high, log=values.log)


def _finished(trial: Trial, space: Space, ranges: dict[str, Any]) -> Any:
    import optuna

    params = {}
    for name, values in space.items():
        value = trial.params[name]
        params[name] = min(max(value, values.low), values.high) if isinstance(values, Span) else values.index(value)
    return optuna.trial.create_trial(params=params, distributions=ranges, value=trial.mean)


class TrialFile:
    """Trials on the disk; without a path, in memory alone."""

    def __init__(self, path: str | os.PathLike[str] | None, search: Mapping[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        self.trials: list[Trial] = []
        if self.path is None:
            return
        if os.path.isdir(self.path):
            raise UserError(f"{self.path} is a folder. Give the name of a file for the trials.")
        wanted = json.loads(json.dumps(search))
        if os.path.exists(self.path) and os.path.getsize(self.path):
            self._resume(wanted)
        else:
            self._write(wanted)

    def add(self, trial: Trial) -> None:
        """Keep a finished trial; it is on the disk when this returns."""
        self.trials.append(trial)
        if self.path is not None:
            self._write({**trial._asdict(), "scores": list(trial.scores)})

    def _resume(self, wanted: Mapping[str, Any]) -> None:
        """Read what is there, cut off a torn last line, and refuse trials of another search."""
        path = self.path
        assert path is not None
        try:
            content = path.read_bytes()
            whole = content[: content.rfind(b"\n") + 1]
            lines = [json.loads(line) for line in whole.splitlines()]
            self.trials = [_read_trial(line) for line in lines[1:]]
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            text = " ".join(str(error).split())[:100]
            raise UserError(f"{path} is not a file of trials ({text}). Delete it, or name another.") from None
        if not lines:
            self._truncate(0)
            self._write(wanted)
            return
        if lines[0] != wanted:
            different = [key for key in wanted if not isinstance(lines[0], dict) or lines[0].get(key) != wanted[key]]
            raise UserError(
                f"{path} holds trials of another search (different: {', '.join(different) or 'its header'}). "
                "Delete it to start anew, or name another."
            )
        if len(whole) < len(content):
            self._truncate(len(whole))

    def _truncate(self, size: int) -> None:
        assert self.path is not None
        os.truncate(self.path, size)

    def _write(self, content: Mapping[str, Any]) -> None:
        assert self.path is not None
        line = json.dumps(content, ensure_ascii=True).encode() + b"\n"
        try:
            with self.path.open("ab") as handle:
                handle.write(line)
                handle.flush()
                os.fsync(handle.fileno())
        except OSError as error:
            raise UserError(f"{self.path} cannot be written: {error.strerror}. Choose another place.") from None


def _read_trial(line: Any) -> Trial:
    stopped = line["stopped"]
    if not isinstance(line["params"], dict) or not isinstance(stopped, (str, type(None))):
        raise ValueError("a trial has no parameters")
    scores = tuple(float(score) for score in line["scores"])
    return Trial(int(line["number"]), line["params"], scores, stopped, float(line["seconds"]))
