"""The application that the verbs register with, and the list of the files that hold them.

A group of verbs is a file here. It does `from .app import app`, puts `@app.command()` on its functions, and imports the
library inside them, so that `superproto --help` loads neither numpy nor scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import Annotated

import typer

import superproto

# In the order in which `superproto --help` lists them.
GROUPS = (
    "demo",
    "research.paper",
    "report",
    "data",
    "evaluate",
    "research.leaderboard",
    "fit_predict",
    "tune",
    "research.studies",
    "research.speed",
)
app = typer.Typer(
    name="superproto",
    help="Label classes that nobody ever labeled: zero-shot recognition with hierarchical prototypes.",
    epilog="Start with [bold]superproto demo[/bold]. Each verb's --help has an example.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def complete_app() -> typer.Typer:
    """The application with the verbs of every group."""
    for group in GROUPS:
        importlib.import_module(f"superproto.cli.{group}")
    return app


def _print_version(asked: bool) -> None:
    if asked:
        print(f"superproto {superproto.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and leave.", callback=_print_version, is_eager=True)
    ] = False,
) -> None: ...
