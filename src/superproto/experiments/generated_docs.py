"""RESEARCH: write the numbers in README and docs from recorded results, between markers.

<!-- generated:results -->
... replaced ...
<!-- /generated:results -->
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from superproto.baselines.registry import DEEP
from superproto.errors import UserError
from superproto.experiments.ablation import Finding, findings, held_out_table, plan_of_constants, table_of
from superproto.experiments.evidence_blocks import evidence_blocks
from superproto.experiments.leaderboard.views import LEADERBOARD_BLOCKS, LeaderboardRecords
from superproto.experiments.paper.published import published_rows
from superproto.experiments.paper.tables import (
    ablation_tables,
    accuracy_table,
    data_sets_table,
    direction_tables,
    generalized_table,
)
from superproto.experiments.plans import Plan, read_plan
from superproto.experiments.records import Entry, Record, Results, Score, last_entries, read_records
from superproto.experiments.robustness import COMPARED, START, read_findings
from superproto.experiments.speed.views import SPEED_BLOCKS
from superproto.files import write_whole
from superproto.reporting.table import Content, Table, TableCell, Text

_OPEN = re.compile(r"<!-- generated:([\w-]+) -->")
_MARKED = re.compile(r"(<!-- generated:([\w-]+) -->\n).*?(<!-- /generated:\2 -->)", re.S)
_OWN = Text("HPL()", "code")
_METHODS: dict[str, Content] = {START: "its start", "hpl": _OWN, "kmeans": "K-means", "transclip": "TransCLIP"}
# Loss against its start, averaged over the draws, above which the model is reported as worse.
_TOLERATED_LOSS = 0.01
Block = Callable[[Plan, Results], str]


@dataclass(frozen=True)
class RecordedResults:
    """The results that generated blocks show. Results that were not measured are empty."""

    records: Sequence[Record] = ()
    leaderboard: Sequence[Record] = ()
    speed: Mapping[str, Entry] = field(default_factory=dict)
    parts: Sequence[Record] = ()
    held_out: Sequence[Record] = ()
    perturbed: Sequence[Record] = ()
    robustness: Sequence[Mapping[str, Any]] = ()
    constants: Sequence[Record] = ()
    texts: Sequence[Record] = ()

    @cached_property
    def of_parts(self) -> dict[str, list[Finding]]:
        """What the ablation found, by what it was measured on."""
        return {
            "test classes": findings(self.parts),
            "held-out seen classes (folds in which the part helped)": findings(self.held_out, intervals=False),
            "perturbed held-out seen classes (cases in which it helped)": findings(self.perturbed, intervals=False),
        }

    @cached_property
    def of_constants(self) -> list[Finding]:
        """What other values of the hand-set numbers change."""
        return findings(self.constants, plan_of_constants(), intervals=False)


def read_results(
    records: Path,
    leaderboard: Path,
    speed: Path,
    *,
    parts: Path,
    held_out: Path,
    perturbed: Path,
    robustness: Path,
    constants: Path,
    texts: Path,
) -> RecordedResults:
    """Read the results in these files. A missing file counts as empty.

    The files have records of the paper, the leaderboard, the speed studies, the ablation (``parts``), the ablation on
    held-out seen classes (``held_out``) and with ``perturbed`` pools, the robustness study, the hand-set numbers at
    other values (``constants``), and the data sets with text vectors (``texts``).
    """

    def runs(path: Path) -> list[Record]:
        return read_records(path) if path.exists() else []

    return RecordedResults(
        records=runs(records),
        leaderboard=runs(leaderboard),
        speed=last_entries(speed),
        parts=runs(parts),
        held_out=runs(held_out),
        perturbed=runs(perturbed),
        robustness=read_findings(robustness),
        constants=runs(constants),
        texts=runs(texts),
    )


def results_block(plan: Plan, results: Results) -> str:
    """Write the table of ZSL and GZSL accuracies, with the paper's values."""
    head: list[Content] = ["data, features", "start: descriptions alone", "as published", "as published, whitened"]
    head += [_OWN, "GZSL H: as published, whitened", TableCell(("GZSL H: ", _OWN))]
    head.append(TableCell(("iterations: as published / whitened / ", _OWN)))
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
        iterations = [results.value("sweeps", data.name, "hpl-published", params) for params in published]
        iterations.append(results.value("sweeps", data.name, "hpl"))
        counts = " / ".join("–" if s is None else f"{s.mean:.0f}" for s in iterations)
        rows.append([f"{data.dataset}, {data.features}", *(_percent(s) for s in (*zsl, *general)), counts])
    return f"{Table(head, rows).to_markdown()}\n\n{_paper_sentence()}"


