"""The verbs `fit` and `predict`: learn a model, and label rows with it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from superproto.cli import terminal
from superproto.cli.app import HelpPanel, app
from superproto.cli.options import (
    AsJson,
    Attributes,
    Inductive,
    Method,
    Param,
    ParamsFile,
    Protocol,
    ProtocolOption,
    Seed,
    Setting,
    SettingOption,
    check_output,
    load_task,
    read_params,
)
from superproto.errors import UserError


@app.command("fit", rich_help_panel=HelpPanel.MODEL)
def fit_verb(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The model file to write.")],
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PACK", help="A data set, as `superproto pack` writes it.", show_default=False),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option("--features", metavar="FILE", help="Instead of PACK: npy, zarr, h5 or parquet, read in chunks."),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", metavar="FILE", help="With --features: CSV with the columns id,label.")
    ] = None,
    classes: Annotated[
        Path | None, typer.Option("--classes", metavar="FILE", help="With --features: one description per class.")
    ] = None,
    method: Method = "hpl",
    setting: SettingOption = Setting.zsl,
    protocol: ProtocolOption = Protocol.ps,
    inductive: Inductive = False,
    param: Param = None,
    params: ParamsFile = None,
    rejection: Annotated[
        bool,
        typer.Option(
            "--rejection/--no-rejection",
            help="Learn on held-out classes when `predict --reject` rejects a row. Needs a second fit.",
        ),
    ] = True,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Compute on the Dask cluster at this address. local: start one on this machine.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint", metavar="FILE", help="Save each iteration to this file; an interrupted fit resumes from it."
        ),
    ] = None,
    seed: Seed = 0,
    attributes: Attributes = "att",
    as_json: AsJson = False,
) -> None:
    """Fit a model to a data set and write it to a file.

    Input: a pack, or three files: features, and the tables of labels and
    classes as for `superproto pack`. A file of features is read in chunks, so
    it may be larger than memory. Output: a model file for `predict` and
    `report`. It holds numbers and text only, so opening it cannot run code.

    \b
    Example:  superproto fit birds.npz -o birds.model
              superproto fit --features x.zarr --labels y.csv
                  --classes c.csv -o birds.model
    """
    files = _source_files(path, features, labels, classes)
    chosen, _ = read_params(param, params, method)
    chosen = _with_checkpoint(chosen, checkpoint)
    check_output(output, path, *files)
    common = {"seed": seed, "inductive": inductive, "scheduler": scheduler}
    if path is None:
        candidates = "all" if setting is Setting.gzsl else "unseen"
        model, name = _fit_features(files, method, chosen, candidates, rejection, common)
    else:
        model, name = _fit_pack(path, method, chosen, (setting, protocol, attributes), rejection, common)
    model.save(output)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    _show_fitted(model, output, method, name, as_json)


def _with_checkpoint(params: dict[str, Any], checkpoint: Path | None) -> dict[str, Any]:
    """Add the checkpoint to the parameters. Its file is kept until the model is saved, so no work can be lost."""
    if checkpoint is None:
        return params
    from superproto.hpl.checkpoint import LastingPath

    return {**params, "checkpoint": LastingPath(checkpoint)}


def _source_files(path: Path | None, *given: Path | None) -> list[Path]:
    """Return the three files that are given instead of a data set; an empty list if a data set is given."""
    files = [file for file in given if file is not None]
    if path is not None:
        if files:
            raise UserError(
                f"{path} is read as a data set, which has its own labels and classes. If it is a file of features, "
                f"write --features {path} --labels FILE --classes FILE; otherwise omit these options."
            )
        return []
    if not files:
        raise UserError("Give a data set, or --features, --labels and --classes. See: superproto fit --help")
    if len(files) < len(given):
        missing = [name for name, file in zip(("--features", "--labels", "--classes"), given) if file is None]
        raise UserError(f"Features, labels and classes are needed together. Give {' and '.join(missing)} too.")
    return files


def _fit_features(
    files: list[Path], method: str, params: dict[str, Any], candidates: str, rejection: bool, common: dict[str, Any]
) -> tuple[Any, str]:
    """Fit a model to three files. Return it with the name of the features."""
    from superproto.evaluation.training import fit_files

    features, labels, classes = files
    model = fit_files(features, labels, classes, method, params, candidates=candidates, **common)
    if rejection:
        terminal.note("No rejection threshold was learned, because that needs a pack (see superproto pack --help).")
    return model, features.name


def _fit_pack(
    path: Path,
    method: str,
    params: dict[str, Any],
    reading: tuple[Setting, Protocol, str],
    rejection: bool,
    common: dict[str, Any],
) -> tuple[Any, str]:
    """Fit a model to a data set. Return it with the name of its task."""
    from superproto.evaluation.training import fit_task

    with terminal.progress(f"reading {path.name}"):
        task = load_task(path, *reading)
    with terminal.progress(f"{method} on {task.name}: {len(task.X)} samples, {len(task.semantics)} classes"):
        return fit_task(task, method, params, rejection=rejection, **common), task.name


def _show_fitted(model: Any, output: Path, method: str, name: str, as_json: bool) -> None:
    from superproto.reporting.verdict import find_forecast

    learned: dict[str, Any] | None = getattr(model, "rejection_", None)
    expected = find_forecast(model)
    if as_json:
        forecast = None if expected is None else expected._asdict()
        terminal.show_json(
            {"model": output, "method": method, "task": name, "rejection": learned, "forecast": forecast}
        )
        return
    terminal.show(f"Wrote {terminal.place(output)}: {method} for {len(model.classes_)} classes of {name}.")
    if expected is not None:
        terminal.show(
            f"Forecast: {expected.accuracy:.0%} per-class accuracy on unseen classes (chance: {expected.chance:.0%}), "
            "measured on seen classes that were labeled as if they were unseen."
        )
    if learned is not None:
        terminal.show(
            f"On held-out classes, rejection keeps {learned['kept']:.0%} of the samples of known classes and rejects "
            f"{learned['rejected']:.0%} of those of unknown classes (area under the ROC curve {learned['auroc']:.3f})."
        )
    terminal.show(f"Next: superproto predict {shlex.quote(str(output))} FEATURES -o predicted.csv")


@app.command("predict", rich_help_panel=HelpPanel.MODEL)
def predict_verb(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `superproto fit` wrote.")],
    features: Annotated[
        Path, typer.Argument(metavar="FEATURES", help="npy, npz, csv, parquet, safetensors, zarr, h5, or a pack.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="LABELS", help="The table to write: .csv, or .parquet.")
    ],
    uncertain_first: Annotated[
        bool, typer.Option("--uncertain-first", help="Sort by uncertainty: the rows to review come first.")
    ] = False,
    # The former name of --uncertain-first.
    doubtful_first: Annotated[bool, typer.Option("--doubtful-first", hidden=True)] = False,
    reject: Annotated[
        bool, typer.Option("--reject", help="Leave the label of a row empty if it seems to belong to no known class.")
    ] = False,
    only_unlabeled: Annotated[
        bool, typer.Option("--only-unlabeled", help="With a pack: write only the samples that have no label.")
    ] = False,
    parts: Annotated[
        bool,
        typer.Option(
            "--parts", help="Write a folder of Parquet files, for any number of rows; an interrupted run resumes."
        ),
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="With a pack: predict also the rows whose labels are given.")
    ] = False,
    safe_csv: Annotated[
        bool,
        typer.Option("--safe-csv/--raw-csv", help="Put ' before text that a spreadsheet would run as a formula."),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Predict a label for every row of a file.

    Input: a model and new feature vectors, or the pack of the fit. Output: a
    table with the columns id, label, probability, margin and runner_up, the
    second most probable class. The margin is the difference of the two
    probabilities. Labels given in a pack are kept, with probability 1.

    \b
    Example:  superproto predict cub.model new.npy -o labels.csv --reject
              superproto predict cub.model many.zarr -o labels --parts
    """
    if parts:
        if only_unlabeled:
            raise UserError(
                "--only-unlabeled reads a whole pack, and --parts reads rows in parts. Choose one of the two."
            )
        if uncertain_first or doubtful_first:
            raise UserError("--uncertain-first sorts all rows, and --parts reads them in parts. Choose one of the two.")
        _predict_parts(model, features, output, reject, as_json)
        return
    from superproto.baselines.registry import load_model
    from superproto.estimator.label_table import given_labels, open_features, write_labels

    check_output(output, model, features)
    with terminal.progress(f"labeling {features.name}"):
        loaded = load_model(model)
        rows = _unlabeled_rows(features) if only_unlabeled else open_features(features)
        given = None if every or only_unlabeled else given_labels(features, loaded)
        options = {"uncertain_first": uncertain_first or doubtful_first, "reject": reject, "safe": safe_csv}
        try:
            written = write_labels(output, loaded, rows, given=given, **options)  # type: ignore[arg-type]
        except UserError as error:
            named = any(str(path) in str(error) for path in (features, output))
            raise UserError(str(error) if named else f"{features}: {error}") from None
    kept = 0 if given is None else sum(label is not None for label in given)
    if kept:
        terminal.note(f"{kept} of {written.rows} rows keep the label that {features.name} gives; --all predicts them.")
    if as_json:
        terminal.show_json({"labels": output, **written._asdict()})
        return
    rejected = f", {written.rejected} of them left without a label" if reject else ""
    # The table may go to standard output itself (-o /dev/stdout), so the summary is a note on standard error.
    summary = f"Wrote {written.rows} rows to {terminal.place(output)}{rejected}"
    terminal.note(f"{summary}; mean probability {written.mean_probability:.2f}.")


