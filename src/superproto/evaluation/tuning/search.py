"""SCORE: choose the next point of a search, decide when to stop a trial, and store the finished trials.

With Optuna, its TPE sampler suggests points and its median pruner stops bad trials. Without it, points come from
scikit-learn's grid and every trial is finished. The next step depends only on the space, the seed and the finished
trials, so an interrupted search resumes with the same result.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ParameterGrid

from superproto.errors import UserError
from superproto.evaluation.tuning.spaces import Space, Span, grid_of
from superproto.files import write_whole

SEARCHES = ("tpe", "grid")
# Number of finished trials before a trial can be stopped for being below their median.
_BEFORE_STOPPING = 4


class Trial(NamedTuple):
    """One point of the space, with its scores on folds; ``stopped`` is the reason if it was not scored on all."""

    number: int
    params: dict[str, Any]
    scores: tuple[float, ...]
    stopped: str | None
    seconds: float

    @property
    def mean(self) -> float:
        """The mean score over the folds; -inf without a score."""
        return float(np.mean(self.scores)) if self.scores else -math.inf


def choose_search(search: str | None) -> str:
    """Return the name of the search: by default TPE if Optuna is installed, else the grid."""
    if search is None:
        return "tpe" if has_optuna() else "grid"
    if search not in SEARCHES:
        raise UserError(f"search={search!r} is not known. Give 'tpe' or 'grid'.")
    if search == "tpe" and not has_optuna():
        raise UserError("search='tpe' needs Optuna: pip install \"superproto[tune]\". Or give search='grid'.")
    return search


def has_optuna() -> bool:
    """Tell whether Optuna is installed."""
    return find_spec("optuna") is not None


def grid_point(
    space: Space, number: int, seed: int, defaults: Mapping[str, Any] | None = None
) -> dict[str, Any] | None:
    """Return point ``number`` (from 1) of the grid in a random order given by the seed; None after the last point."""
    points = ParameterGrid(grid_of(space, defaults))
    if number > len(points):
        return None
    rng, drawn = np.random.default_rng(seed), dict[int, None]()
    while len(drawn) < number:
        drawn[int(rng.integers(len(points)))] = None
    return dict(points[list(drawn)[-1]])


class Study:
    """A search: the finished trials, in memory and, with a path, in a file of JSON lines.

    The file's first line identifies the search. The file is always replaced as a whole. Trial 0 is the default, whose
    parameters are empty; ``defaults`` are its values.
    """

    def __init__(
        self, search: str, space: Space, seed: int, path: str | os.PathLike[str] | None, header: Mapping[str, Any],
        defaults: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.search, self.space, self.seed, self.defaults = search, space, seed, defaults or {}
        self.path, self.header = None if path is None else Path(path), json.loads(json.dumps(header))
        self.trials: list[Trial] = [] if self.path is None else read_trials(self.path, self.header)
        self._write()

    def ask(self) -> dict[str, Any] | None:
        """Return the parameters of the next trial; None when the grid is exhausted."""
        number = len(self.trials)
        by_grid = self.search == "grid" or not number
        point = grid_point(self.space, number, self.seed, self.defaults) if by_grid and number else {}
        if point is None or not has_optuna():
            return point
        ranges: Space = {} if by_grid else self.space
        past = [trial if trial.number else trial._replace(params=dict(self.defaults)) for trial in self.trials]
        self._asked = ask_optuna(ranges, past, self.seed * 100_003 + number)
        return point | {name: _decoded(ranges[name], value) for name, value in self._asked.params.items()}

    def falls_behind(self, scores: Sequence[float]) -> bool:
        """Tell whether the current trial is below the median of the finished ones after these folds."""
        if not has_optuna():
            return False
        self._asked.report(float(np.mean(scores)), len(scores))
        return bool(self._asked.should_prune())

    def tell(self, trial: Trial) -> None:
        """Store a finished trial. It is on the disk when this returns."""
        self.trials.append(trial)
        self._write()

    def _write(self) -> None:
        if self.path is not None:
            with write_whole(self.path, text=True) as handle:
                for line in (self.header, *(trial._asdict() for trial in self.trials)):
                    handle.write(json.dumps(line) + "\n")


def ask_optuna(ranges: Space, past: Sequence[Trial], seed: int) -> Any:
    """Return Optuna's next trial for these ranges, given the past trials."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=min(10, 2 + len(ranges))),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=_BEFORE_STOPPING),
    )
    known = {name: _distribution(values) for name, values in ranges.items()}
    for trial in past:
        if trial.scores:
            own = {name: _encoded(ranges[name], value) for name, value in trial.params.items() if name in ranges}
            state = optuna.trial.TrialState.PRUNED if trial.stopped else optuna.trial.TrialState.COMPLETE
            means = {n: float(np.mean(trial.scores[:n])) for n in range(1, len(trial.scores) + 1)}
            kinds = {name: known[name] for name in own}
            study.add_trial(
                optuna.trial.create_trial(
                    state=state, value=trial.mean, params=own, distributions=kinds, intermediate_values=means
                )
            )
    return study.ask(known)


def _distribution(values: Span | Sequence[Any]) -> Any:
    """Return Optuna's distribution of a range. A list becomes its positions, so that values can be of any type."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(values, Span):
        return CategoricalDistribution(range(len(values)))
    if values.whole:
        return IntDistribution(int(values.low), int(values.high), log=values.log)
    return FloatDistribution(values.low, values.high, log=values.log)


def _encoded(values: Span | Sequence[Any], value: Any) -> Any:
    if isinstance(values, Span):
        return min(max(value, values.low), values.high)
    # 1.0 == True, so the types are compared too.
    return next(i for i, one in enumerate(values) if one == value and isinstance(one, bool) == isinstance(value, bool))


def _decoded(values: Span | Sequence[Any], found: Any) -> Any:
    return values.tidy(found) if isinstance(values, Span) else values[found]


def read_trials(path: Path, header: Mapping[str, Any]) -> list[Trial]:
    """Read the trials of a file, if it exists; raise if it has other content or belongs to another search."""
    if path.is_dir():
        raise UserError(f"{path} is a folder. Give the name of a file for the trials.")
    if not path.exists():
        return []
    try:
        content = path.read_bytes()
        if content and not content.startswith(b"{"):
            raise ValueError("it was not written by a search")
        # An incomplete last line is ignored.
        lines = [json.loads(line) for line in content[: content.rfind(b"\n") + 1].splitlines()] or [header]
        trials = [_read_trial(line) for line in lines[1:]]
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        text = " ".join(str(error).split())[:100]
        raise UserError(f"{path} is not a file of trials ({text}). Delete it, or name another.") from None
    found = lines[0]
    if found != header:
        different = [key for key in header if not isinstance(found, dict) or found.get(key) != header[key]]
        raise UserError(
            f"{path} holds trials of another search (different: {', '.join(different) or 'its header'}). "
            "Delete it to start again, or name another."
        )
    return trials


def _read_trial(line: Any) -> Trial:
    stopped = line["stopped"]
    if not isinstance(line["params"], dict) or not isinstance(stopped, (str, type(None))):
        raise ValueError("a trial has no parameters")
    scores = tuple(float(score) for score in line["scores"])
    return Trial(int(line["number"]), line["params"], scores, stopped, float(line["seconds"]))
