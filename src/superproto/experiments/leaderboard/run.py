"""RUN the leaderboard's plan: whiten once, choose once, run every method; what is recorded is not done again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from time import perf_counter

from superproto.baselines.registry import METHODS
from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.estimator.whitening import WithinClassWhitening
from superproto.experiments import runner
from superproto.experiments.leaderboard.plan import REFERENCE, SETTINGS, Part, Reference, ZooPlan
from superproto.experiments.leaderboard.tuned_parameters import TunedParameters, choose, question
from superproto.experiments.paper.plan import Shelf
from superproto.experiments.records import Record, check_writable, key_of, read_records
from superproto.experiments.runner import Run, Whitened, whiten
from superproto.files import PathLike

Step = Callable[[str], None]


class _Stand:
    """A part's data, prepared once: tasks, whitened tasks and folds, each when first asked for."""

    def __init__(self, plan: ZooPlan, part: Part, shelf: Shelf) -> None:
        self.plan, self.part, self.shelf = plan, part, shelf
        self._whitened: dict[str, Whitened] = {}

    def whitened(self, setting: str) -> Whitened | None:
        if not self.part.whiten:
            return None
        if setting not in self._whitened:
            self._whitened[setting] = whiten(self.shelf.task(setting))
        return self._whitened[setting]

    @cached_property
    def folds(self) -> list[Task]:
        """Each whitened by its own labeled samples: those of the hidden classes have no label there."""
        folds = self.shelf.task("zsl").folds(self.plan.folds)
        return [whiten(fold).task for fold in folds] if self.part.whiten else folds


class _Choices:
    """The choices among the records, and new ones as they are asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known = {record.key: record for record in read_records(path)} if path.exists() else {}

    def of(self, method: str, stand: _Stand) -> TunedParameters:
        plan, part = stand.plan, stand.part
        given = {"whiten": True} if part.whiten else {"whiten": False}
        if method in plan.untuned:
            return TunedParameters({} if method == "hpl" else given, "defaults")
        if not part.trials:
            return TunedParameters(given, "defaults: not tuned on this data set")
        digest = stand.shelf.digest("zsl")
        key = key_of(digest, *question(plan, part, method), 0)
        if key not in self.known:
            task = stand.shelf.task("zsl")
            self.known[key] = choose(plan, part, method, task, digest, stand.folds, self.path)
        record = self.known[key]
        return TunedParameters({**record.scores["params"], **given}, record.chosen)


def run_plan(
    plan: ZooPlan,
    folder: PathLike,
    records: PathLike,
    *,
    methods: Collection[str] = (),
    data: Collection[str] = (),
    features: Collection[str] = (),
    again: bool = False,
    step: Step = lambda text: None,
) -> int:
    """Run whatever of the plan (or of these methods, data sets, features) is not recorded; the number of new runs.

    `again` runs what is recorded too, with the parameters that were chosen then; the newest record of a run counts.
    """
    if not Path(folder).is_dir():
        raise UserError(f"{folder} is not a folder. Give the folder of the packs with --data.")
    check_writable(records)
    wanted = [method for method in plan.methods if not methods or method in methods]
    for method in wanted:
        METHODS[method]
    parts = [p for p in plan.parts if (not data or p.data.name in data) and (not features or p.features in features)]
    here = [part for part in parts if (Path(folder) / part.data.find).exists()]
    count = _Counter(sum(_size(plan, part, wanted) for part in here), step)
    choices = _Choices(Path(records))
    # The first seed everywhere before the further seeds of any: a run that is cut short is then a whole table.
    for first in (True, False):
        for part in here:
            entries = _entries(plan, part, Path(folder), wanted, choices, first)
            runner.run_methods(entries, records, on_record=count.heard, limit=plan.limit, keep_right=True, again=again)
    return count.new


def run_references(plan: ZooPlan, folder: PathLike, records: PathLike, step: Step = lambda text: None) -> int:
    """Run whatever of the plan's references is not recorded; the number of new runs."""
    here = [entry for entry in plan.references if (Path(folder) / entry.data.find).exists()]
    tasks = {entry.task: _reference_task(entry, Path(folder)) for entry in {e.task: e for e in here}.values()}
    count = _Counter(len(here), step)
    entries = (Run(tasks[entry.task], entry.method, entry.params, 0, REFERENCE) for entry in here)
    runner.run_methods(entries, records, on_record=count.heard, limit=plan.limit)
    return count.new


def _reference_task(entry: Reference, folder: Path) -> Task:
    """The ZSL task with the features that the reference had."""
    task = Shelf(entry.data, folder).task("zsl")
    if entry.shrinkage is None:
        return task
    whitened = WithinClassWhitening(entry.shrinkage).fit(task.X, task.y).transform(task.X)
    return replace(task, X=whitened, name=entry.task)


def _entries(
    plan: ZooPlan, part: Part, folder: Path, methods: Collection[str], choices: _Choices, first: bool
) -> Iterator[Run]:
    """The runs of a part, ZSL and GZSL of a method together."""
    stand = _Stand(plan, part, Shelf(part.data, folder))
    for method in methods:
        seeds = [seed for seed in plan.seeds_of(method) if (seed == 0) == first]
        settings = _settings(plan, part, method)
        if not seeds or not settings:
            continue
        choice = choices.of(method, stand)
        for seed in seeds:
            for setting in settings:
                # HPL's own defaults whiten, and are run as a user runs them.
                ready = None if method == "hpl" else stand.whitened(setting)
                yield Run(stand.shelf.task(setting), method, choice.params, seed, choice.says, ready)


def _settings(plan: ZooPlan, part: Part, method: str) -> list[str]:
    return [setting for setting in SETTINGS if plan.skipped(method, part, setting) is None]


def _size(plan: ZooPlan, part: Part, methods: Collection[str]) -> int:
    return sum(len(plan.seeds_of(method)) * len(_settings(plan, part, method)) for method in methods)


class _Counter:
    """Says of each new run what it was, how far the plan is, and how long the rest may take."""

    def __init__(self, total: int, step: Step) -> None:
        self.total, self.step = total, step
        self.done = self.new = 0
        self.start = perf_counter()

    def heard(self, record: Record, reused: bool) -> None:
        self.done += 1
        if reused:
            return
        self.new += 1
        left = (perf_counter() - self.start) / self.new * (self.total - self.done) / 60
        name = "harmonic_mean" if record.setting == "gzsl" else "per_class_accuracy"
        score = f"{100 * record.scores[name]:.1f} %" if name in record.scores else record.notes[0]
        whitened = "raw" if record.params.get("whiten") is False else "whitened"
        run = f"{record.task} {whitened}, {record.setting}: {record.method}, seed {record.seed}"
        self.step(f"{run}: {score}, {record.seconds:.1f} s; {self.done} of {self.total}, about {left:.0f} min left")
