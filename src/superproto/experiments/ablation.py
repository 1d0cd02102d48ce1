"""RESEARCH: measure what each part of the default model contributes: switch it off and score the same samples again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superproto.baselines.registry import make_model, parameters_of
from superproto.datasets import load
from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.evaluation import bootstrap
from superproto.evaluation.bootstrap import Difference, bootstrap_correctness, difference_of
from superproto.evaluation.evaluate import HEADLINES
from superproto.experiments.plans import SETTINGS, WHOLE, ModelPart, PartsPlan, read_parts_plan
from superproto.experiments.records import Record
from superproto.experiments.robustness import CONDITIONS
from superproto.experiments.runner import Run, run_methods
from superproto.files import PathLike
from superproto.hpl.constants import Constants, numbers

FOLD_SEED, DRAW_SEED = 1, 0
TEXT_PACKS = ("text/dtd_clip_vitb32.npz", "text/pets_clip_vitb32.npz")


# How a perturbed pool differs from that of the data set; what `superproto research robustness` calls these conditions.
PERTURBED = (
    "classes in the pool: half",
    "largest to smallest class: 5:1",
    "largest to smallest class: 20:1",
    "samples in the pool: 100",
)
FEW_SEEN = 7


class Finding(NamedTuple):
    """The score without a part on one data set and setting, and its difference from that of the whole model."""

    part: str
    task: str
    setting: str
    score: float
    difference: Difference | None


def measure_parts(
    folder: PathLike,
    path: PathLike,
    on_record: Callable[[Record, bool], None] | None = None,
    *,
    folds: int = 0,
    plan: PartsPlan | None = None,
    settings: Sequence[str] = SETTINGS,
    perturbed: bool = False,
) -> list[Record]:
    """Run what is not recorded in `path`, on the data sets in the folder. Return the records.

    With ``folds``, score that many sets of held-out seen classes instead of the test classes. Parts may be chosen by
    these scores. The default of ``plan`` is the plan in ``parts.toml``. With ``perturbed``, the pools are few, uneven
    and small, and few classes are seen, in the setting zsl.
    """
    plan = plan or read_parts_plan()
    there = [Path(folder) / name for name in plan.data if (Path(folder) / name).exists()]
    if not there:
        raise UserError(f"{folder} has none of {', '.join(plan.data)}. Give the folder of the packs with --data.")
    tasks = _tasks(there, folds, ["zsl"] if perturbed else settings)
    if perturbed:
        tasks = (changed for task in tasks for changed in perturbed_tasks(task))
    runs = (run_of(part, task) for task in tasks for part in (WHOLE, *plan.parts))
    return run_methods(runs, path, on_record=on_record, keep_right=True)


def run_of(part: ModelPart, task: Task) -> Run:
    """Return the run of the default model without a part."""
    return Run(task, "hpl", part.params, constants=_for_labels(part.constants))


def _for_labels(constants: Mapping[str, Any]) -> dict[str, Any]:
    """Switch off the forecast, which changes no label and takes as long as the fit."""
    return {**constants, "forecast": False}


def plan_of_constants() -> PartsPlan:
    """Return a plan with every constant of the model halved and doubled; 0 becomes 1. It includes text data sets."""
    usual = {name: getattr(Constants(), name) for name in numbers()}
    parts = tuple(
        ModelPart(f"{name} = {value:g}", constants={name: value}, switches=f"{name} in {numbers()[name]}")
        for name, now in usual.items()
        for value in ((now / 2, min(2 * now, 0.99) if name == "relaxation" else 2 * now) if now else (1.0,))
    )
    return PartsPlan(data=(*read_parts_plan().data, *TEXT_PACKS), parts=parts)


def _tasks(files: Iterable[Path], folds: int, settings: Sequence[str] = SETTINGS) -> Iterator[Task]:
    for file in files:
        for setting in settings:
            task = load(file, setting=setting)
            yield from task.folds(folds, seed=FOLD_SEED) if folds else [task]


def perturbed_tasks(task: Task) -> Iterator[Task]:
    """Yield one draw of each perturbed pool, and the task with few seen classes; the name of each says which it is."""
    conditions = {condition.key: condition for condition in CONDITIONS}
    for key in PERTURBED:
        rng = np.random.default_rng([DRAW_SEED, list(conditions).index(key)])
        yield replace(conditions[key].perturb(task, rng), name=f"{task.name}, {key}")
    chosen = np.random.default_rng(DRAW_SEED).permutation(task.seen_classes)[:FEW_SEEN]
    few = task.restricted(np.concatenate([chosen, task.unseen_classes]))
    yield replace(few, name=f"{task.name}, seen classes: {len(chosen)}")


def findings(records: Iterable[Record], plan: PartsPlan | None = None, *, intervals: bool = True) -> list[Finding]:
    """Return the parts that were measured with the current defaults, compared with the whole model.

    Without ``intervals``, differences have no interval. Tables of means over folds need none, and a bootstrap takes a
    while.
    """
    measured = [r for r in records if (r.kind, r.method) == ("run", "hpl") and r.scores]
    by_run = {(r.task, r.setting, _frozen(r.params, r.constants)): r for r in measured}
    parts = [(part, _asked(part)) for part in (plan or read_parts_plan()).parts]
    whole, found = _asked(WHOLE), []
    for task, setting in dict.fromkeys((task, setting) for task, setting, _ in by_run):
        base = by_run.get((task, setting, whole))
        if base is None:
            continue
        name = HEADLINES[setting]
        found.append(Finding(WHOLE.name, task, setting, base.scores[name], None))
        for part, asked in parts:
            record = by_run.get((task, setting, asked))
            if record is not None:
                change = record.scores[name] - base.scores[name]
                compared = _difference(base, record, name) if intervals else Difference(change, np.nan, np.nan, np.nan)
                found.append(Finding(part.name, task, setting, record.scores[name], compared))
    return found


def _difference(base: Record, other: Record, name: str) -> Difference:
    answers = [bootstrap.unpack_correctness(record.scores["right"]) for record in (base, other)]
    seen = answers[0].seen if base.setting == "gzsl" else None
    draws = bootstrap_correctness(answers[0].classes, np.array([a.right for a in answers], float), is_seen=seen)
    return difference_of(other.scores[name] - base.scores[name], draws[0], draws[1])


def _asked(part: ModelPart) -> str:
    return _frozen(parameters_of(make_model("hpl", part.params)), _for_labels(part.constants))


def _frozen(params: Mapping[str, Any], constants: Mapping[str, Any]) -> str:
    return repr((sorted(params.items()), sorted(constants.items())))


def table_of(found: Sequence[Finding]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of the table: a row for each part, a column for each data set and setting."""
    columns = list(dict.fromkeys((finding.task, finding.setting) for finding in found))
    cells = {(finding.part, finding.task, finding.setting): _text(finding) for finding in found}
    head = ["off", *(f"{task}, {'H' if setting == 'gzsl' else setting}" for task, setting in columns)]
    parts = dict.fromkeys(finding.part for finding in found)
    return head, [[part, *(cells.get((part, *column), "not run") for column in columns)] for part in parts]


