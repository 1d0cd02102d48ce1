"""One table, four formats: each writes every cell once, and shows as text whatever a cell holds."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from superproto.reporting.table import Table, TableCell, Text, escape_markdown

EVIL = "<script>alert('x')</script> | & \"quoted\" *b* `c` \\ $m$ 50%_x\nnew line \x00\x1b"
WHOLE = Table(
    ["method", TableCell(("AwA", Text("ResNet", "small")), hover="all of it"), "n"],
    [
        [Text("hpl", "code"), Text("1.0", "bold"), 3],
        [TableCell(("a ", Text("b", "bold"), ", c"), wrap=True), Text("–", "quiet"), 0.25],
    ],
    groups=[("", 1), ("measured", 2)],
    styles=["ours rule", ""],
)


def cells_of(line: str) -> list[str]:
    """The cells of a line of a Markdown table."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_html_has_groups_styles_hovers_and_pieces() -> None:
    tree = ET.fromstring(WHOLE.to_html())
    over, head = tree.findall(".//thead/tr")
    assert [(th.text, th.get("colspan"), th.get("class")) for th in over] == [
        (None, "1", None),
        ("measured", "2", "group"),
    ]
    assert ["".join(th.itertext()) for th in head] == ["method", "AwAResNet", "n"]
    assert head.find(".//span").get("title") == "all of it"
    first, second = tree.findall(".//tbody/tr")
    assert first.get("class") == "ours rule"
    assert second.get("class") is None
    assert [td.get("class") for td in first] == ["left", None, None]
    assert first.find("td/code").text == "hpl"
    assert "".join(second.find("td/span[@class='wrap']").itertext()) == "a b, c"


def test_markdown_has_groups_above_the_names() -> None:
    assert WHOLE.to_markdown().splitlines() == [
        "|  | measured |  |",
        "| --- | ---: | ---: |",
        "| **method** | **AwA ResNet** | **n** |",
        "| `hpl` | **1.0** | 3 |",
        "| a **b**, c | – | 0.25 |",
    ]


def test_latex_has_groups_above_the_names() -> None:
    lines = WHOLE.to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lrr}"
    assert lines[2] == r"\multicolumn{1}{c}{} & \multicolumn{2}{c}{measured} \\"
    assert lines[-4:-2] == [r"hpl & \textbf{1.0} & 3 \\", r"a \textbf{b}, c & – & 0.25 \\"]


def test_csv_has_numbers_and_bare_text() -> None:
    assert WHOLE.to_csv() == 'method,AwA ResNet,n\nhpl,1.0,3\n"a b, c",–,0.25\n'


@pytest.mark.parametrize("style", ["", "bold", "code", "quiet", "small"])
def test_a_cell_named_script_is_text_in_every_format(style: str) -> None:
    cell = TableCell((Text(EVIL, style),), hover=EVIL)
    table = Table([EVIL, cell], [[cell, EVIL]], groups=[(EVIL, 2)], styles=["ours"])
    html = table.to_html()
    assert "<script" not in html
    shown = ["".join(node.itertext()) for node in ET.fromstring(html).iter("td")]
    assert all("<script>alert('x')</script>" in text for text in shown)
    lines = table.to_markdown().splitlines()
    assert {len(cells_of(line)) for line in lines} == {2}
    assert len(lines) == 4
    latex = [line for line in table.to_latex().splitlines() if line.endswith(r"\\")]
    assert [len(re.split(r"(?<!\\)&", line)) for line in latex] == [1, 2, 2]
    assert len(list(csv.reader(io.StringIO(table.to_csv())))) == 2


@given(st.text())
def test_any_text_stays_in_its_cell(text: str) -> None:
    table = Table(["a", "b"], [[text, Text(text, "bold")]])
    assert len(ET.fromstring(table.to_html()).findall(".//td")) == 2
    lines = table.to_markdown().split("\n")
    assert len(lines) == 3
    assert len(next(iter(csv.DictReader(io.StringIO(table.to_csv())))).keys()) == 2
    assert table.to_latex().count("\n") == 6


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("flo_lite0", "flo_lite0"),
        ("_x_", r"\_x\_"),
        ("50%_x", r"50%\_x"),
        ("-1 [-2, +3]", "-1 [-2, +3]"),
        ("[here](http://x)", r"\[here](http://x)"),
        ("fit < 3 >= 2", "fit < 3 >= 2"),
        ("<b>", r"\<b>"),
        ("a & b &amp; c", r"a & b \&amp; c"),
        ("two\n  lines", "two lines"),
    ],
)
def test_only_what_markdown_would_read_is_escaped(text: str, written: str) -> None:
    assert escape_markdown(text) == written


def test_a_formula_is_text_in_a_spreadsheet_and_a_negative_number_is_a_number() -> None:
    rows = [["=1+1", "-0.25", -0.25], ["@x", "-x", "+3"]]
    assert Table(["a", "b", "c"], rows).to_csv().splitlines()[1:] == ["'=1+1,-0.25,-0.25", "'@x,'-x,+3"]


def test_a_style_for_each_row_or_none() -> None:
    with pytest.raises(ValueError, match="zip"):
        Table(["a"], [["1"], ["2"]], styles=["ours"]).to_html()


def test_a_terminal_gets_bare_text() -> None:
    assert WHOLE.to_text() == (["method", "AwA ResNet", "n"], [["hpl", "1.0", "3"], ["a b, c", "–", "0.25"]])