def ablation_block(plan: Plan, results: Results) -> str:
    """Write Table VI for whitened features: accuracy and seconds of each variant."""
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
    return Table(["variant", *(entry.title for entry in data)], rows).to_markdown()


def digits_block(plan: Plan, results: Results) -> str:
    """Write the accuracy of the demo, and its average over all choices of unseen digits."""
    found = results.figure("digits").get("digits")
    if found is None:
        return "Not measured yet: `superproto research paper --figure digits`."
    before, after = (np.array([choice[i] for choice in found["choices"]]) for i in (1, 2))
    own = next(choice for choice in found["choices"] if choice[0] == found["unseen"])
    spread = [f"{100 * values.mean():.1f} ± {100 * values.std():.1f} %" for values in (before, after)]
    return (
        f"Unseen {', '.join(map(str, own[0]))}: {100 * own[1]:.1f} % inductive, {100 * own[2]:.1f} % transductive. "
        f"Over all {len(before)} choices of three unseen digits: {spread[0]} inductive, {spread[1]} transductive "
        "(mean ± standard deviation)."
    )


def _paper_table(number: int) -> Block:
    """Return the function that writes a table of the paper as Markdown, with published and measured values."""

    def block(plan: Plan, results: Results) -> str:
        if number == 2:
            return _in_docs(data_sets_table(plan, results))
        if number == 6:
            return _ablation_document(plan, results)
        chosen = next(table for table in plan.tables if table.number == number)
        return _in_docs((generalized_table if number == 5 else accuracy_table)(plan, results, chosen))

    return block


def _ablation_document(plan: Plan, results: Results) -> str:
    """Write Table VI with its headings, and the comparison with the paper's conclusions."""
    parts = [f"### {title}\n\n{_in_docs(table)}" for title, table in ablation_tables(plan, results).items()]
    found = direction_tables(plan, results)
    if found is not None:
        parts += [found.summary, _in_docs(found.differing), "The other comparisons", _in_docs(found.others)]
    return "\n\n".join(parts)


def _in_docs(table: Table) -> str:
    """Write a table as Markdown with only the first column left-aligned."""
    return replace(table, text_columns=1).to_markdown()


def parts_block(results: RecordedResults) -> str:
    """Write the ablation table: changes in percentage points, with paired 95 % intervals."""
    found = results.of_parts["test classes"]
    if not found:
        return "Not measured yet: `superproto research ablation --data DIR`."
    return Table(*table_of(found)).to_markdown()


def held_out_block(results: RecordedResults) -> str:
    """Write the ablation table on held-out seen classes, as means over folds."""
    found = findings(results.held_out, intervals=False)
    if not found:
        return "Not measured yet: `superproto research ablation --data DIR --held-out 3`."
    return Table(*held_out_table(found)).to_markdown()


def perturbed_block(results: RecordedResults) -> str:
    """Write the ablation table for perturbed pools of held-out seen classes, as means over data sets and folds."""
    found = findings(results.perturbed, intervals=False)
    if not found:
        return "Not measured yet: `superproto research ablation --data DIR --held-out 2 --perturbed`."
    return Table(*held_out_table(found)).to_markdown()


