"""Verbs about models: `fit` one, `predict` labels with it, `tune` its parameters."""

from __future__ import annotations

from pathlib import Path
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
    read_params,
)
from superproto.errors import UserError

if TYPE_CHECKING:
    from superproto.datasets.task import Task


@app.command()
def fit(
    path: PackPath,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The file to write, by this name.")],
    method: Method = "hpl",
    setting: SettingOption = Setting.zsl,
    protocol: ProtocolOption = Protocol.ps,
    inductive: Inductive = False,
    param: Param = None,
    params: ParamsFile = None,
    rejection: Annotated[
        bool,
        typer.Option("--rejection/--no-rejection", help="Learn from held-out classes when to refuse (a second fit)."),
    ] = True,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler", metavar="ADDRESS", help="Compute on this Dask cluster; local: on one started here."
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="FILE", help="Keep each iteration; go on from it after a stop."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", metavar="CSV", help="PACK is then a file of features, left on the disk."),
    ] = None,
    classes: Annotated[
        Path | None, typer.Option("--classes", metavar="FILE", help="With --labels: one description per class.")
    ] = None,
    seed: Seed = 0,
    attributes: Attributes = "att",
    as_json: AsJson = False,
) -> None:
    """Learn a model from a data set and keep it in a file that is safe to open.

    \b
    Example:  superproto fit cub.npz -o cub.model
              superproto fit x.zarr --labels y.csv --classes c.csv -o x.model
    """
    chosen, _ = read_params(param, params, method)
    chosen = chosen if checkpoint is None else {**chosen, "checkpoint": str(checkpoint)}
    from superproto.evaluation.training import fit_files, fit_task
    from superproto.experiments.records import check_writable
    from superproto.files import refuse_to_replace

    check_writable(output)
    refuse_to_replace(output, path, labels, classes)
    if labels is not None or classes is not None:
        if labels is None or classes is None:
            raise UserError("A file of features needs both tables. Give --labels and --classes.")
        candidates = "all" if setting is Setting.gzsl else "unseen"
        model = fit_files(
            path, labels, classes, method, chosen,
            seed=seed, candidates=candidates, inductive=inductive, scheduler=scheduler,
        )  # fmt: skip
        model.save(output)
        if rejection:
            terminal.note("No threshold for refusing rows was learned: that takes a pack (superproto pack).")
        _show_fitted(model, output, method, path.name, as_json)
        return
    with terminal.progress(f"reading {path.name}"):
        task = load_task(path, setting, protocol, attributes)
    with terminal.progress(f"{method} on {task.name}: {len(task.X)} samples, {len(task.semantics)} classes"):
        model = fit_task(task, method, chosen, seed=seed, inductive=inductive, rejection=rejection, scheduler=scheduler)
        model.save(output)
    _show_fitted(model, output, method, task.name, as_json)


def _show_fitted(model: Any, output: Path, method: str, name: str, as_json: bool) -> None:
    learned: dict[str, Any] | None = getattr(model, "rejection_", None)
    if as_json:
        terminal.show_json({"model": output, "method": method, "task": name, "rejection": learned})
        return
    terminal.show(f"Wrote {output}: {method} for {len(model.classes_)} classes of {name}.")
    if learned is not None:
        terminal.show(
            f"On held-out classes, refusing keeps {learned['kept']:.0%} of their samples and refuses "
            f"{learned['refused']:.0%} of those of no class (area under the curve {learned['auroc']:.3f})."
        )


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `superproto fit` wrote.")],
    features: Annotated[
        Path, typer.Argument(metavar="FEATURES", help="npy, npz, csv, parquet, safetensors, or a pack: all its rows.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="LABELS", help="CSV, or Parquet where the name ends so.")
    ],
    doubtful_first: Annotated[
        bool, typer.Option("--doubtful-first", help="Sort by doubt, so that a person can begin where it helps most.")
    ] = False,
    reject: Annotated[
        bool, typer.Option("--reject", help="Leave the label empty where a row seems to be none of the classes.")
    ] = False,
    parts: Annotated[
        bool,
        typer.Option(
            "--parts", help="LABELS is a folder of Parquet parts: for any number of rows; goes on after a stop."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Label the rows of a file: id, label, probability, margin, runner_up.

    \b
    Example:  superproto predict cub.model new.npy -o labels.csv --reject
              superproto predict cub.model many.zarr -o labels --parts
    """
    if parts:
        if doubtful_first:
            raise UserError("--doubtful-first sorts all rows, and --parts never holds them all. Choose one of the two.")
        _predict_parts(model, features, output, reject, as_json)
        return
    from superproto.baselines.registry import load_model
    from superproto.estimator.label_table import open_features, write_labels
    from superproto.experiments.records import check_writable
    from superproto.files import refuse_to_replace

    check_writable(output)
    refuse_to_replace(output, model, features)
    with terminal.progress(f"labeling {features.name}"):
        loaded = load_model(model)
        handed = write_labels(output, loaded, open_features(features), doubtful_first=doubtful_first, reject=reject)
    if as_json:
        terminal.show_json({"labels": output, **handed._asdict()})
        return
    refused = f", {handed.rejected} of them left without a label" if reject else ""
    # What was asked for may go to standard output itself (-o /dev/stdout): the summary is a note.
    terminal.note(f"Wrote {handed.rows} rows to {output}{refused}; mean probability {handed.mean_probability:.2f}.")


def _predict_parts(model: Path, features: Path, output: Path, reject: bool, as_json: bool) -> None:
    import sys
    from time import perf_counter

    from superproto.baselines.registry import load_model
    from superproto.estimator.label_table import stream_labels

    told: list[tuple[int, float]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, perf_counter()))
        (first, start), (_, now) = told[0], told[-1]
        left = f", about {(now - start) * (total - done) / (done - first):.0f} s left" if done > first else ""
        print(f"{done} of {total} rows{left}", file=sys.stderr, flush=True)

    streamed = stream_labels(load_model(model), features, output, reject=reject, progress=tell)
    if as_json:
        terminal.show_json({"labels": output, **streamed._asdict()})
        return
    before = f", {streamed.found} of them before" if streamed.found else ""
    terminal.note(f"Wrote {streamed.rows} rows to {output} in {streamed.parts} parts{before}.")


def load_task(path: Path, setting: Setting, protocol: Protocol, attributes: str) -> Task:
    from superproto.datasets import load

    task = load(path, setting=setting.value, protocol=protocol.value, attributes=attributes)
    for line in task.notes:
        terminal.note(line)
    return task
