"""Tables of the studies of the default model, for docs: its parts off in turn, and pools that are not as hoped for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from superproto.experiments.ablation import findings, held_out_table, table_of
from superproto.experiments.records import read_records
from superproto.experiments.robustness import COMPARED, START, read_findings
from superproto.reporting.markdown import markdown_table

_NAMES = {"hpl": "`HPL()`", START: "its start", "kmeans": "K-means", "transclip": "TransCLIP"}
# How much worse than its start the model may be, on average over the draws, before the table says so.
_TOLERATED = 0.01


def parts_file() -> Path:
    """Where the records of `superproto ablation` are kept."""
    return Path("benchmarks/parts.jsonl")


def held_out_file() -> Path:
    """Where the records of `superproto ablation --held-out` are kept."""
    return Path("benchmarks/parts_held_out.jsonl")


def robustness_file() -> Path:
    """Where the findings of `superproto robustness` are kept."""
    return Path("benchmarks/robustness.jsonl")


def ablation_parts_block() -> str:
    """Each part off: the change in points, with the paired 95 % interval."""
    found = findings(read_records(parts_file())) if parts_file().exists() else []
    if not found:
        return "Not measured yet: `superproto ablation --data DIR`."
    head, rows = table_of(found)
    return markdown_table(head, rows)


def held_out_block() -> str:
    """The same on held-out seen classes, mean over folds."""
    found = findings(read_records(held_out_file())) if held_out_file().exists() else []
    if not found:
        return "Not measured yet: `superproto ablation --data DIR --held-out 3`."
    head, rows = held_out_table(found)
    return markdown_table(head, rows)


def robustness_block() -> str:
    """Mean accuracy over the draws for every condition."""
    found = read_findings(robustness_file())
    if not found:
        return "Not measured yet: `superproto robustness --data DIR`."
    head, rows = robustness_rows(found)
    worse = [f"{row[0]}, {row[1]}" for row, finding in zip(rows, found) if _loss(finding) > _TOLERATED]
    said = (
        f"`HPL()` is worse than its start by more than {100 * _TOLERATED:.0f} point in {len(worse)} of {len(rows)} "
        f"conditions{': ' + '; '.join(worse) if worse else ''}."
    )
    return markdown_table(head, rows) + "\n\n" + said


def robustness_rows(found: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """A line for each finding: mean ± standard deviation over draws, in percent."""
    methods = [START, *COMPARED]
    head = ["data", "condition", "draws", *(_NAMES[name] for name in methods)]
    rows = [
        [f["task"], f["condition"], str(f["draws"]), *(_spread(f["accuracy"][name]) for name in methods)] for f in found
    ]
    return head, rows


def _loss(finding: Mapping[str, Any]) -> float:
    means = {name: float(np.mean(values)) for name, values in finding["accuracy"].items()}
    return means[START] - means["hpl"]


def _spread(values: Sequence[float]) -> str:
    mean = f"{100 * np.mean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {100 * np.std(values, ddof=1):.1f}"


STUDY_BLOCKS = {"parts": ablation_parts_block, "held-out": held_out_block, "robustness": robustness_block}