def robustness_block(results: RecordedResults) -> str:
    """Write the mean accuracy over the draws of every condition, and list those in which the start is better."""
    found = results.robustness
    if not found:
        return "Not measured yet: `superproto research robustness PACK`."
    worse = [f"{f['task']}, {f['condition']}" for f in found if _loss(f) > _TOLERATED_LOSS]
    summary = (
        f"`HPL()` is worse than its start by more than {100 * _TOLERATED_LOSS:.0f} point in {len(worse)} of "
        f"{len(found)} conditions{': ' + '; '.join(worse) if worse else ''}."
    )
    return f"{robustness_table(found).to_markdown()}\n\n{summary}"


def robustness_table(found: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table with a row for each condition: mean ± standard deviation over draws, in percent."""
    methods = [START, *COMPARED]
    columns = ["data", "condition", "draws", *(_METHODS[name] for name in methods)]
    rows = [
        [f["task"], f["condition"], f["draws"], *(_mean_and_spread(f["accuracy"][name]) for name in methods)]
        for f in found
    ]
    return Table(columns, rows)


def _loss(finding: Mapping[str, Any]) -> float:
    means = {name: float(np.mean(values)) for name, values in finding["accuracy"].items()}
    return means[START] - means["hpl"]


def _mean_and_spread(values: Sequence[float]) -> str:
    mean = f"{100 * np.mean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {100 * np.std(values, ddof=1):.1f}"


BLOCKS: dict[str, Block] = {"results": results_block, "ablation": ablation_block, "digits": digits_block}
BLOCKS |= {f"paper-table-{number}": _paper_table(number) for number in (2, 3, 4, 5, 6)}
STUDY_BLOCKS = {
    "parts": parts_block, "held-out": held_out_block, "perturbed": perturbed_block, "robustness": robustness_block,
}  # fmt: skip


def render_readme(text: str, results: RecordedResults) -> str:
    """Return the text with every generated block replaced by the current results."""
    makers = _makers(results)
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


def _makers(results: RecordedResults) -> dict[str, Callable[[], str]]:
    """Return the function that writes each block, by name."""
    plan, leaderboard = read_plan(), LeaderboardRecords(results.leaderboard)
    # Deep methods take minutes, so the paper's tables reuse the runs of the leaderboard.
    of_paper = Results([*(r for r in results.leaderboard if r.method in DEEP), *results.records])
    makers: dict[str, Callable[[], str]] = {name: partial(make, plan, of_paper) for name, make in BLOCKS.items()}
    makers |= {name: partial(make, results.speed) for name, make in SPEED_BLOCKS.items()}
    makers |= {name: partial(make, leaderboard) for name, make in LEADERBOARD_BLOCKS.items()}
    makers |= {name: partial(make, results) for name, make in STUDY_BLOCKS.items()}
    makers |= evidence_blocks(lambda: results.of_parts, lambda: results.of_constants, results.texts)
    return makers


def marked_files(root: Path) -> list[Path]:
    """Return the README and the pages of docs that have a generated block."""
    files = [root / "README.md", *sorted((root / "docs").glob("**/*.md"))]
    return [path for path in files if path.exists() and _OPEN.search(path.read_text(encoding="utf-8"))]


def stale(paths: Sequence[Path], results: RecordedResults) -> list[Path]:
    """Return the files whose blocks differ from the results."""
    return list(_changed(paths, results))


def refresh(paths: Sequence[Path], results: RecordedResults) -> list[Path]:
    """Update the blocks of these files. Return the files that changed."""
    changed = _changed(paths, results)
    for path, text in changed.items():
        with write_whole(path, text=True) as handle:
            handle.write(text)
    return list(changed)


def _changed(paths: Sequence[Path], results: RecordedResults) -> dict[Path, str]:
    """Return the new text of every file that changes."""
    changed = {}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        try:
            new = render_readme(text, results)
        except UserError as error:
            raise UserError(f"{path}: {error}") from None
        if new != text:
            changed[path] = new
    return changed


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