def held_out_table(found: Sequence[Finding]) -> tuple[list[str], list[list[str]]]:
    """Return the table for folds: mean differences, and in how many cases the part helped.

    The columns are the data sets, with means over their folds, and the conditions of perturbed pools, with means over
    data sets and folds.
    """
    cells: dict[tuple[str, str], list[Finding]] = {}
    for finding in found:
        cells.setdefault((finding.part, _column_of(finding)), []).append(finding)
    columns = list(dict.fromkeys(column for _, column in cells))
    parts = dict.fromkeys(part for part, _ in cells)
    return ["off", *columns], [[part, *(_over_folds(cells.get((part, c), [])) for c in columns)] for part in parts]


def _column_of(finding: Finding) -> str:
    data, _, fold = finding.task.partition(", fold")
    return fold.partition(", ")[2] or f"{data}, {'H' if finding.setting == 'gzsl' else 'zsl'}"


def _over_folds(found: Sequence[Finding]) -> str:
    if not found:
        return "not run"
    changes = [finding.difference.difference for finding in found if finding.difference is not None]
    if not changes:
        return f"{100 * np.mean([finding.score for finding in found]):.1f}"
    helped = sum(change < 0 for change in changes)
    return f"{100 * np.mean(changes):+.1f} ({helped} of {len(changes)})"


def _text(finding: Finding) -> str:
    if finding.difference is None:
        return f"{100 * finding.score:.1f}"
    change = finding.difference
    return f"{100 * change.difference:+.1f} [{100 * change.low:+.1f}, {100 * change.high:+.1f}]"
