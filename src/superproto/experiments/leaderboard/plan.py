"""The plan of the leaderboard: which methods, data, features and seeds, and how parameters are chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from superproto.baselines.registry import METHODS, nearest
from superproto.errors import UserError
from superproto.experiments.paper.plan import Data
from superproto.experiments.paper.published import benchmarks_folder, read_toml

SETTINGS = ("zsl", "gzsl")
FEATURES = ("whitened", "raw")
# How the parameters of a reference's run were chosen.
REFERENCE = "as in the reference"


@dataclass(frozen=True)
class Part:
    """All methods on one data set with one kind of features; at most `trials` points and `seconds` to tune each."""

    data: Data
    features: str
    trials: int
    seconds: float

    @property
    def whiten(self) -> bool:
        return self.features == "whitened"


@dataclass(frozen=True)
class Skip:
    """A cell that is left out, and why."""

    method: str
    reason: str
    data: str = ""
    features: str = ""
    setting: str = ""

    def covers(self, method: str, part: Part, setting: str) -> bool:
        wanted = (self.data or part.data.name, self.features or part.features, self.setting or setting)
        return method == self.method and wanted == (part.data.name, part.features, setting)


@dataclass(frozen=True)
class Reference:
    """A figure, in percent, that somebody else's code reached, and what repeats its preparation here.

    `shrinkage`: of the whitening that the features get before, without roots; None: they stay as they are.
    """

    data: Data
    features: str
    method: str
    figure: float
    params: dict[str, Any]
    shrinkage: float | None = None

    @property
    def task(self) -> str:
        """What its record calls the task."""
        said = "" if self.shrinkage is None else f", whitened with shrinkage {self.shrinkage:g}"
        return f"{self.data.name}{said}"


@dataclass(frozen=True)
class ZooPlan:
    """All of `zoo.toml`. Parts are in the order in which they are run."""

    methods: tuple[str, ...]
    titles: Mapping[str, str]
    untuned: tuple[str, ...]
    chance: tuple[str, ...]
    seeds: int
    folds: int
    limit: float
    parts: tuple[Part, ...]
    skips: tuple[Skip, ...]
    references: tuple[Reference, ...] = ()

    @property
    def data(self) -> tuple[Data, ...]:
        return tuple(dict.fromkeys(part.data for part in self.parts))

    def seeds_of(self, method: str) -> range:
        """Several where the answers depend on the seed, else one."""
        return range(self.seeds if method in self.chance else 1)

    def skipped(self, method: str, part: Part, setting: str) -> str | None:
        """Why this cell is left out, if it is."""
        return next((skip.reason for skip in self.skips if skip.covers(method, part, setting)), None)


def read_zoo_plan(path: Path | None = None) -> ZooPlan:
    """The plan in `benchmarks/zoo.toml`; whatever it names must exist."""
    path = path or benchmarks_folder() / "zoo.toml"
    content = read_toml(path)
    try:
        plan = _plan(content)
    except KeyError as error:
        raise UserError(f"{path} has no {error}.") from None
    except TypeError as error:
        raise UserError(f"{path} has an entry that is not known: {error}.") from None
    strange = [
        m
        for m in (*plan.methods, *plan.untuned, *plan.chance, *(r.method for r in plan.references))
        if m not in METHODS
    ]
    if strange:
        raise UserError(f"{path}: there is no method '{strange[0]}'. {nearest(strange[0], METHODS)}")
    wrong = [part.features for part in plan.parts if part.features not in FEATURES]
    if wrong:
        raise UserError(f"{path}: features = '{wrong[0]}' is not known. Give {' or '.join(map(repr, FEATURES))}.")
    return plan


def _plan(content: dict[str, Any]) -> ZooPlan:
    data = {entry["find"]: Data(**entry) for entry in content["data"]}
    tuning = content["tuning"]
    groups = content["methods"]
    return ZooPlan(
        methods=tuple(name for names in groups.values() for name in names),
        titles={name: title for title, names in groups.items() for name in names},
        untuned=tuple(tuning["untuned"]),
        chance=tuple(content["seeds"]["chance"]),
        seeds=content["seeds"]["number"],
        folds=tuning["folds"],
        limit=content["limit"]["seconds"],
        parts=tuple(
            Part(
                data[entry["data"]],
                entry["features"],
                entry.get("trials", tuning["trials"]),
                entry.get("seconds", tuning["seconds"]),
            )
            for entry in content["part"]
        ),
        skips=tuple(Skip(**entry) for entry in content.get("skip", ())),
        references=tuple(_references(content.get("reference", ()), data)),
    )


def _references(entries: Iterable[dict[str, Any]], data: Mapping[str, Data]) -> Iterator[Reference]:
    for entry in entries:
        for method, figure in entry["figures"].items():
            params = {"whiten": False, **entry["params"], **entry["own"].get(method, {})}
            place = data[entry["data"]], entry["features"]
            yield Reference(*place, method, figure, params, entry.get("shrinkage"))
