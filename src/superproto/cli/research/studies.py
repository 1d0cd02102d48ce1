"""Verbs that examine the default model: `ablation` (each part off) and `robustness` (pools not as hoped for)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from superproto.cli import terminal
from superproto.cli.app import app

if TYPE_CHECKING:
    from superproto.experiments.records import Record

DataFolder = Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of the data packs.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="JSON lines to append to; what is there is kept.")
]


@app.command()
def ablation(
    data: DataFolder = Path("data"),
    output: Output = None,
    held_out: Annotated[
        int | None,
        typer.Option(metavar="FOLDS", help="On so many sets of held-out seen classes, not on test classes.", min=2),
    ] = None,
) -> None:
    """Switch off each part of HPL() in turn and say what that costs, with paired intervals.

    \b
    Example:  superproto ablation --data packs -o parts.jsonl
              superproto ablation --data packs --held-out 3
    """
    from superproto.experiments.ablation import findings, held_out_table, measure_parts, table_of

    if held_out:
        records = measure_parts(data, output or _results_file("parts_held_out.jsonl"), _progress(), folds=held_out)
        title = "Points against the whole model, mean over folds (folds in which the part helped)"
        terminal.show_table(*held_out_table(findings(records)), title=title)
        return
    records = measure_parts(data, output or _results_file("parts.jsonl"), _progress())
    terminal.show_table(*table_of(findings(records)), title="Points against the whole model, 95 % intervals")


@app.command()
def robustness(
    packs: Annotated[list[Path], typer.Argument(metavar="PACK...", help="Data packs.", exists=True)],
    output: Output = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="CONDITION", help="Name, level or both, as the table has them; may be repeated."),
    ] = None,
) -> None:
    """Spoil the pool: few classes, uneven ones, few samples, noisy attributes; HPL() beside its start and two others.

    \b
    Example:  superproto robustness flo.npz awa.npz -o robustness.jsonl
              superproto robustness flo.npz --only half --only "samples in the pool: 1"
    """
    from superproto.datasets import load
    from superproto.experiments.generated_docs import robustness_table
    from superproto.experiments.robustness import measure_robustness

    step, found = terminal.steps(), []
    for pack in packs:
        for finding in measure_robustness(load(pack), output or _results_file("robustness.jsonl"), only=only or ()):
            found.append(finding)
            step(f"{finding['task']}, {finding['condition']}: {finding['draws']} draws")
    terminal.show_table(*robustness_table(found).to_text(), title="Accuracy in percent, mean over the draws")


def _progress() -> Callable[[Record, bool], None]:
    step = terminal.steps()
    return lambda record, reused: step(
        f"{record.task}, {record.setting}: {'recorded already' if reused else f'{record.seconds:.1f} s'}"
    )


def _results_file(name: str) -> Path:
    """In benchmarks/ of a checkout, else here; never in the installed package."""
    return (Path("benchmarks") if Path("benchmarks").is_dir() else Path()) / name
