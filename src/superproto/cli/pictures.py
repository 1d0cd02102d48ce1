"""The verbs `embed` and `describe`: features of pictures, and vectors of classes."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superproto.cli import terminal
from superproto.cli.app import HelpPanel, app
from superproto.cli.options import AsJson, check_output
from superproto.errors import UserError

if TYPE_CHECKING:
    from superproto.pictures.embedding import EmbeddedFolder, EmbeddingProgress

_SECONDS_BETWEEN_LINES = 5.0
_MOST_LISTED = 10


Photos = Annotated[Path, typer.Argument(metavar="PHOTOS", help="The folder that holds the pictures, at any depth.")]
EncoderOption = Annotated[
    str,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="efficientnet-lite0, efficientnet-lite1, efficientnet-lite2, onnx:FILE, open_clip:NAME, timm:NAME or "
        "hf:NAME.",
    ),
]
RunOption = Annotated[
    Path | None,
    typer.Option("--run", metavar="DIR", help="The folder that keeps features between runs.  [PHOTOS/.superproto]"),
]


@app.command("embed", rich_help_panel=HelpPanel.DATA)
def embed_verb(
    photos: Photos,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The .npz to write: features and ids.  [RUN/features.npz]"),
    ] = None,
    encoder: EncoderOption = "efficientnet-lite0",
    run: RunOption = None,
    as_json: AsJson = False,
) -> None:
    """Compute features of all pictures in a folder.

    A second run computes new pictures only, also after an interruption. Files
    that cannot be used are left out and listed with the reason. Your pictures
    are never changed.

    \b
    Example:  superproto embed photos -o features.npz
    """
    from superproto.pictures.embedding import RUN_FOLDER, embed_folder, write_embedded

    check_output(output)
    embedded = embed_folder(photos, encoder=encoder, run=run, progress=print_progress_lines())
    place = output or (photos / RUN_FOLDER if run is None else run) / "features.npz"
    write_embedded(place, embedded)
    if as_json:
        found = {"features": place, "pictures": len(embedded.ids), "computed": embedded.computed}
        skipped = [entry._asdict() for entry in embedded.skipped]
        terminal.show_json({**found, "skipped": skipped, "copies": embedded.copies, "near_copies": embedded.near})
        return
    show_skipped(embedded)
    size = f"{number_of(len(embedded.ids), 'picture')}, {embedded.features.shape[1]} features each"
    terminal.show(f"Wrote {terminal.place(place)}: {size}; {embedded.computed} were new.")
    file = shlex.quote(str(place))
    terminal.show(f"Next: superproto pack --features {file} --labels LABELS.csv --classes CLASSES.csv -o PACK.npz")


@app.command("describe", rich_help_panel=HelpPanel.DATA)
def describe_verb(
    classes: Annotated[
        Path | None,
        typer.Argument(
            metavar="CLASSES", help="CSV (name,number,... or name,description), JSON, .npz.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The .npz to write: class vectors and names.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="NAME", help="Embed texts with open_clip:NAME or hf:NAME.  [MiniLM]"),
    ] = None,
    template: Annotated[
        bool, typer.Option("--template", help="Print a questionnaire to fill in, one line per class.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compute class vectors from a table of classes.

    Numbers are attributes. Words are embedded without the name of the class:
    describe what is visible, such as colors, shapes and parts.

    \b
    Example:  superproto describe classes.csv -o semantics.npz
              superproto describe classes.csv --template > questions.csv
    """
    from superproto.pictures.descriptions import describe_classes, questionnaire, write_semantics
    from superproto.pictures.encoders import open_encoder

    if template:
        print(questionnaire(classes), end="")
        return
    if classes is None or output is None:
        raise UserError("Give the table of classes and --output FILE, or --template. See: superproto describe --help")
    check_output(output, classes)
    opened = None if encoder is None else open_encoder(encoder)
    if encoder is not None and not hasattr(opened, "embed_texts"):
        raise UserError(
            f"The encoder {encoder} cannot embed texts. Leave --encoder out, or give open_clip:NAME or hf:NAME."
        )
    described = describe_classes(classes, encoder=opened)
    write_semantics(output, described)
    for line in described.notes:
        terminal.note(line)
    n_classes, width = described.semantics.shape
    if as_json:
        terminal.show_json({"semantics": output, "classes": n_classes, "numbers": width, "kind": described.kind})
        return
    made = {"sentences": " (embedded descriptions)", "names": " (embedded names)"}.get(described.kind, "")
    number = "attributes" if described.kind == "attributes" else "numbers"
    terminal.show(f"Wrote {terminal.place(output)}: {number_of(n_classes, 'class')}, {width} {number} each{made}.")
    file = shlex.quote(str(output))
    terminal.show(f"Next: superproto label PHOTOS --classes {file} -o LABELS.csv")


def show_skipped(embedded: EmbeddedFolder) -> None:
    """Show the files that were left out, with the reason, and pictures with copies."""
    if embedded.skipped:
        counts = Counter(entry.reason for entry in embedded.skipped)
        terminal.show(f"Left out: {number_of(len(embedded.skipped), 'file')}.")
        for reason, count in counts.most_common(_MOST_LISTED):
            example = next(entry.path for entry in embedded.skipped if entry.reason == reason)
            more = f" and {count - 1} more" if count > 1 else ""
            terminal.show(f"  {terminal.one_line(example)}{more}: {reason}.")
        if len(counts) > _MOST_LISTED:
            terminal.show(f"  and {len(counts) - _MOST_LISTED} further reasons; --json lists them all.")
    if embedded.copies:
        number = number_of(len(embedded.copies), "picture")
        terminal.show(f"Copies of the same picture: {number}, such as {listed(embedded.copies[0])}.")
    if embedded.near:
        number = number_of(len(embedded.near), "pair")
        terminal.show(f"Nearly the same pictures: {number}, such as {listed(embedded.near[0])}.")


def number_of(number: int, noun: str) -> str:
    """A number with its noun in the singular or the plural."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def listed(names: Any, most: int = 3) -> str:
    """The first names in quotation marks, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def print_progress_lines() -> Callable[[EmbeddingProgress], None]:
    """A line on standard error every few seconds."""
    import sys
    from time import perf_counter

    told = perf_counter()

    def tell(state: EmbeddingProgress) -> None:
        nonlocal told
        if perf_counter() - told >= _SECONDS_BETWEEN_LINES and state.done < state.total:
            told = perf_counter()
            speed = f"{state.rate:.0f} a second, about {state.seconds_left:.0f} s left"
            print(f"{state.done} of {state.total} pictures, {speed}", file=sys.stderr, flush=True)

    return tell
