"""MEASURE what each part of the default model contributes: it is switched off, and the same questions asked again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superproto.baselines.registry import make_model, parameters_of
from superproto.datasets import load
from superproto.errors import UserError
from superproto.evaluation import bootstrap
from superproto.evaluation.bootstrap import Difference, bootstrap_correctness, difference_of
from superproto.experiments.paper.published import benchmarks_folder, read_toml
from superproto.experiments.records import Record
from superproto.experiments.runner import Run, run_methods
from superproto.files import PathLike

FOLD_SEED = 1
ABLATION_SETTINGS = {"zsl": "per_class_accuracy", "gzsl": "harmonic_mean"}


@dataclass(frozen=True)
class ModelPart:
    """A part by its name, and the parameters that switch it off; none: the whole model."""

    name: str
    off: Mapping[str, Any]


class Finding(NamedTuple):
    """A part off on one data set and setting: the score, and its difference to the whole model's."""

    part: str
    task: str
    setting: str
    score: float
    difference: Difference | None


def read_parts(path: Path | None = None) -> tuple[list[str], list[ModelPart]]:
    """File names of the data, and the parts: the whole model first."""
    content = read_toml(path or benchmarks_folder() / "parts.toml")
    parts = [ModelPart(str(entry["name"]), dict(entry["off"])) for entry in content["part"]]
    return [str(name) for name in content["data"]], [ModelPart("(nothing off)", {}), *parts]


def measure_parts(
    folder: PathLike, path: PathLike, on_record: Callable[[Record, bool], None] | None = None, *, folds: int = 0
) -> list[Record]:
    """Run what is not recorded yet, on the data that are in the folder.

    With ``folds`` on so many sets of held-out seen classes in place of the test classes: there parts may be chosen.
    """
    names, parts = read_parts()
    there = [Path(folder) / name for name in names if (Path(folder) / name).exists()]
    if not there:
        raise UserError(f"{folder} has none of {', '.join(names)}. Give the folder of the packs with --data.")
    tasks = (load(file, setting=setting) for file in there for setting in ABLATION_SETTINGS)
    asked = (part for task in tasks for part in (task.folds(folds, seed=FOLD_SEED) if folds else [task]))
    plan = (Run(task, "hpl", part.off) for task in asked for part in parts)
    return run_methods(plan, path, on_record=on_record, keep_right=True)


def findings(records: Iterable[Record]) -> list[Finding]:
    """Every part that was measured with today's defaults, beside the whole model on the same draws."""
    by_run = {(r.task, r.setting, _frozen(r.params)): r for r in records if r.method == "hpl"}
    _, (whole, *others) = read_parts()
    found = []
    for task, setting in dict.fromkeys((task, setting) for task, setting, _ in by_run):
        base = by_run.get((task, setting, _frozen(_params(whole))))
        if base is None:
            continue
        found.append(Finding(whole.name, task, setting, base.scores[ABLATION_SETTINGS[setting]], None))
        for part in others:
            record = by_run.get((task, setting, _frozen(_params(part))))
            if record is not None:
                score = record.scores[ABLATION_SETTINGS[setting]]
                found.append(Finding(part.name, task, setting, score, _difference(base, record, setting)))
    return found


def _difference(base: Record, other: Record, setting: str) -> Difference:
    answers = [bootstrap.unpack_correctness(record.scores["right"]) for record in (base, other)]
    seen = answers[0].seen if setting == "gzsl" else None
    draws = bootstrap_correctness(answers[0].classes, np.array([a.right for a in answers], float), is_seen=seen)
    name = ABLATION_SETTINGS[setting]
    return difference_of(other.scores[name] - base.scores[name], draws[0], draws[1])


def _params(part: ModelPart) -> dict[str, Any]:
    return parameters_of(make_model("hpl", part.off))


def _frozen(params: Mapping[str, Any]) -> str:
    return repr(sorted(params.items()))


def table_of(found: Sequence[Finding]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a part off in each, a column for each data set and setting, in points."""
    columns = list(dict.fromkeys((finding.task, finding.setting) for finding in found))
    cells = {(finding.part, finding.task, finding.setting): _text(finding) for finding in found}
    head = ["off", *(f"{task}, {'H' if setting == 'gzsl' else setting}" for task, setting in columns)]
    parts = dict.fromkeys(finding.part for finding in found)
    return head, [[part, *(cells.get((part, *column), "not run") for column in columns)] for part in parts]


def held_out_table(found: Sequence[Finding]) -> tuple[list[str], list[list[str]]]:
    """The same for folds: mean difference over the folds of a data set, and in how many of them the part helped."""
    cells: dict[tuple[str, str], list[Finding]] = {}
    for finding in found:
        data = finding.task.rsplit(", fold", 1)[0]
        cells.setdefault((finding.part, f"{data}, {'H' if finding.setting == 'gzsl' else 'zsl'}"), []).append(finding)
    columns = list(dict.fromkeys(column for _, column in cells))
    parts = dict.fromkeys(part for part, _ in cells)
    return ["off", *columns], [[part, *(_over_folds(cells.get((part, c), [])) for c in columns)] for part in parts]


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
