"""Numbers in README and docs: written between markers from records, so that none is typed by hand.

<!-- generated:results -->
... replaced ...
<!-- /generated:results -->
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from superproto.errors import UserError
from superproto.experiments.leaderboard.blocks import BOARD_BLOCKS, Standing
from superproto.experiments.paper.published import published_rows
from superproto.experiments.paper.tables import (
    ablation_tables,
    accuracy_table,
    data_sets_table,
    direction_tables,
    generalized_table,
)
from superproto.experiments.plans import Plan, read_plan
from superproto.experiments.records import Entry, Record, Results, Score
from superproto.experiments.speed.views import SPEED_BLOCKS
from superproto.experiments.studies import STUDY_BLOCKS
from superproto.files import write_whole
from superproto.reporting.markdown import from_tables, markdown_table
from superproto.reporting.markup import join

_MARKED = re.compile(r"(<!-- generated:([\w-]+) -->\n).*?(<!-- /generated:\2 -->)", re.S)
_OPEN = re.compile(r"<!-- generated:([\w-]+) -->")
Block = Callable[[Plan, Results], str]


def results_block(plan: Plan, results: Results) -> str:
    """ZSL and GZSL on the data at hand, the paper's figures beside them."""
    head = ["data, features", "start: descriptions alone", "as published", "as published, whitened", "`HPL()`"]
    head += ["GZSL H: as published, whitened", "GZSL H: `HPL()`", "sweeps: as published / whitened / `HPL()`"]
    rows = []
    for data in plan.data:
        if data.name not in results.tasks():
            continue
        published = [{"whiten": False}, {"whiten": True}]
        zsl = [results.score(data.name, "prototypes", {"whiten": True})]
        zsl += [results.score(data.name, "hpl-published", params) for params in published]
        zsl.append(results.score(data.name, "hpl"))
        general = [results.score(data.name, "hpl-published", published[1], setting="gzsl")]
        general.append(results.score(data.name, "hpl", setting="gzsl"))
        sweeps = [results.value("sweeps", data.name, "hpl-published", params) for params in published]
        sweeps.append(results.value("sweeps", data.name, "hpl"))
        counts = " / ".join("–" if s is None else f"{s.mean:.0f}" for s in sweeps)
        rows.append([f"{data.dataset}, {data.features}", *(_percent(s) for s in (*zsl, *general)), counts])
    return markdown_table(head, rows) + "\n\n" + _paper_sentence()


def ablation_block(plan: Plan, results: Results) -> str:
    """Table VI on the data at hand, whitened: accuracy and seconds of each variant."""
    data = [d for d in plan.data if d.name in results.tasks() and d.allows("hpl1")]
    rows = []
    for ablation in plan.ablations:
        for variant in ablation.variants:
            params = {**variant.params, "whiten": True}
            cells = []
            for entry in data:
                accuracy = results.score(entry.name, variant.method, params)
                seconds = results.value("cpu_seconds", entry.name, variant.method, params)
                cells.append(
                    "–" if accuracy is None or seconds is None else f"{_percent(accuracy)}, {seconds.mean:.1f} s"
                )
            rows.append([f"{ablation.index} {variant.row}", *cells])
    return markdown_table(["variant", *(entry.title for entry in data)], rows)


def digits_block(plan: Plan, results: Results) -> str:
    """The demo's honest average."""
    found = results.figure("digits").get("digits")
    if found is None:
        return "Not measured yet: `superproto reproduce --figure digits`."
    before, after = (np.array([choice[i] for choice in found["choices"]]) for i in (1, 2))
    own = next(choice for choice in found["choices"] if choice[0] == found["unseen"])
    spread = [f"{100 * values.mean():.1f} ± {100 * values.std():.1f} %" for values in (before, after)]
    return (
        f"Unseen {', '.join(map(str, own[0]))}: {100 * own[1]:.1f} % inductive, {100 * own[2]:.1f} % transductive. "
        f"Over all {len(before)} choices of three unseen digits: {spread[0]} inductive, {spread[1]} transductive "
        "(mean ± standard deviation)."
    )


