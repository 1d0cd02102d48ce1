"""Verbs that score: `evaluate` one method on a data set, `compare` several, and list all `methods`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from superproto.cli import terminal
from superproto.cli.app import HelpPanel, app
from superproto.cli.options import (
    AsJson,
    Attributes,
    Inductive,
    Method,
    PackPath,
    Param,
    ParamsFile,
    Preparation,
    Protocol,
    ProtocolOption,
    Seed,
    Setting,
    SettingOption,
    Split,
    SplitOption,
    check_output,
    load_task,
    method_params,
    read_params,
)
from superproto.errors import UserError

if TYPE_CHECKING:
    from superproto.evaluation.bootstrap import Difference
    from superproto.evaluation.evaluate import Evaluation

RecordFile = Annotated[
    Path | None, typer.Option("--record", metavar="FILE", help="Append a record of each run, one JSON line, to FILE.")
]


@app.command("evaluate", rich_help_panel=HelpPanel.SCORE)
def evaluate_verb(
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
    """Run a method on a data set and score its predictions.

    Input: a pack whose test samples have known labels, which the method does
    not see. Output: the accuracy averaged over the unseen classes, with a 95 %
    interval, and the seconds of each part of the run. With --setting gzsl also
    seen classes are scored, and the harmonic mean of the two accuracies.

    \b
    Example:  superproto evaluate cub.npz
              superproto evaluate cub.npz --setting gzsl -p rho=0.5 --json
    """
    start = perf_counter()
    check_output(record, path)
    chosen_params, chosen = read_params(param, params, method)
    with terminal.progress("importing"):
        _prepare([method], chosen_params, record)
        from superproto.evaluation.evaluate import evaluate as run
    imported = perf_counter() - start
    with terminal.progress(f"reading {path.name}"):
        task = load_task(path, setting, protocol, attributes, split)
    loaded = perf_counter() - start - imported
    with terminal.progress(f"{method} on {task.name}: {len(task.X)} samples, {len(task.semantics)} classes"):
        found = run(task, method, chosen_params, seed=seed, inductive=inductive, chosen=chosen)
    _record([found], record)
    breakdown = {"import": imported, "load": loaded, **found.breakdown}
    for line in found.notes:
        terminal.note(line)
    if as_json:
        terminal.show_json({**_fields(found), "breakdown": breakdown, "loaded": list(task.notes)})
    else:
        _show(found, breakdown)


@app.command("compare", rich_help_panel=HelpPanel.SCORE)
def compare_verb(
    path: PackPath,
    methods: Annotated[
        str,
        typer.Option(
            "--methods", metavar="A,B,...", help="Names of methods, separated by commas; the first is the reference."
        ),
    ],
    setting: SettingOption = Setting.zsl,
    protocol: ProtocolOption = Protocol.ps,
    split: SplitOption = Split.test,
    inductive: Inductive = False,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="[METHOD.]NAME=VALUE",
            help="Set a parameter of all methods that have it, or of one method. Repeatable.",
        ),
    ] = None,
    features: Annotated[
        Preparation,
        typer.Option(
            "--features",
            help="standard: whitened, raw for zero-shot. whitened or raw: for all methods. own: each method's default.",
        ),
    ] = Preparation.standard,
    seed: Seed = 0,
    record: RecordFile = None,
    attributes: Attributes = "att",
    as_json: AsJson = False,
) -> None:
    """Run several methods on the same samples and compare their scores.

    The table has scores with 95 % intervals, seconds, and the difference from
    the first method with a paired 95 % interval. All methods get whitened
    features, except zero-shot, which compares raw features with texts;
    --features changes that. If a method fails, its row shows the reason. Name
    a method of your own as package.module:Class.

    \b
    Example:  superproto compare cub.npz --methods eszsl,transclip,hpl
              superproto compare cub.npz --methods hpl,mine:Nearest -p hpl.rho=0.5
    """  # fmt: skip
    names = list(dict.fromkeys(name.strip() for name in methods.split(",") if name.strip()))
    check_output(record, path)
    if not names:
        raise UserError(f"--methods {methods!r} names no method. Write it as eszsl,hpl.")
    with terminal.progress(f"reading {path.name}"):
        options = method_params(names, param, features.value)
        check_output(record)
        task = load_task(path, setting, protocol, attributes, split)
    from superproto.evaluation.evaluate import evaluate as run

    found: list[Evaluation] = []
    failed: dict[str, str] = {}
    for name in names:
        with terminal.progress(f"{name} on {task.name} ({len(found) + len(failed) + 1} of {len(names)})"):
            try:
                found.append(run(task, name, options[name], seed=seed, inductive=inductive, chosen=_chosen(param)))
            except Exception as error:
                failed[name] = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
                continue
        _record(found[-1:], record)
    if not found:
        raise UserError(f"No method could be run. {names[0]}: {failed[names[0]]}")
    _show_compared(found, failed, as_json)


def _chosen(param: list[str] | None) -> str:
    return "given" if param else "defaults"


def _show_compared(found: Sequence[Evaluation], failed: dict[str, str], as_json: bool) -> None:
    from superproto.evaluation.evaluate import difference

    changes = [difference(found[0], other) for other in found[1:]]
    for line in (f"{one.method}: {line}" for one in found for line in one.notes):
        terminal.note(line)
    if as_json:
        _show_json(found, changes, failed)
    else:
        _show_comparison(found, changes, failed)


@app.command("methods", rich_help_panel=HelpPanel.SCORE)
def methods_verb(as_json: AsJson = False) -> None:
    """List every method in one line: its name, kind, reference and a summary.

    A transductive method learns from labeled and unlabeled samples; an
    inductive one from labeled samples only.

    \b
    Example:  superproto methods
              superproto evaluate birds.npz --method transclip
    """
    entries = _method_entries()
    if as_json:
        terminal.show_json([entry._asdict() for entry in entries])
        return
    wide = max(len(entry.name) for entry in entries)
    source = max(len(entry.reference) for entry in entries)
    for entry in entries:
        terminal.show(f"{entry.name:<{wide}}  {entry.kind:<12}  {entry.reference:<{source}}  {entry.summary}")


class MethodEntry(NamedTuple):
    """One line of the list of methods."""

    name: str
    kind: str
    reference: str
    summary: str


def _method_entries() -> list[MethodEntry]:
    """Describe every key of METHODS: kind and reference from the leaderboard's plan, the rest from the docstring."""
    from superproto.baselines.registry import METHODS
    from superproto.experiments.plans import read_leaderboard_plan

    plan = read_leaderboard_plan()
    entries = []
    for name, method in METHODS.items():
        card = plan.card(name)
        venue = f"{card.reference.rpartition(', ')[2]} {card.year}" if card.year else ""
        entries.append(MethodEntry(name, plan.titles.get(name, ""), venue, _summary(method)))
    return entries


