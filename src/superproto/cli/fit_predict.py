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
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The file to write, by this name.")],
    path: Annotated[
        Path | None, typer.Argument(metavar="PACK", help="A pack (.npz), or an xlsa17 folder.", show_default=False)
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option("--features", metavar="FILE", help="In place of PACK: npy, zarr, h5 or parquet, read in chunks."),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", metavar="FILE", help="With --features: CSV with id,label.")
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
            "--rejection/--no-rejection", help="Learn from held-out classes when to reject a row (a second fit)."
        ),
    ] = True,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="Compute on this Dask cluster; local: start one here."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="FILE", help="Save each iteration; an interrupted fit continues from it."),
    ] = None,
    seed: Seed = 0,
    attributes: Attributes = "att",
    as_json: AsJson = False,
) -> None:
    """Learn a model and write it to a file that is safe to open.

    Give a data set, or three files: features, and the tables of labels and
    classes that `superproto pack` reads. A file of features stays on the disk,
    so it may be larger than memory.

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
    """The file stays until the model is saved, so that a full disk or a stop in between costs nothing."""
    if checkpoint is None:
        return params
    from superproto.hpl.checkpoint import LastingPath

    return {**params, "checkpoint": LastingPath(checkpoint)}


def _source_files(path: Path | None, *given: Path | None) -> list[Path]:
    """The three files that take the place of a data set; none where a data set is given."""
    files = [file for file in given if file is not None]
    if path is not None:
        if files:
            raise UserError(
                f"{path} is read as a data set, which has its own labels and classes. For a file of features write "
                f"--features {path} --labels FILE --classes FILE; else leave these options out."
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
    """The model of three files, and what to call their data."""
    from superproto.evaluation.training import fit_files

    features, labels, classes = files
    model = fit_files(features, labels, classes, method, params, candidates=candidates, **common)
    if rejection:
        terminal.note("No threshold for rejecting rows was learned: that needs a pack (superproto pack).")
    return model, features.name


def _fit_pack(
    path: Path,
    method: str,
    params: dict[str, Any],
    reading: tuple[Setting, Protocol, str],
    rejection: bool,
    common: dict[str, Any],
) -> tuple[Any, str]:
    """The model of a data set, and the name of its task."""
    from superproto.evaluation.training import fit_task

    with terminal.progress(f"reading {path.name}"):
        task = load_task(path, *reading)
    with terminal.progress(f"{method} on {task.name}: {len(task.X)} samples, {len(task.semantics)} classes"):
        return fit_task(task, method, params, rejection=rejection, **common), task.name


def _show_fitted(model: Any, output: Path, method: str, name: str, as_json: bool) -> None:
    learned: dict[str, Any] | None = getattr(model, "rejection_", None)
    if as_json:
        terminal.show_json({"model": output, "method": method, "task": name, "rejection": learned})
        return
    terminal.show(f"Wrote {terminal.place(output)}: {method} for {len(model.classes_)} classes of {name}.")
    if learned is not None:
        terminal.show(
            f"On held-out classes, rejection keeps {learned['kept']:.0%} of the samples of known classes and rejects "
            f"{learned['rejected']:.0%} of those of unknown classes (area under the curve {learned['auroc']:.3f})."
        )
    terminal.show(f"Next: superproto predict {shlex.quote(str(output))} FEATURES -o predicted.csv")


@app.command("predict", rich_help_panel=HelpPanel.MODEL)
def predict_verb(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `superproto fit` wrote.")],
    features: Annotated[
        Path, typer.Argument(metavar="FEATURES", help="npy, npz, csv, parquet, safetensors, zarr, h5, or a pack.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="LABELS", help="CSV, or Parquet where the name ends so.")
    ],
    doubtful_first: Annotated[
        bool, typer.Option("--doubtful-first", help="Most uncertain rows first, so that a person reviews those first.")
    ] = False,
    reject: Annotated[
        bool, typer.Option("--reject", help="Leave the label empty where a row seems to belong to no known class.")
    ] = False,
    only_unlabeled: Annotated[
        bool, typer.Option("--only-unlabeled", help="Of a pack, label the samples that have no label.")
    ] = False,
    parts: Annotated[
        bool,
        typer.Option(
            "--parts", help="Write a folder of Parquet parts, for any number of rows; continues after a stop."
        ),
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Of a pack: also ask the model about the rows whose labels are given.")
    ] = False,
    safe_csv: Annotated[
        bool,
        typer.Option("--safe-csv/--raw-csv", help="Put ' before a name that a spreadsheet would take for a formula."),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Label the rows of a file with a model.

    The table has the columns id, label, probability, margin and runner_up. The
    margin is the lead of the label's probability over that of the runner-up. Of
    a pack, the model labels what is asked for; labels that were given for
    fitting are kept, with probability 1.

    \b
    Example:  superproto predict cub.model new.npy -o labels.csv --reject
              superproto predict cub.model many.zarr -o labels --parts
    """
    if parts:
        if only_unlabeled:
            raise UserError(
                "--only-unlabeled reads a pack whole, and --parts reads rows in parts. Choose one of the two."
            )
        if doubtful_first:
            raise UserError("--doubtful-first sorts all rows, and --parts never holds them all. Choose one of the two.")
        _predict_parts(model, features, output, reject, as_json)
        return
    from superproto.baselines.registry import load_model
    from superproto.estimator.label_table import given_labels, open_features, write_labels

    check_output(output, model, features)
    with terminal.progress(f"labeling {features.name}"):
        loaded = load_model(model)
        rows = _unlabeled_rows(features) if only_unlabeled else open_features(features)
        given = None if every or only_unlabeled else given_labels(features, loaded)
        options = {"doubtful_first": doubtful_first, "reject": reject, "safe": safe_csv}
        try:
            handed = write_labels(output, loaded, rows, given=given, **options)  # type: ignore[arg-type]
        except UserError as error:
            named = any(str(path) in str(error) for path in (features, output))
            raise UserError(str(error) if named else f"{features}: {error}") from None
    kept = 0 if given is None else sum(label is not None for label in given)
    if kept:
        terminal.note(f"{kept} of {handed.rows} rows keep the label that {features.name} gives; --all labels them too.")
    if as_json:
        terminal.show_json({"labels": output, **handed._asdict()})
        return
    rejected = f", {handed.rejected} of them left without a label" if reject else ""
    # What was asked for may go to standard output itself (-o /dev/stdout): the summary is a note.
    written = f"Wrote {handed.rows} rows to {terminal.place(output)}{rejected}"
    terminal.note(f"{written}; mean probability {handed.mean_probability:.2f}.")


def _unlabeled_rows(path: Path) -> Any:
    """The samples of a pack without a label, under their ids."""
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
    before = f", {streamed.found} of them before" if streamed.found else ""
    terminal.note(f"Wrote {streamed.rows} rows to {terminal.place(output)} in {streamed.parts} parts{before}.")