def _paper_table(number: int) -> Block:
    """A table of the page as Markdown: what the paper reports beside what was measured here."""

    def block(plan: Plan, results: Results) -> str:
        chosen = next((table for table in plan.tables if table.number == number), None)
        if number == 2:
            return from_tables(data_sets_table(plan, results))
        if number == 6:
            return from_tables(join([ablation_tables(plan, results), *direction_tables(plan, results)]))
        assert chosen is not None
        return from_tables((generalized_table if number == 5 else accuracy_table)(plan, results, chosen))

    return block


BLOCKS: dict[str, Block] = {"results": results_block, "ablation": ablation_block, "digits": digits_block}
BLOCKS |= {f"paper-table-{number}": _paper_table(number) for number in (2, 3, 4, 5, 6)}


def render_readme(
    text: str,
    records: Iterable[Record],
    speed: Mapping[str, Entry] | None = None,
    standing: Standing | None = None,
) -> str:
    """The text with every generated block made anew.

    ``speed``: the last entry of each study of the bench; ``standing``: what the leaderboard's records say.
    """
    plan, results = read_plan(), Results(records)
    makers: dict[str, Callable[[], str]] = {name: partial(make, plan, results) for name, make in BLOCKS.items()}
    makers |= {name: partial(make, speed or {}) for name, make in SPEED_BLOCKS.items()}
    makers |= {name: partial(make, standing or Standing([])) for name, make in BOARD_BLOCKS.items()}
    makers |= STUDY_BLOCKS
    opened = _OPEN.findall(text)
    for name in opened:
        if name not in makers:
            near = difflib.get_close_matches(name, makers, 1)
            raise UserError(f"there is no generated block '{name}'. Known: {', '.join(near or makers)}.")
    found = [match.group(2) for match in _MARKED.finditer(text)]
    if found != opened:
        missing = next(name for name in opened if name not in found or opened.count(name) > found.count(name))
        raise UserError(f"the generated block '{missing}' is not closed. End it with <!-- /generated:{missing} -->.")
    return _MARKED.sub(lambda match: f"{match.group(1)}{makers[match.group(2)]()}\n{match.group(3)}", text)


def marked_files(root: Path) -> list[Path]:
    """README and the docs that have a generated block."""
    files = [root / "README.md", *sorted((root / "docs").glob("**/*.md"))]
    return [path for path in files if path.exists() and _OPEN.search(path.read_text(encoding="utf-8"))]


def stale(
    paths: Sequence[Path],
    records: Sequence[Record],
    speed: Mapping[str, Entry] | None = None,
    standing: Standing | None = None,
) -> list[Path]:
    """The files whose blocks do not say what the records say."""
    return [path for path in paths if path.read_text(encoding="utf-8") != _fresh(path, records, speed, standing)]


def refresh(
    paths: Sequence[Path],
    records: Sequence[Record],
    speed: Mapping[str, Entry] | None = None,
    standing: Standing | None = None,
) -> list[Path]:
    """Write the blocks of these files anew; returns those that changed."""
    changed = stale(paths, records, speed, standing)
    for path in changed:
        text = _fresh(path, records, speed, standing)
        with write_whole(path, text=True) as handle:
            handle.write(text)
    return changed


def _fresh(path: Path, records: Sequence[Record], speed: Mapping[str, Entry] | None, standing: Standing | None) -> str:
    try:
        return render_readme(path.read_text(encoding="utf-8"), records, speed, standing)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _paper_sentence() -> str:
    zsl, gzsl = (next(row for row in published_rows(table) if row.method == "HPL") for table in ("IV", "V"))
    accuracy = ", ".join(f"{name} {value:.1f}" for name, value in zsl.values.items())
    harmonic = ", ".join(f"{name} {value['harmonic_mean']:.1f}" for name, value in gzsl.values.items())
    return (
        "Per-class accuracy in percent, transductive, proposed splits, nothing tuned. The paper, with ResNet-101 "
        f"features: {accuracy}; GZSL H {harmonic}; at most 100 iterations, usually fewer than 60."
    )


def _percent(score: Score | None) -> str:
    return "–" if score is None else f"{100 * score.mean:.1f}"
