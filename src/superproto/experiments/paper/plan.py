"""The plan: which data sets, methods and figures `superproto reproduce` goes through, and which of them are at hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from superproto.baselines.registry import METHODS, make_model, parameters_of
from superproto.datasets.loading import read_source, to_task
from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.experiments.paper.published import benchmarks_folder, read_toml
from superproto.experiments.records import key_of
from superproto.experiments.runner import Run, Whitened, whiten

WHITENED = (False, True)


@dataclass(frozen=True)
class Data:
    """A data set: `title` heads its column, `find` is its file or folder, `only` the methods that its size allows.

    `plain_ablations`: whether Table VI is run with plain features too, beside whitened ones.
    """

    title: str
    find: str
    dataset: str
    features: str
    only: tuple[str, ...] = ()
    plain_ablations: bool = True

    @property
    def name(self) -> str:
        """What its records call it."""
        return Path(self.find).stem

    def allows(self, method: str) -> bool:
        return not self.only or method in self.only


@dataclass(frozen=True)
class Table:
    """Table III, IV or V: each method with and without whitening; `trials` by method where there is chance."""

    number: int
    setting: str
    protocol: str
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Variant:
    """One row of the ablation: the paper's name of it, and how it is run here."""

    row: str
    method: str
    params: dict[str, Any] = field(default_factory=dict)
    trials: int = 1


@dataclass(frozen=True)
class Ablation:
    """One ablation of Table VI."""

    index: str
    says: str
    variants: tuple[Variant, ...]


@dataclass(frozen=True)
class Figure:
    """A figure, restricted to some data sets (none named: all)."""

    name: str
    data: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def wants(self, data: Data) -> bool:
        named = not self.data or data.dataset in self.data or data.find in self.data
        return named and data.find not in self.without


@dataclass(frozen=True)
class Plan:
    """All of `paper.toml`."""

    data: tuple[Data, ...]
    tables: tuple[Table, ...]
    ablations: tuple[Ablation, ...]
    figures: tuple[Figure, ...]
    attributes: dict[str, list[str]]
    trials: int
    chance: tuple[str, ...]

    def trials_of(self, method: str) -> int:
        """Six where the outcome depends on a seed, else one."""
        return self.trials if method in self.chance else 1


def read_plan(path: Path | None = None) -> Plan:
    """The plan in `benchmarks/paper.toml`; methods that the zoo does not have (yet) are left out."""
    content = read_toml(path or benchmarks_folder() / "paper.toml")
    return Plan(
        data=tuple(Data(**{**entry, "only": tuple(entry.get("only", ()))}) for entry in content["data"]),
        tables=tuple(
            Table(**{**entry, "methods": tuple(m for m in entry["methods"] if m in METHODS)})
            for entry in content["table"]
        ),
        ablations=tuple(
            Ablation(entry["index"], entry["says"], tuple(Variant(**variant) for variant in entry["variants"]))
            for entry in content["ablation"]
        ),
        figures=tuple(
            Figure(entry["name"], tuple(entry.get("data", ())), tuple(entry.get("without", ())))
            for entry in content["figure"]
        ),
        attributes=content.get("attributes", {}),
        trials=content["trials"]["number"],
        chance=tuple(content["trials"]["chance"]),
    )


@dataclass(frozen=True)
class Line:
    """One run of the plan on whatever data set it meets."""

    setting: str
    protocol: str
    method: str
    params: tuple[tuple[str, Any], ...]
    seed: int

    @property
    def is_own(self) -> bool:
        """Whether it is HPL: run alone, as a user runs it, since its seconds are compared."""
        return self.method.startswith("hpl")

    @property
    def says(self) -> str:
        """The method, and what differs from its defaults but the features."""
        return " ".join([self.method, *(f"{name}={value}" for name, value in self.params if name != "whiten")])

    @property
    def features(self) -> str:
        return "whitened" if dict(self.params).get("whiten", True) else "plain"

    def run(self, shelf: Shelf) -> Run:
        """The run on this data set; methods of the zoo share the whitened samples."""
        task = shelf.task(self.setting, self.protocol)
        shared = self.features == "whitened" and not self.is_own
        ready = shelf.whitened(self.setting, self.protocol) if shared else None
        return Run(task, self.method, dict(self.params), self.seed, "defaults", ready)

    def key(self, shelf: Shelf) -> str:
        """What its record is known by."""
        params = parameters_of(make_model(self.method, dict(self.params)))
        return key_of(shelf.digest(self.setting, self.protocol), self.method, params, self.seed)


class Shelf:
    """One data set from a folder, read once; its tasks, each made once."""

    def __init__(self, data: Data, folder: Path) -> None:
        self.data = data
        self.path = folder / data.find
        self._pack: Any = None
        self._tasks: dict[tuple[str, str], Task] = {}
        self._digests: dict[tuple[str, str], str] = {}
        self._whitened: dict[tuple[str, str], Whitened] = {}

    @property
    def at_hand(self) -> bool:
        return self.path.exists()

    def size(self) -> int:
        """Bytes of its file, or of the files in its folder."""
        files = self.path.iterdir() if self.path.is_dir() else [self.path]
        return sum(file.stat().st_size for file in files)

    def task(self, setting: str = "zsl", protocol: str = "ps") -> Task:
        """The task of a setting and protocol; an error where the data set has no such split."""
        key = (setting, protocol)
        if key not in self._tasks:
            if self._pack is None:
                self._pack = read_source(self.path)
            self._tasks[key] = to_task(self._pack, setting, protocol)
        return self._tasks[key]

    def digest(self, setting: str = "zsl", protocol: str = "ps") -> str:
        """What identifies the task in records."""
        key = (setting, protocol)
        if key not in self._digests:
            self._digests[key] = self.task(setting, protocol).digest()
        return self._digests[key]

    def whitened(self, setting: str, protocol: str) -> Whitened:
        """The task with its samples whitened, once for all methods; only the last one is kept."""
        key = (setting, protocol)
        if key not in self._whitened:
            self._whitened = {key: whiten(self.task(*key))}
        return self._whitened[key]

    def digests(self) -> set[str]:
        """Those of every task that was made, and of the main one."""
        return {self.digest(*key) for key in {*self._tasks, ("zsl", "ps")}}

    def has(self, protocol: str) -> bool:
        """Whether the data set has this split: the standard one is often missing."""
        try:
            self.task("zsl", protocol)
        except UserError:
            if protocol == "ss":
                return False
            raise
        return True


def lines_of(plan: Plan, shelf: Shelf, numbers: set[int]) -> list[Line]:
    """The lines of the chosen tables (3 to 6) on one data set, each once: Table VI shares some with the others."""
    found: list[Line] = []
    for table in plan.tables:
        if table.number in numbers and shelf.has(table.protocol):
            for method in filter(shelf.data.allows, table.methods):
                for params in settings_of(method):
                    for seed in range(plan.trials_of(method)):
                        found.append(Line(table.setting, table.protocol, method, tuple(params.items()), seed))
    if 6 in numbers and shelf.data.allows("hpl1"):
        for ablation in plan.ablations:
            for variant in ablation.variants:
                for whitened in WHITENED if shelf.data.plain_ablations else (True,):
                    params = {**variant.params, "whiten": whitened}
                    for seed in range(variant.trials):
                        found.append(Line("zsl", "ps", variant.method, tuple(params.items()), seed))
    return list(dict.fromkeys(found))


def settings_of(method: str) -> list[dict[str, Any]]:
    """The parameters that a table's method is run with: plain and whitened features; HPL's defaults as they are."""
    return [{}] if method == "hpl" else [{"whiten": whiten} for whiten in WHITENED]
