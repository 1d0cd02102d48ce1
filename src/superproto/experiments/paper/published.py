"""RESEARCH: read the published results: the rows of the paper's Tables II to VI."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from superproto.experiments.plans import benchmarks_folder, read_toml

DATASETS = ("aPY", "AwA", "SUN", "CUB", "ImageNet")
_WORDS = ("table", "row", "type", "method", "features", "model", "ours", "measure", "ablation", "dataset")


@dataclass(frozen=True)
class Row:
    """One row of one table; `values` are its numbers by column, in percent (Table VI also seconds)."""

    table: str
    row: int
    type: str = ""
    method: str = ""
    features: str = ""
    model: str = ""
    ours: str = ""
    measure: str = ""
    ablation: str = ""
    dataset: str = ""
    values: dict[str, Any] = field(default_factory=dict)


@cache
def read_published(path: Path | None = None) -> tuple[Row, ...]:
    """Return every row of `published.toml`, in its order."""
    content = read_toml(path or benchmarks_folder() / "published.toml")
    return tuple(
        Row(
            **{key: row[key] for key in _WORDS if key in row},
            values={key: value for key, value in row.items() if key not in _WORDS},
        )
        for row in content["row"]
    )


def published_rows(table: str) -> list[Row]:
    """Return the rows of one table, by its Roman number."""
    return [row for row in read_published() if row.table == table]