def _summary(method: type) -> str:
    """Return the first sentence of the docstring."""
    return re.split(r"(?<=\.) ", " ".join((method.__doc__ or "").split()), maxsplit=1)[0].replace("``", "")


def _prepare(methods: Sequence[str], params: dict[str, Any], record: Path | None) -> None:
    """Raise for wrong options before any data are read."""
    from superproto.evaluation.own_methods import method_for

    for method in methods:
        method_for(method, params)
    check_output(record)


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
    from superproto.evaluation.evaluate import HEADLINES, SCORE_TITLES

    task = found.task
    terminal.show(
        f"{found.method} on {task.name}: {task.setting}, {task.protocol}, pool {task.pool}, seed {found.seed}"
    )
    for name, title in SCORE_TITLES.items():
        if name in found.scores:
            interval = f"  (95 % interval {_interval(found)})" if name == HEADLINES[task.setting] else ""
            terminal.show(f"  {title:<20}{100 * found.scores[name]:6.2f} %{interval}")
    parts = " + ".join(f"{name} {seconds:.1f}" for name, seconds in breakdown.items())
    terminal.show(f"  {'time':<20}{sum(breakdown.values()):6.1f} s = {parts}")


def _show_comparison(found: Sequence[Evaluation], changes: Sequence[Difference], failed: dict[str, str]) -> None:
    task = found[0].task
    from superproto.evaluation.evaluate import SCORE_TITLES, SHOWN_SCORES

    shown = SHOWN_SCORES[task.setting]
    columns = [
        "method",
        "features",
        *(f"{SCORE_TITLES[name]}, %" for name in shown),
        "95 % interval",
        "seconds",
        f"minus {found[0].method}",
    ]
    rows = []
    for one, change in zip(found, [None, *changes]):
        against = "" if change is None else _signed(change)
        scores = [f"{100 * one.scores[name]:.2f}" for name in shown]
        rows.append([one.method, _features_of(one), *scores, _interval(one), f"{one.seconds:.1f}", against])
    rows += [[name, "", "failed", *[""] * (len(columns) - 4), reason] for name, reason in failed.items()]
    title = f"{task.name}: {task.setting}, {task.protocol}, pool {task.pool}, {found[0].scores['questions']} samples"
    terminal.show_table(columns, rows, title=title)


def _features_of(found: Evaluation) -> str:
    """Return how the method prepared the features; "" if it has no parameter for that."""
    if "whiten" not in found.params:
        return ""
    return "raw" if found.params["whiten"] is False else "whitened"


def _show_json(found: Sequence[Evaluation], changes: Sequence[Difference], failed: dict[str, str]) -> None:
    rows = [
        {**_fields(one), "breakdown": one.breakdown, "difference": None if change is None else change._asdict()}
        for one, change in zip(found, [None, *changes])
    ]
    table = {"task": found[0].task.name, "first": found[0].method, "results": rows}
    terminal.show_json({**table, "failed": [{"method": name, "error": reason} for name, reason in failed.items()]})


def _interval(found: Evaluation) -> str:
    low, high = found.scores["interval"]
    return f"{100 * low:.2f} to {100 * high:.2f}"


def _signed(change: Difference) -> str:
    """Format the difference in percentage points, and its interval."""
    return f"{100 * change.difference:+.2f} ({100 * change.low:+.2f} to {100 * change.high:+.2f})"
