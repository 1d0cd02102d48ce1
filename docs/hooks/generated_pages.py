"""Pages of the site that are made when it is built: methods, command line, changelog.

MkDocs calls the functions whose names start with ``on_``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SETTINGS = {"zsl": "ZSL, per-class accuracy", "gzsl": "GZSL, U / S / H"}
GROUPS = {"inductive": "Inductive", "transductive": "Transductive"}
RECORDS = ROOT / "benchmarks" / "leaderboard.jsonl"


def on_config(config: Any) -> Any:
    """Add a page for each method to the navigation."""
    methods = next(entry["Methods"] for entry in config["nav"] if "Methods" in entry)
    for kind, title in GROUPS.items():
        methods.append({title: [{key: f"methods/{key}.md"} for key in sorted(leaderboard().plan.groups[kind])]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages to the files of the site."""
    from mkdocs.structure.files import File

    for name, text in generated_pages():
        files.append(File.generated(config, name, content=text))
    chart = ROOT / "benchmarks" / "growth.svg"
    files.append(File.generated(config, "img/growth.svg", abs_src_path=str(chart)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """The chart of `make bench` is beside the records; the site has it among the images."""
    return markdown.replace("../benchmarks/growth.svg", "img/growth.svg")


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Names in docstrings are marked as Sphinx does; show the name alone."""
    return re.sub(r":(?:class|meth|func|mod|attr):<code>~?(?:[\w.]+\.)?(\w+)</code>", r"<code>\1</code>", content)


def generated_pages() -> Iterator[tuple[str, str]]:
    """(name, Markdown) of every page that is not a file in docs/."""
    yield "changelog.md", changelog_page()
    yield "guide/command-line.md", command_line_page()
    yield "methods/index.md", methods_page()
    for key in leaderboard().plan.methods:
        yield f"methods/{key}.md", method_page(key)


def changelog_page() -> str:
    """CHANGELOG.md, with links that start in docs/."""
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")


# -- methods -----------------------------------------------------------------------------------------------------------


@cache
def leaderboard() -> Any:
    """The leaderboard, from the records alone."""
    from superproto.experiments.leaderboard.views import LeaderboardRecords
    from superproto.experiments.records import read_records

    return LeaderboardRecords(read_records(RECORDS)).leaderboard


@cache
def summaries() -> dict[str, str]:
    """The first sentence of every method's docstring, as `superproto methods` shows it."""
    from superproto.cli.evaluate import _method_entries

    return {entry.name: entry.summary for entry in _method_entries()}


def methods_page() -> str:
    """Every method in a table: what it does, where it is from, how accurate it is here."""
    plan = leaderboard().plan
    lines = [
        "---",
        "hide: [toc]",
        "---",
        "",
        "# Methods",
        "",
        "Every method has the same signature, whether it is the model of this package or one that it is compared with:",
        "`fit(X, y, semantics=A)`, `transduction_`, `predict`, `decision_function`. A *transductive* method learns",
        "from the unlabeled samples too. An *inductive* one does not. `superproto methods` prints this list.",
        "",
        "The last two columns are means over the four data sets of [the leaderboard](../leaderboard.md), in percent,",
        "on whitened features. A number in parentheses says how many of the data sets were run.",
        "",
        "| method | what it does | kind | year | reference | ZSL | GZSL H |",
        "| --- | --- | --- | --- | --- | ---: | ---: |",
    ]
    for key in leaderboard().ranked("zsl", "whitened"):
        card = plan.card(key)
        cells = [
            key_link(key),
            f'<span class="what-it-does">{plain(summaries()[key])}</span>',
            kind_of(key),
            str(card.year or "–"),
            card.reference,
        ]
        cells += [mean_of(key, setting) for setting in SETTINGS]
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def key_link(key: str) -> str:
    return f"[`{key}`]({key}.md)"


def kind_of(key: str) -> str:
    return next(kind for kind in GROUPS if key in leaderboard().plan.groups[kind])


def mean_of(key: str, setting: str) -> str:
    from superproto.experiments.leaderboard.views import mean_score

    board = leaderboard()
    return mean_score([board.cells[column][key] for column in board.columns(setting, "whitened")])


def method_page(key: str) -> str:
    """One method: its docstring with formula, reference and settings, how to run it, and the figures from records."""
    from superproto.baselines.registry import _HOMES, DEEP

    card = leaderboard().plan.card(key)
    extra = ' It learns with torch: `pip install "superproto[torch]"`.' if key in DEEP else ""
    year = f", {card.year}" if card.year else ""
    return "\n".join(
        [
            f"# {card.name} (`{key}`)",
            "",
            f"A method of the kind *{kind_of(key)}*, from {card.reference}{year}.{extra}",
            "",
            "```text",
            f"superproto evaluate PACK --method {key}",
            f'METHODS["{key}"]().fit(X, y, semantics=A)',
            "```",
            "",
            *described(key, _HOMES[key].replace(":", ".")),
            "",
            "## Figures on our data",
            "",
            *figures_of(key),
            "",
            "All methods side by side: [the leaderboard](../leaderboard.md).",
            "",
        ]
    )


def described(key: str, home: str) -> list[str]:
    """The docstring of a method; that of HPL is on a page of its own."""
    if key == "hpl":
        return [f"{summaries()[key]} Its parameters and attributes are on the page [HPL](../api/hpl.md)."]
    return [f"::: {home}", "    options:", "      members: []"]


def figures_of(key: str) -> Iterator[str]:
    """The rows of a method in the leaderboard, from its records."""
    from superproto.experiments.leaderboard.views import cell_text

    board = leaderboard()
    yield "Percent, from `benchmarks/leaderboard.jsonl`. U and S are unseen and seen accuracy, H their harmonic mean."
    yield ""
    yield "| data | features | ZSL, per-class accuracy | GZSL, U / S / H | parameters |"
    yield "| --- | --- | ---: | ---: | --- |"
    for features in ("whitened", "raw"):
        generalized = {column.data.name: column for column in board.columns("gzsl", features)}
        for column in board.columns("zsl", features):
            cells = [board.cells[column][key]]
            cells += [board.cells[generalized[n]][key] for n in [column.data.name] if n in generalized]
            if all(cell.missing for cell in cells):
                continue
            chosen = "tuned" if cells[0].tuned else "defaults"
            texts = [cell_text(cell) for cell in cells]
            yield f"| {column.data.title} | {features} | {' | '.join(texts)} | {chosen} |"


# -- command line ------------------------------------------------------------------------------------------------------


def command_line_page() -> str:
    """Every command with its help and its options, from the application itself."""
    import typer.main

    from superproto.cli.app import complete_app

    program = typer.main.get_command(complete_app())
    parts = [
        "# Command line",
        "",
        "This page is made from the program. `superproto --help` and `superproto COMMAND --help` print the same.",
        "A command ends with 0 on success, with 2 after a mistake of its user, and with 130 after Ctrl-C.",
    ]
    panel = ""
    for words, command in commands_of(program, ()):
        found = getattr(command, "rich_help_panel", None)
        title = "Research" if words[0] == "research" else str(found or "")
        if title and title != panel:
            parts += ["", f"## {title}"]
            panel = title
        parts += ["", *command_section(" ".join(words), command)]
    return "\n".join(parts) + "\n"


def commands_of(group: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            yield from commands_of(command, (*words, name))
        else:
            yield (*words, name), command


def command_section(name: str, command: Any) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    for paragraph in re.split(r"\n\s*\n", (command.help or "").strip()):
        if paragraph.lstrip().startswith("\b"):
            body = [line.rstrip() for line in paragraph.replace("\b", "").strip("\n").splitlines()]
            yield from ("```text", *body, "```", "")
        else:
            yield plain(" ".join(paragraph.split()))
            yield ""
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden and p.name != "help"]
    if arguments or options:
        yield "| argument or option | what it is | default |"
        yield "| --- | --- | --- |"
    for parameter in arguments:
        yield f"| `{parameter.metavar or parameter.name.upper()}` | {plain(parameter.help or '')} | |"
    for option in options:
        names = ", ".join([*option.opts, *option.secondary_opts])
        metavar = "" if option.is_flag else f" {option.metavar or type_name(option)}"
        shown = default_of(option)
        yield f"| `{names}{metavar}` | {plain(option.help or '')} | {shown} |".replace("``", "`")


def type_name(option: Any) -> str:
    """The kind of value that an option without a metavar takes."""
    choices = getattr(getattr(option, "type", None), "choices", None)
    annotation = getattr(getattr(option, "type_descriptor", None), "annotation", None)
    return "|".join(map(str, choices)) if choices else str(getattr(annotation, "__name__", "value")).upper()


def default_of(option: Any) -> str:
    value = option.default() if callable(option.default) else option.default
    if value in (None, False, (), []) or option.is_flag or option.required or "required" in str(value).lower():
        return ""
    return "" if "Sentinel" in type(value).__name__ else f"`{getattr(value, 'value', value)}`"


def plain(text: str) -> str:
    """Help text as Markdown: signs of tables and tags are text."""
    return re.sub(r"\[/?(?:bold|dim|italic)\]", "", text).replace("|", "&#124;").replace("<", "&lt;")
