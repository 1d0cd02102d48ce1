"""Verbs about models: `fit` one, `predict` labels with it, `tune` its parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superproto.errors import UserError

from . import screen
from .app import app
from .options import (
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

if TYPE_CHECKING:
    from superproto.task import Task
    from superproto.tuning import Progress, Tuned


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
    from superproto.files import refuse_to_replace
    from superproto.modeling import fit_files, fit_model
    from superproto.records import check_writable

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
            screen.note("No threshold for refusing rows was learned: that takes a pack (superproto pack).")
        _show_fitted(model, output, method, path.name, as_json)
        return
    with screen.progress(f"reading {path.name}"):
        task = _load(path, setting, protocol, attributes)
    with screen.progress(f"{method} on {task.name}: {len(task.X)} samples, {len(task.semantics)} classes"):
        model = fit_model(
            task, method, chosen, seed=seed, inductive=inductive, rejection=rejection, scheduler=scheduler
        )
        model.save(output)
    _show_fitted(model, output, method, task.name, as_json)


def _show_fitted(model: Any, output: Path, method: str, name: str, as_json: bool) -> None:
    learned: dict[str, Any] | None = getattr(model, "rejection_", None)
    if as_json:
        screen.show_json({"model": output, "method": method, "task": name, "rejection": learned})
        return
    screen.show(f"Wrote {output}: {method} for {len(model.classes_)} classes of {name}.")
    if learned is not None:
        screen.show(
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
    from superproto.files import refuse_to_replace
    from superproto.labels import open_features, write_labels
    from superproto.persistence import load_model
    from superproto.records import check_writable

    check_writable(output)
    refuse_to_replace(output, model, features)
    with screen.progress(f"labeling {features.name}"):
        loaded = load_model(model)
        handed = write_labels(output, loaded, open_features(features), doubtful_first=doubtful_first, reject=reject)
    if as_json:
        screen.show_json({"labels": output, **handed._asdict()})
        return
    refused = f", {handed.refused} of them left without a label" if reject else ""
    # What was asked for may go to standard output itself (-o /dev/stdout): the summary is a note.
    screen.note(f"Wrote {handed.rows} rows to {output}{refused}; mean probability {handed.mean_probability:.2f}.")


def _predict_parts(model: Path, features: Path, output: Path, reject: bool, as_json: bool) -> None:
    import sys
    from time import perf_counter

    from superproto.persistence import load_model
    from superproto.streaming import stream_labels

    told: list[tuple[int, float]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, perf_counter()))
        (first, start), (_, now) = told[0], told[-1]
        left = f", about {(now - start) * (total - done) / (done - first):.0f} s left" if done > first else ""
        print(f"{done} of {total} rows{left}", file=sys.stderr, flush=True)

    streamed = stream_labels(load_model(model), features, output, reject=reject, progress=tell)
    if as_json:
        screen.show_json({"labels": output, **streamed._asdict()})
        return
    before = f", {streamed.found} of them before" if streamed.found else ""
    screen.note(f"Wrote {streamed.rows} rows to {output} in {streamed.parts} parts{before}.")


@app.command()
def tune(
    path: PackPath,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="JSON", help="The record with the chosen values.")],
    method: Method = "hpl",
    setting: SettingOption = Setting.zsl,
    protocol: ProtocolOption = Protocol.ps,
    inductive: Inductive = False,
    trials: Annotated[int, typer.Option("--trials", help="Points to try beside the default.", min=1)] = 30,
    minutes: Annotated[float | None, typer.Option("--minutes", help="Begin no trial after so long.", min=0)] = None,
    folds: Annotated[int, typer.Option("--folds", help="Class-disjoint validation tasks.")] = 3,
    search: Annotated[
        str | None, typer.Option("--search", help="tpe (needs Optuna) or grid.", metavar="tpe|grid")
    ] = None,
    seed: Seed = 0,
    attributes: Attributes = "att",
    as_json: AsJson = False,
) -> None:
    """Choose a method's parameters on held-out classes; `evaluate --params` takes the result.

    Every trial is kept in JSON.trials.jsonl beside the record: the same command goes on after a kill.

    \b
    Example:  superproto tune cub.npz --method hpl -o tuned.json --minutes 20
              superproto evaluate cub.npz --params tuned.json
    """
    from superproto.records import check_writable
    from superproto.tuning import default_trials_file
    from superproto.tuning import tune as search_parameters

    check_writable(output)
    with screen.progress(f"reading {path.name}"):
        task = _load(path, setting, protocol, attributes)
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

        screen.show_json(asdict(tuned))
    else:
        _show_tuned(tuned, output)


def _load(path: Path, setting: Setting, protocol: Protocol, attributes: str) -> Task:
    from superproto.datasets import load

    task = load(path, setting=setting.value, protocol=protocol.value, attributes=attributes)
    for line in task.notes:
        screen.note(line)
    return task


def _show_progress(told: Progress) -> None:
    import sys

    trial = told.trial
    score = f"{100 * trial.mean:.2f}" if trial.scores else "refused"
    line = f"trial {trial.number} of {told.n_trials}: {score}{' (stopped)' if trial.stopped else ''}"
    best = f"best {100 * told.best.mean:.2f}, default {100 * told.default:.2f}, {told.seconds:.0f} s"
    print(f"{line}; {best}", file=sys.stderr, flush=True)


def _show_tuned(tuned: Tuned, output: Path) -> None:
    screen.show(f"{tuned.method} on {tuned.task}: {tuned.metric} over {len(tuned.folds)} folds of held-out classes")
    screen.show(f"  default  {100 * tuned.default_score:6.2f} %")
    screen.show(f"  chosen   {100 * tuned.score:6.2f} %, spread over folds {100 * tuned.spread:.2f}")
    screen.show(f"  {tuned.reason}")
    for name, value in tuned.params.items():
        screen.show(f"  {name} = {value}")
    screen.show(f"Wrote {output}.")
