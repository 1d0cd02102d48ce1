"""Verbs that score: `evaluate` one method on a data set, `compare` several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superproto.cli import terminal
from superproto.cli.app import app
from superproto.cli.options import (
    AsJson,
    Attributes,
    Inductive,
    Method,
    PackPath,
    Param,
    ParamsFile,
    Protocol,
    ProtocolOption,
    Seed,
    Setting,
    SettingOption,
    Split,
    SplitOption,
    read_params,
)
from superproto.errors import UserError

if TYPE_CHECKING:
    from superproto.datasets.task import Task
    from superproto.evaluation.bootstrap import Difference
    from superproto.evaluation.evaluate import Evaluation

RecordFile = Annotated[
    Path | None, typer.Option("--record", metavar="FILE", help="Append a record of each run, one JSON line, to FILE.")
]
_PERCENT = {
    "per_class_accuracy": "per-class accuracy",
    "unseen": "unseen",
    "seen": "seen",
    "harmonic_mean": "harmonic mean",
    "ausuc": "AUSUC",
    "top5": "top-5",
    "ece": "calibration error",
}


@app.command()
def evaluate(
    path: PackPath,
    method: Method = "hpl",
    setting: SettingOption = Setting.zsl,
    protocol: ProtocolOption = Protocol.ps,
    split: SplitOption = Split.test,
    inductive: Inductive = False,
    param: Param = None,
    params: ParamsFile = None,
    seed: Seed = 0,
    record: RecordFile = None,
    attributes: Attributes = "att",
    as_json: AsJson = False,
) -> None:
    """Run a method on a data set, score its answers, and say where the time went.

    \b
    Example:  superproto evaluate cub.npz
              superproto evaluate cub.npz --setting gzsl -p rho=0.5 --json
    """
    start = perf_counter()
    chosen_params, chosen = read_params(param, params, method)
    with terminal.progress("importing"):
        _prepare([method], chosen_params, record)
        from superproto.evaluation.evaluate import evaluate as run
    imported = perf_counter() - start
    with terminal.progress(f"reading {path.name}"):
        task = _load(path, setting, protocol, split, attributes)
    loaded = perf_counter() - start - imported
    with terminal.progress(f"{method} on {task.name}: {len(task.X)} samples, {len(task.semantics)} classes"):
        found = run(task, method, chosen_params, seed=seed, inductive=inductive, chosen=chosen)
    _record([found], record)
    breakdown = {"import": imported, "load": loaded, **found.breakdown}
    for line in (*task.notes, *found.notes):
        terminal.note(line)
    if as_json:
        terminal.show_json({**_fields(found), "breakdown": breakdown, "loaded": list(task.notes)})
    else:
        _show(found, breakdown)


@app.command()
def compare(
    path: PackPath,
    methods: Annotated[str, typer.Option("--methods", metavar="A,B,...", help="Names, separated by commas.")],
    setting: SettingOption = Setting.zsl,
    protocol: ProtocolOption = Protocol.ps,
    split: SplitOption = Split.test,
    inductive: Inductive = False,
    seed: Seed = 0,
    record: RecordFile = None,
    attributes: Attributes = "att",
    as_json: AsJson = False,
) -> None:
    """Run several methods on the same questions: scores with 95 % intervals, seconds, differences to the first.

    \b
    Example:  superproto compare cub.npz --methods eszsl,transclip,hpl
    """
    names = list(dict.fromkeys(name.strip() for name in methods.split(",") if name.strip()))
    if not names:
        raise UserError(f"--methods {methods!r} names no method. Write it as eszsl,hpl.")
    with terminal.progress(f"reading {path.name}"):
        _prepare(names, {}, record)
        task = _load(path, setting, protocol, split, attributes)
    from superproto.evaluation.evaluate import difference
    from superproto.evaluation.evaluate import evaluate as run

    found: list[Evaluation] = []
    for name in names:
        with terminal.progress(f"{name} on {task.name} ({len(found) + 1} of {len(names)})"):
            found.append(run(task, name, seed=seed, inductive=inductive))
        _record(found[-1:], record)
    changes = [difference(found[0], other) for other in found[1:]]
    for line in (*task.notes, *(f"{one.method}: {line}" for one in found for line in one.notes)):
        terminal.note(line)
    if as_json:
        _show_json(found, changes)
    else:
        _show_comparison(found, changes)


def _prepare(methods: Sequence[str], params: dict[str, Any], record: Path | None) -> None:
    """Whatever can be wrong with the options is said before any data are read."""
    from superproto.baselines.registry import make_model

    for method in methods:
        make_model(method, params)
    if record is not None:
        from superproto.experiments.records import check_writable

        check_writable(record)


def _load(path: Path, setting: Setting, protocol: Protocol, split: Split, attributes: str) -> Task:
    from superproto.datasets import load

    return load(path, setting=setting.value, protocol=protocol.value, split=split.value, attributes=attributes)


def _record(found: Sequence[Evaluation], path: Path | None) -> None:
    if path is None:
        return
    from superproto.experiments.records import append_record, record_of

    for one in found:
        append_record(path, record_of(one))


def _fields(found: Evaluation) -> dict[str, Any]:
    task = found.task
    return {
        "task": task.name,
        "setting": task.setting,
        "protocol": task.protocol,
        "pool": task.pool,
        "method": found.method,
        **found.scores,
        "seconds": found.seconds,
        "params": found.params,
        "chosen": found.chosen,
        "seed": found.seed,
        "notes": list(found.notes),
    }


def _show(found: Evaluation, breakdown: dict[str, float]) -> None:
    task = found.task
    terminal.show(
        f"{found.method} on {task.name}: {task.setting}, {task.protocol}, pool {task.pool}, seed {found.seed}"
    )
    first = "harmonic_mean" if task.setting == "gzsl" else "per_class_accuracy"
    for name, words in _PERCENT.items():
        if name in found.scores:
            sure = f"  (95 % interval {_interval(found)})" if name == first else ""
            terminal.show(f"  {words:<20}{100 * found.scores[name]:6.2f} %{sure}")
    parts = " + ".join(f"{name} {seconds:.1f}" for name, seconds in breakdown.items())
    terminal.show(f"  {'time':<20}{sum(breakdown.values()):6.1f} s = {parts}")


def _show_comparison(found: Sequence[Evaluation], changes: Sequence[Difference]) -> None:
    task = found[0].task
    generalized = task.setting == "gzsl"
    shown = ["unseen", "seen", "harmonic_mean", "ausuc"] if generalized else ["per_class_accuracy", "top5"]
    columns = [
        "method",
        *(f"{_PERCENT[name]}, %" for name in shown),
        "95 % interval",
        "seconds",
        f"minus {found[0].method}",
    ]
    rows = []
    for one, change in zip(found, [None, *changes]):
        against = "" if change is None else _signed(change)
        scores = [f"{100 * one.scores[name]:.2f}" for name in shown]
        rows.append([one.method, *scores, _interval(one), f"{one.seconds:.1f}", against])
    title = f"{task.name}: {task.setting}, {task.protocol}, pool {task.pool}, {found[0].scores['questions']} questions"
    terminal.show_table(columns, rows, title=title)


def _show_json(found: Sequence[Evaluation], changes: Sequence[Difference]) -> None:
    rows = [
        {**_fields(one), "breakdown": one.breakdown, "difference": None if change is None else change._asdict()}
        for one, change in zip(found, [None, *changes])
    ]
    terminal.show_json({"task": found[0].task.name, "first": found[0].method, "results": rows})


def _interval(found: Evaluation) -> str:
    low, high = found.scores["interval"]
    return f"{100 * low:.2f} to {100 * high:.2f}"


def _signed(change: Difference) -> str:
    """The difference in points, and its interval."""
    return f"{100 * change.difference:+.2f} ({100 * change.low:+.2f} to {100 * change.high:+.2f})"
