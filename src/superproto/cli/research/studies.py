"""The verbs `research ablation` (the model without each part) and `research robustness` (perturbed data)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from superproto.cli import terminal
from superproto.cli.app import research_app
from superproto.cli.options import DataFolder, check_output

if TYPE_CHECKING:
    from superproto.experiments.records import Record

RecordsOutput = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="FILE", help="JSON lines file to append to; recorded runs are not repeated."
    ),
]


@research_app.command("ablation")
def ablation_verb(
    output: RecordsOutput,
    data: DataFolder = Path("data"),
    held_out: Annotated[
        int | None,
        typer.Option(
            metavar="FOLDS",
            help="Score on this many folds of held-out seen classes instead of the test classes.",
            min=2,
        ),
    ] = None,
    constants: Annotated[
        bool, typer.Option("--constants", help="Instead, halve and double each constant of the model.")
    ] = False,
    perturbed: Annotated[
        bool, typer.Option("--perturbed", help="Score on few, uneven and small pools, and with few seen classes.")
    ] = False,
) -> None:
    """Measure what each part of HPL() contributes: switch it off and score the same samples again.

    The table shows the change of the score in percentage points, with paired
    95 % intervals.

    \b
    Example:  superproto research ablation --data packs -o parts.jsonl
              superproto research ablation --data packs --held-out 3 -o folds.jsonl
              superproto research ablation --data packs --held-out 2 --perturbed -o perturbed.jsonl
              superproto research ablation --data packs --held-out 2 --constants -o constants.jsonl
    """
    from superproto.experiments import ablation

    check_output(output)
    plan = ablation.plan_of_constants() if constants else None
    records = ablation.measure_parts(data, output, _progress(), folds=held_out or 0, plan=plan, perturbed=perturbed)
    found = ablation.findings(records, plan, intervals=not held_out)
    if held_out:
        title = "Points against the whole model, mean over folds (cases in which the part helped)"
        terminal.show_table(*ablation.held_out_table(found), title=title)
    else:
        terminal.show_table(*ablation.table_of(found), title="Points against the whole model, 95 % intervals")


@research_app.command("robustness")
def robustness_verb(
    packs: Annotated[list[Path], typer.Argument(metavar="PACK", help="Data packs.", exists=True)],
    output: RecordsOutput,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION", help="This condition only: its name, level or both, as in the table. Repeatable."
        ),
    ] = None,
) -> None:
    """Measure robustness to missing classes, class imbalance, few unlabeled samples and noisy attributes.

    HPL() is compared with the inductive model, K-means and TransCLIP on the
    same random draws.

    \b
    Example:  superproto research robustness flo.npz awa.npz -o robustness.jsonl
              superproto research robustness flo.npz --only half
                  --only "samples in the pool: 1" -o robustness.jsonl
    """
    from superproto.datasets import load
    from superproto.experiments.generated_docs import robustness_table
    from superproto.experiments.robustness import measure_robustness

    check_output(output, *packs)
    step, found = terminal.steps(), []
    for pack in packs:
        for finding in measure_robustness(load(pack), output, only=only or ()):
            found.append(finding)
            step(f"{finding['task']}, {finding['condition']}: {finding['draws']} draws")
    terminal.show_table(*robustness_table(found).to_text(), title="Accuracy in percent, mean over the draws")


def _progress() -> Callable[[Record, bool], None]:
    step = terminal.steps()
    return lambda record, reused: step(
        f"{record.task}, {record.setting}: {'recorded already' if reused else f'{record.seconds:.1f} s'}"
    )
