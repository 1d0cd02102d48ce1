"""SHOW what records say about one part or one hand-set number of the model: blocks of the decision pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from superproto.experiments.ablation import (
    Finding,
    held_out_table,
    table_of,
)
from superproto.experiments.plans import read_parts_plan
from superproto.experiments.records import Record
from superproto.hpl.constants import Constants, numbers
from superproto.reporting.table import Content, Table, Text

_TEXT_METHODS = ("zero-shot", "transclip", "hpl")
_TEXT_SCORES = {"zsl": ("ZSL, per-class accuracy", "per_class_accuracy"), "gzsl": ("GZSL, H", "harmonic_mean")}


def slug_of(part: str) -> str:
    """The name of a part's block: its words before a parenthesis.

    >>> slug_of("omega (0.5 as in the paper)")
    'omega'
    """
    return re.sub(r"\W+", "-", part.partition("(")[0].strip().lower())


def evidence_blocks(
    of_parts: Callable[[], Mapping[str, Sequence[Finding]]],
    of_constants: Callable[[], Sequence[Finding]],
    texts: Sequence[Record],
) -> dict[str, Callable[[], str]]:
    """What makes the block of each part, of each hand-set number, of all numbers, and of the text data sets.

    ``of_parts`` gives the findings by what they were measured on; those on test classes come first.
    """
    makers: dict[str, Callable[[], str]] = {
        f"part-{slug_of(part.name)}": lambda name=part.name: part_block(name, of_parts())  # type: ignore[misc]
        for part in read_parts_plan().parts
    }
    for name in numbers():
        makers[f"constant-{name.replace('_', '-')}"] = lambda name=name: constants_block(of_constants(), [name])  # type: ignore[misc]
    makers["constants"] = lambda: constants_block(of_constants(), list(numbers()))
    makers["texts"] = partial(texts_block, texts)
    return makers


def part_block(name: str, found: Mapping[str, Sequence[Finding]]) -> str:
    """One part off: points on test classes with the 95 % interval, and the mean over folds of held-out classes.

    ``found`` has the findings by what they were measured on; those on test classes come first.
    """
    tables = {}
    for number, (where, findings_there) in enumerate(found.items()):
        own = [finding for finding in findings_there if finding.part == name]
        tables[where] = held_out_table(own) if number else table_of(own)
    rows = [
        [column, where, cell]
        for where, (head, lines) in tables.items()
        for line in lines
        for column, cell in zip(head[1:], line[1:])
    ]
    if not rows:
        return "Not measured yet: `superproto research ablation --data DIR -o FILE`."
    return Table(["data", "measured on", "change in points without it"], rows, text_columns=2).to_markdown()


def constants_block(found: Sequence[Finding], names: Sequence[str]) -> str:
    """These hand-set numbers at half and twice their value: the change on held-out seen classes."""
    head, lines = held_out_table(found)
    changes = {line[0]: line[1:] for line in lines}
    defaults, units = Constants(), numbers()
    rows: list[list[Content]] = [
        [Text(name, "code"), f"{getattr(defaults, name):g}", units[name], part.partition(" = ")[2], *changes[part]]
        for name in names
        for part in changes
        if part.partition(" = ")[0] == name
    ]
    if not rows:
        return "Not measured yet: `superproto research ablation --data DIR --held-out 2 --constants -o FILE`."
    return Table(["number", "value", "unit", "other value", *head[1:]], rows, text_columns=3).to_markdown()


def texts_block(records: Sequence[Record]) -> str:
    """Data sets with text vectors in the space of the features: the plain rule, TransCLIP and the model."""
    newest: Mapping[tuple[str, str, str], Record] = {(r.task, r.setting, r.method): r for r in records if r.scores}
    rows = []
    for setting, (title, score) in _TEXT_SCORES.items():
        for task in sorted({task for task, of_setting, _ in newest if of_setting == setting}):
            runs = [newest.get((task, setting, method)) for method in _TEXT_METHODS]
            rows.append([task, title, *(f"{100 * run.scores[score]:.1f}" if run else "–" for run in runs)])
    if not rows:
        return "Not measured yet: `superproto evaluate PACK --record benchmarks/texts.jsonl`."
    columns: list[Content] = ["data", "score in percent", *(Text(method, "code") for method in _TEXT_METHODS)]
    return Table(columns, rows, text_columns=2).to_markdown()
