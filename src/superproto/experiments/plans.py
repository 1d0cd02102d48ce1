"""RESEARCH: read the plans of the studies: the paper, the leaderboard and the ablation.

The keys of a plan's file are the fields of its class here. Methods and data sets that a plan names must exist.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from superproto.baselines.registry import METHODS, nearest
from superproto.errors import UserError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SETTINGS = ("zsl", "gzsl")
FEATURES = ("whitened", "raw")
WHITENED = (False, True)
# How the parameters of a reference's run were chosen.
REFERENCE = "as in the reference"


@dataclass(frozen=True)
class Data:
    """A data set.

    `title` is the heading of its column, `find` its file or folder, and `only` the methods that its size allows.
    `plain_ablations` tells whether Table VI is also run with plain features.
    """

    title: str
    find: str
    dataset: str
    features: str
    only: tuple[str, ...] = ()
    plain_ablations: bool = True

    @property
    def name(self) -> str:
        """The name of the data set in records."""
        return Path(self.find).stem

    def allows(self, method: str) -> bool:
        """Tell whether a method is run on this data set."""
        return not self.only or method in self.only


@dataclass(frozen=True, kw_only=True)
class _SeededPlan:
    """Data sets, and the number of seeds: `seeds` for the random methods in `chance`, one for the others."""

    data: tuple[Data, ...]
    seeds: int
    chance: tuple[str, ...]

    def seeds_of(self, method: str) -> range:
        """Return the seeds of a method: several if its labels depend on the seed, else one."""
        return range(self.seeds if method in self.chance else 1)


# -- the paper ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PaperTable:
    """The plan of Table III, IV or V: each method is run with and without whitening."""

    number: int
    setting: str
    protocol: str
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Variant:
    """One row of Table VI: its name in the paper, and how it is run here."""

    row: str
    method: str
    params: dict[str, Any] = field(default_factory=dict)
    trials: int = 1


@dataclass(frozen=True)
class Ablation:
    """One ablation of Table VI; its last variant is the paper's choice."""

    index: str
    says: str
    variants: tuple[Variant, ...]


@dataclass(frozen=True)
class Figure:
    """A figure and its data sets; all if none is named."""

    name: str
    data: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def wants(self, data: Data) -> bool:
        """Tell whether the figure shows a data set."""
        named = not self.data or data.dataset in self.data or data.find in self.data
        return named and data.find not in self.without


@dataclass(frozen=True, kw_only=True)
class Plan(_SeededPlan):
    """The content of `paper.toml`. `attributes` has names of attributes for data sets whose files have none."""

    tables: tuple[PaperTable, ...]
    ablations: tuple[Ablation, ...]
    figures: tuple[Figure, ...]
    attributes: dict[str, list[str]] = field(default_factory=dict)

    @property
    def named_methods(self) -> list[str]:
        rows = [variant.method for ablation in self.ablations for variant in ablation.variants]
        return [*(m for table in self.tables for m in table.methods), *rows, *self.chance]


def settings_of(method: str) -> list[dict[str, Any]]:
    """Return the parameters of the runs of a table's method: plain and whitened features, or HPL's defaults."""
    return [{}] if method == "hpl" else [{"whiten": whiten} for whiten in WHITENED]


# -- the leaderboard ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """The runs of all methods on one data set with one kind of features.

    Each method is tuned with at most `trials` points and `seconds`. With 0 trials it runs with its defaults.
    """

    data: Data
    features: str
    trials: int = 0
    seconds: float = 60

    @property
    def whiten(self) -> bool:
        """Whether the features are whitened."""
        return self.features == "whitened"


@dataclass(frozen=True)
class Skip:
    """A combination that is not run, and the reason."""

    method: str
    reason: str
    data: str = ""
    features: str = ""
    setting: str = ""

    def covers(self, method: str, part: Part, setting: str) -> bool:
        """Tell whether this combination is skipped."""
        wanted = (self.data or part.data.name, self.features or part.features, self.setting or setting)
        return method == self.method and wanted == (part.data.name, part.features, setting)


@dataclass(frozen=True)
class Reference:
    """A result of another implementation, in percent, with the preparation that reproduces it here.

    `shrinkage` is that of whitening the features first, without square roots; None leaves them unchanged.
    """

    data: Data
    features: str
    method: str
    figure: float
    params: dict[str, Any]
    shrinkage: float | None = None

    @property
    def task(self) -> str:
        """The name of the task in records."""
        suffix = "" if self.shrinkage is None else f", whitened with shrinkage {self.shrinkage:g}"
        return f"{self.data.name}{suffix}"


@dataclass(frozen=True)
class MethodCard:
    """The name, reference and year of a method; the year is 0 if it was not published.

    `published` has results of its paper, and `differs` the reasons why those measured here differ.
    """

    method: str
    name: str
    reference: str
    year: int = 0
    published: str = ""
    differs: str = ""


@dataclass(frozen=True, kw_only=True)
class LeaderboardPlan(_SeededPlan):
    """The content of `leaderboard.toml`. `groups` has the methods by kind. `parts` are run in their order."""

    groups: dict[str, tuple[str, ...]]
    cards: tuple[MethodCard, ...] = ()
    untuned: tuple[str, ...]
    folds: int
    limit: float
    parts: tuple[Part, ...]
    skips: tuple[Skip, ...] = ()
    references: tuple[Reference, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of all groups."""
        return tuple(name for names in self.groups.values() for name in names)

    @property
    def titles(self) -> dict[str, str]:
        """The kind of each method."""
        return {name: kind for kind, names in self.groups.items() for name in names}

    @property
    def named_methods(self) -> list[str]:
        described = (card.method for card in self.cards)
        return [*self.methods, *described, *self.untuned, *self.chance, *(entry.method for entry in self.references)]

    def card(self, method: str) -> MethodCard:
        """Return the card of a method. If the plan has none, the key is the name."""
        return next((card for card in self.cards if card.method == method), MethodCard(method, method, ""))

    def skipped(self, method: str, part: Part, setting: str) -> str | None:
        """Return the reason why this combination is not run, or None."""
        return next((skip.reason for skip in self.skips if skip.covers(method, part, setting)), None)