def _unlabeled_rows(path: Path) -> Any:
    """Return the samples of a pack that have no label, with their ids."""
    from superproto.datasets.feature_files import Features
    from superproto.datasets.packs import read_pack

    pack = read_pack(path)
    asked = pack.labels < 0
    if not asked.any():
        raise UserError(f"{path} has a label for every sample. Leave --only-unlabeled out.")
    return Features(pack.features[asked], pack.names_of_samples[asked])


def _predict_parts(model: Path, features: Path, output: Path, reject: bool, as_json: bool) -> None:
    from time import perf_counter

    from superproto.baselines.registry import load_model
    from superproto.estimator.label_parts import stream_labels

    started: list[tuple[int, float]] = []

    def show_progress(done: int, total: int) -> None:
        from superproto.samples.progress import print_line, time_left

        started.append((done, perf_counter()))
        (first, start), (_, now) = started[0], started[-1]
        left = f", {time_left(now - start, done - first, total - done)}" if done > first else ""
        print_line(f"{done} of {total} rows{left}")

    streamed = stream_labels(load_model(model), features, output, reject=reject, progress=show_progress)
    if as_json:
        terminal.show_json({"labels": output, **streamed._asdict()})
        return
    before = f", {streamed.found} of them in an earlier run" if streamed.found else ""
    terminal.note(f"Wrote {streamed.rows} rows to {terminal.place(output)} in {streamed.parts} parts{before}.")
