"""The applications that the verbs register with, the panels of `superproto --help`, and the list of files with verbs.

A group of verbs is a file here. It does `from superproto.cli.app import app` and decorates its functions with
`@app.command(...)`. The functions import the library inside, so that `superproto --help` loads neither numpy nor
scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer

import superproto
from superproto.cli.outputs import guarded


class HelpPanel:
    """The groups of `superproto --help`, in order."""

    START, DATA, MODEL, SCORE, RESEARCH = "Start", "Data", "Model", "Score", "Research"


# In the order in which `superproto --help` lists their verbs.
GROUPS = (
    "demo",
    "data",
    "pictures",
    "label",
    "explore",
    "fit_predict",
    "tune",
    "report",
    "evaluate",
    "research.paper",
    "research.leaderboard",
    "research.studies",
    "research.speed",
    "research.docs",
)
_CONTEXT = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="superproto",
    help="Label samples, also of classes that have no labeled example (zero-shot recognition).\n\n"
    "Input: feature vectors or pictures, labels for some classes, and a description\n"
    "of every class (attributes or a text). Output: a class and a probability for\n"
    "every unlabeled sample. A class is seen if it has labeled samples, else unseen.",
    epilog="Start with [bold]superproto demo[/bold]. For your own data: pack, fit, predict, report; "
    "for pictures: label, explore. The --help of each command has an example.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings=_CONTEXT,
)
research_app = typer.Typer(
    name="research",
    help="Repeat the experiments: the paper's tables, the leaderboard, and studies of the default model.",
    epilog="Example:  superproto research leaderboard --records benchmarks/leaderboard.jsonl",
    rich_markup_mode="rich",
    context_settings=_CONTEXT,
)
app.add_typer(research_app, rich_help_panel=HelpPanel.RESEARCH)


def complete_app() -> typer.Typer:
    """Return the application with the verbs of every group."""
    for group in GROUPS:
        importlib.import_module(f"superproto.cli.{group}")
    app.registered_commands.sort(key=_place)
    for command in (*app.registered_commands, *research_app.registered_commands):
        if not hasattr(command.callback, "__signature__"):
            command.callback = guarded(str(command.name), command.callback)  # type: ignore[arg-type]
    return app


def _place(command: Any) -> int:
    """Return the position of a verb in the help, independent of the order of the imports."""
    return GROUPS.index(command.callback.__module__.removeprefix("superproto.cli."))


def _print_version(asked: bool) -> None:
    if asked:
        print(f"superproto {superproto.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None: ...