# -- the ablation of the default model ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelPart:
    """A part of HPL(), and the parameters and constants of the model that switch it off.

    `switches` describes what else they change, and where they have no effect.
    """

    name: str
    switches: str
    params: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)


WHOLE = ModelPart("(nothing off)", "The whole model.")


@dataclass(frozen=True, kw_only=True)
class PartsPlan:
    """The content of `parts.toml`: file names of the data, and the parts."""

    data: tuple[str, ...]
    parts: tuple[ModelPart, ...]
    named_methods: tuple[str, ...] = ("hpl",)


# -- the reader --------------------------------------------------------------------------------------------------------

_AnyPlan = TypeVar("_AnyPlan", Plan, LeaderboardPlan, PartsPlan)
_T = TypeVar("_T")


def read_plan(path: Path | None = None) -> Plan:
    """Read the plan of the paper's tables and figures."""
    return _read(Plan, path or benchmarks_folder() / "paper.toml")


def read_leaderboard_plan(path: Path | None = None) -> LeaderboardPlan:
    """Read the plan of the leaderboard."""
    path = path or benchmarks_folder() / "leaderboard.toml"
    plan = _read(LeaderboardPlan, path)
    kinds = [part.features for part in plan.parts] + [entry.features for entry in plan.references]
    wrong = [kind for kind in kinds if kind not in FEATURES]
    if wrong:
        raise UserError(f"{path}: features = '{wrong[0]}' is not known. Give {' or '.join(map(repr, FEATURES))}.")
    return plan


def read_parts_plan(path: Path | None = None) -> PartsPlan:
    """Read the plan of the ablation."""
    return _read(PartsPlan, path or benchmarks_folder() / "parts.toml")


def benchmarks_folder() -> Path:
    """Return the folder of plans and published numbers, in the installed package or beside the source tree."""
    inside = Path(__file__).parents[1] / "benchmarks"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "benchmarks"


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; raise if it cannot be read or is invalid."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}.") from None


def _read(kind: type[_AnyPlan], path: Path) -> _AnyPlan:
    content = read_toml(path)
    try:
        described = [entry for entry in content.get("data", ()) if isinstance(entry, dict)]
        data = {entry.find: entry for entry in _values(Data, described, {})}
        plan = _build(kind, content, data)
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} {error.args[0]}.") from None
    _check_methods(path, plan.named_methods)
    return plan


def _build(kind: type[_T], content: Mapping[str, Any], data: Mapping[str, Data]) -> _T:
    """Construct a dataclass from a table whose keys are its fields."""
    fields = {entry.name: entry for entry in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name in content:
        if name not in fields:
            raise TypeError(f"has an entry that is not known: '{name}' ({kind.__name__} has {', '.join(fields)})")
    for name, entry in fields.items():
        needed = entry.default is dataclasses.MISSING and entry.default_factory is dataclasses.MISSING
        if needed and name not in content:
            raise KeyError(f"has no '{name}' ({kind.__name__})")
    hints = get_type_hints(kind)
    return kind(**{name: _value(hints[name], value, data) for name, value in content.items()})


def _value(hint: Any, value: Any, data: Mapping[str, Data]) -> Any:
    """Convert a value to the type of its field. A data set that is described elsewhere is given by its file."""
    if hint is Data and isinstance(value, str):
        if value not in data:
            raise KeyError(f"has no data set '{value}'. {nearest(value, data)}".rstrip("."))
        return data[value]
    if is_dataclass(hint):
        return _build(hint, value, data)  # type: ignore[arg-type]
    if get_origin(hint) is tuple:
        return _values(get_args(hint)[0], value, data)
    if get_origin(hint) is dict:
        return {key: _value(get_args(hint)[1], entry, data) for key, entry in value.items()}
    return value


def _values(hint: Any, values: Iterable[Any], data: Mapping[str, Data]) -> tuple[Any, ...]:
    return tuple(_value(hint, value, data) for value in values)


def _check_methods(path: Path, names: Iterable[str]) -> None:
    for name in names:
        if name not in METHODS:
            raise UserError(f"{path}: there is no method '{name}'. {nearest(name, METHODS)}")
