"""The published numbers are the paper's: each row of published.toml stands in the LaTeX, and no row is missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from superproto.baselines.registry import METHODS
from superproto.experiments.paper.published import DATASETS, published_rows, read_published
from superproto.experiments.plans import read_plan

LATEX = Path(__file__).resolve().parents[3] / "shared" / "paper" / "hpl.tex"
LABELS = {
    "II": "tab:datasets",
    "III": "tab:SS_SZSL",
    "IV": "tab:PS_SZSL",
    "V": "tab:PS_GZSL",
    "VI": "tab:compare_ablation",
}


@pytest.fixture(scope="module")
def printed() -> dict[str, list[list[str]]]:
    """Table -> its rows of data, as cells of bare text."""
    if not LATEX.exists():
        pytest.skip("needs the paper's LaTeX beside the repository (shared/paper/hpl.tex)")
    text = LATEX.read_text(encoding="utf-8")
    tables = re.findall(r"\\begin\{table\*\}.*?\\end\{table\*\}", text, re.S)
    found = {}
    for number, label in LABELS.items():
        (body,) = (table for table in tables if f"{{{label}}}" in table)
        body = body[body.index(r"\begin{tabular}") : body.index(r"\end{tabular}")]
        rows = [[bare(cell) for cell in line.split("&")] for line in body.split(r"\\")]
        found[number] = [row for row in rows if any(re.fullmatch(r"[\d.]+", cell) for cell in row)]
    return found


def bare(cell: str) -> str:
    """The cell without LaTeX: citations, colors, bold, rules, spans over rows."""
    cell = re.sub(r"~?\\cite\{[^}]*\}|\\hline|\\cline\{[^}]*\}", "", cell)
    cell = re.sub(r"\\multirow\{\d+\}\*?\{([^}]*)\}", r"\1", cell)
    cell = re.sub(r"\\(?:textcolor\{blue\}|bm|textbf)\{([^{}]*)\}", r"\1", cell)
    return cell.replace("$", "").replace("\\", "").strip()


def numbers(cells: list[str]) -> list[float | None]:
    return [None if cell == "-" else float(cell) for cell in cells]


@pytest.mark.parametrize("table", LABELS)
def test_every_row_of_the_paper_is_there_once_and_in_order(printed: Any, table: str) -> None:
    rows = published_rows(table)
    assert [row.row for row in rows] == list(range(1, len(printed[table]) + 1))


@pytest.mark.parametrize("table", ["III", "IV"])
def test_accuracies_are_those_of_the_latex(printed: Any, table: str) -> None:
    sets = DATASETS if table == "III" else DATASETS[:4]
    for row, cells in zip(published_rows(table), printed[table]):
        assert row.method == cells[1]
        assert [row.values.get(name) for name in sets] == numbers(cells[-len(sets) :])
        assert row.model[0].upper() == cells[-len(sets) - 1]
        assert row.features == (cells[2] if table == "III" else "")


def test_generalized_accuracies_are_those_of_the_latex(printed: Any) -> None:
    for row, cells in zip(published_rows("V"), printed["V"]):
        assert row.method == cells[1]
        own = [row.values.get(s, {}).get(k) for s in DATASETS[:4] for k in ("unseen", "seen", "harmonic_mean")]
        assert own == numbers(cells[2:])


def test_ablations_are_those_of_the_latex(printed: Any) -> None:
    for row, cells in zip(published_rows("VI"), printed["VI"]):
        assert row.method == cells[2]
        assert [row.values[name] for name in DATASETS[:4]] == numbers(cells[3:])
    assert [row.measure for row in published_rows("VI")] == ["accuracy"] * 9 + ["seconds"] * 9


def test_sizes_are_those_of_the_latex(printed: Any) -> None:
    for row, cells in zip(published_rows("II"), printed["II"]):
        values = row.values
        ps = f"{values['ps_seen']}+{values['ps_unseen']}" if "ps_seen" in values else "-"
        own = [row.dataset, values["attributes"], values["classes"]]
        own += [f"{values['train_classes']}+{values['val_classes']}", values["unseen_classes"], values["samples"]]
        own += [values["ss_labeled"], values["ss_unseen"], values.get("ps_labeled", "-"), ps]
        assert [str(value) for value in own] == cells


def test_every_ablation_of_the_plan_has_its_row_in_the_paper() -> None:
    known = {(row.ablation, row.method) for row in published_rows("VI")}
    assert {(a.index, v.row) for a in read_plan().ablations for v in a.variants} == known


def test_what_stands_for_a_row_is_a_method_of_the_contract() -> None:
    assert {row.ours for row in read_published() if row.ours} <= {*METHODS}


def test_attribute_names_of_the_animals_fit_their_columns(pack: Any) -> None:
    import numpy as np

    content = np.load(pack("awa1_handcrafted_pca512"))
    names = read_plan().attributes["AwA"]
    animals = [str(name) for name in content["class_names"]]
    most = {name: animals[int(content["att"][:, i].argmax())] for i, name in enumerate(names)}
    assert (most["stripes"], most["spots"], most["hops"], most["long neck"]) == (
        "zebra",
        "dalmatian",
        "rabbit",
        "giraffe",
    )
