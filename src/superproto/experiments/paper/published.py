"""What the paper reports: the rows of its Tables II to VI, apart from everything that was measured here."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from superproto.errors import UserError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
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


def benchmarks_folder() -> Path:
    """Where the plan and the published numbers are: inside the installed package, or beside the source tree."""
    inside = Path(__file__).parents[2] / "benchmarks"
    return inside if inside.is_dir() else Path(__file__).parents[4] / "benchmarks"


@cache
def read_published(path: Path | None = None) -> tuple[Row, ...]:
    """Every row of `published.toml`, in its order."""
    content = read_toml(path or benchmarks_folder() / "published.toml")
    return tuple(
        Row(
            **{key: row[key] for key in _WORDS if key in row},
            values={key: value for key, value in row.items() if key not in _WORDS},
        )
        for row in content["row"]
    )


def published_rows(table: str) -> list[Row]:
    """The rows of one table, by its Roman number."""
    return [row for row in read_published() if row.table == table]


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file, or an error that says what is wrong with it."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}.") from None
