"""The verb `tune`: choose the parameters of a method on held-out classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from superproto.cli import terminal
from superproto.cli.app import HelpPanel, app
from superproto.cli.options import (
    AsJson,
    Attributes,
    Inductive,
    Method,
    PackPath,
    Protocol,
    ProtocolOption,
    Seed,
    Setting,
    SettingOption,
    check_output,
    load_task,
)

if TYPE_CHECKING:
    from superproto.evaluation.tuning.tuner import Tuned, TuningProgress


@app.command("tune", rich_help_panel=HelpPanel.MODEL)
def tune_verb(
    path: PackPath,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="JSON", help="The file to write: chosen values and all trials.")
    ],
    method: Method = "hpl",
    setting: SettingOption = Setting.zsl,
    protocol: ProtocolOption = Protocol.ps,
    inductive: Inductive = False,
    trials: Annotated[int, typer.Option("--trials", help="Parameter settings to try besides the default.", min=1)] = 30,
    minutes: Annotated[
        float | None, typer.Option("--minutes", help="Time budget in minutes; no trial starts after it.", min=0)
    ] = None,
    folds: Annotated[int, typer.Option("--folds", help="Number of class-disjoint validation tasks.")] = 3,
    search: Annotated[
        str | None, typer.Option("--search", help="tpe (needs Optuna) or grid.", metavar="tpe|grid")
    ] = None,
    seed: Seed = 0,
    attributes: Attributes = "att",
    as_json: AsJson = False,
) -> None:
    """Choose the parameters of a method on held-out seen classes.

    The unseen classes are not used. Output: a JSON file that `evaluate --params`
    and `fit --params` read. Finished trials are kept in JSON.trials.jsonl; after
    an interruption, run the same command again to resume.

    \b
    Example:  superproto tune cub.npz --method hpl -o tuned.json --minutes 20
              superproto evaluate cub.npz --params tuned.json
    """
    from superproto.evaluation.tuning.tuner import default_trials_file
    from superproto.evaluation.tuning.tuner import tune as search_parameters

    check_output(output, path)
    with terminal.progress(f"reading {path.name}"):
        task = load_task(path, setting, protocol, attributes)
    tuned = search_parameters(
        task.inductive() if inductive else task,
        method,
        n_trials=trials,
        time_limit=None if minutes is None else 60 * minutes,
        folds=folds,
        seed=seed,
        search=search,
        trials_file=default_trials_file(output),
        progress=_show_progress,
    )
    tuned.save(output)
    default_trials_file(output).unlink(missing_ok=True)
    if as_json:
        from dataclasses import asdict

        terminal.show_json(asdict(tuned))
    else:
        _show_tuned(tuned, output)


def _show_progress(state: TuningProgress) -> None:
    from superproto.samples.progress import print_line

    trial = state.trial
    score = f"{100 * trial.mean:.2f}" if trial.scores else "invalid"
    line = f"trial {trial.number} of {state.n_trials}: {score}{' (stopped)' if trial.stopped else ''}"
    best = f"best {100 * state.best.mean:.2f}, default {100 * state.default:.2f}, {state.seconds:.0f} s"
    print_line(f"{line}; {best}")


def _show_tuned(tuned: Tuned, output: Path) -> None:
    terminal.show(f"{tuned.method} on {tuned.task}: {tuned.metric} over {len(tuned.folds)} folds of held-out classes")
    terminal.show(f"  default  {100 * tuned.default_score:6.2f} %")
    terminal.show(f"  chosen   {100 * tuned.score:6.2f} %, spread over folds {100 * tuned.spread:.2f}")
    terminal.show(f"  {tuned.reason}")
    for name, value in tuned.params.items():
        terminal.show(f"  {name} = {value}")
    terminal.show(f"Wrote {terminal.place(output)}.")
