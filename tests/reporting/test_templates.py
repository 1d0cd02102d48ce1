"""Every page shows a name as text, whatever it holds, and needs nothing but itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from superproto import HPL
from superproto.datasets import make_task
from superproto.evaluation.attribute_visibility import Attribute, inspect_attributes
from superproto.evaluation.evaluate import evaluate
from superproto.experiments.leaderboard.ranking import build_leaderboard
from superproto.experiments.leaderboard.views import build_leaderboard_page
from superproto.experiments.paper.page import build_page
from superproto.experiments.plans import read_leaderboard_plan, read_plan
from superproto.experiments.records import Record, record_of
from superproto.experiments.records_report import build_from_records
from superproto.reporting.attribute_report import build_attribute_page, write_report
from superproto.reporting.digits_demo import Choice, build_demo_page, run_demo
from superproto.reporting.model_report import build_report
from superproto.reporting.page import Contents, Page, render_template

EVIL = "<script>alert('x')</script> & \"quoted\"\nnew line \x00\x1b"
TEMPLATES = {
    path.name for path in (files("superproto.reporting") / "templates").iterdir() if path.name.endswith("html")
}


def record(method: str = "hpl", **changes: object) -> Record:
    task = make_task(n_seen=5, n_unseen=3, samples_per_class=8, n_features=8, n_attributes=5, random_state=0)
    return replace(record_of(evaluate(task, "hpl")), method=method, **changes)


def model_page() -> Page:
    task = make_task(n_seen=5, n_unseen=3, samples_per_class=8, n_features=8, n_attributes=5, random_state=0)
    names = np.array([f"{EVIL} {i}" for i in range(8)])
    model = HPL().fit(task.X, names[np.where(task.asked, 0, task.y)], semantics=task.semantics, class_names=names)
    model = HPL().fit(
        task.X,
        np.where(task.asked, None, names[task.truth].astype(object)),
        semantics=task.semantics,
        class_names=names,
    )
    named = replace(task, class_names=names, name=EVIL, paths=np.array([f"{EVIL}{i}" for i in range(len(task.X))]))
    tuned = {"reason": EVIL, "folds": [{"name": EVIL, EVIL: EVIL}]}
    return build_report(model, named, tuned=tuned, attribute_names=[f"{EVIL} {j}" for j in range(5)])


def demo_page() -> Page:
    """The digits have names of their own; what the summary says of them is text all the same."""
    page = build_demo_page(replace(run_demo(every=False), choices=(Choice((3, 6, 7), 0.5, 0.9),)))
    return Page(page.template, {**page.content, "unseen": EVIL})


def attribute_page() -> Page:
    task = make_task(n_seen=12, n_unseen=3, samples_per_class=8, n_features=8, n_attributes=5, random_state=0)
    return build_attribute_page(inspect_attributes(replace(task, name=EVIL), [f"{EVIL} {j}" for j in range(5)]))


def leaderboard_page() -> Page:
    plan = read_leaderboard_plan()
    data = tuple(replace(entry, title=f"{EVIL} {i}") for i, entry in enumerate(plan.data))
    parts = tuple(replace(part, data=data[plan.data.index(part.data)]) for part in plan.parts)
    run = record(task=plan.data[0].name, chosen=EVIL)
    return build_leaderboard_page(
        build_leaderboard(replace(plan, data=data, parts=parts, groups={EVIL: plan.methods}), [run])
    )


def paper_page() -> Page:
    plan = read_plan()
    data = tuple(replace(entry, title=EVIL, features=EVIL) for entry in plan.data)
    pair = {"truth": EVIL, "called": EVIL, "samples": 3, "share": 0.5}
    one = {"name": EVIL, "accuracy": 0.5, "samples": 9}
    bins = {setting: [{"confidence": 0.5, "accuracy": 0.4, "samples": 20}] for setting in ("zsl", "gzsl")}
    at = {"unseen": 0.1, "seen": 0.2, "harmonic_mean": 0.3}
    trade = {"unseen": [0, 1], "seen": [1, 0], "at": at, "ausuc": 0.5}
    shown = [{"index": 0, "weight": 0.5, "attributes": [[EVIL, 1.0]], "classes": [[EVIL, 0.5, True]]}]
    tree = {"names": [EVIL, "b"], "unseen": [True, False], "merges": [[0, 1, 0.5]]}
    content = {"classes": [one], "pairs": [pair], "reliability": bins, "trade": trade, "tree": tree}
    content |= {"super_prototypes": {"number": 3, "shown": shown}}
    records = [record("figure portrait", task=plan.data[0].name, scores=content)]
    figures = ("framework", "portrait", "super-prototypes", "convergence")
    return build_page(replace(plan, data=data), records, (2, 3, 4, 5, 6), figures)


def records_page() -> Page:
    return build_from_records([record(task=EVIL, pool=EVIL, chosen=EVIL)], EVIL)


PAGES: dict[str, Callable[[], Page]] = {
    "model_report.html": model_page,
    "digits_demo.html": demo_page,
    "attribute_report.html": attribute_page,
    "leaderboard.html": leaderboard_page,
    "paper.html": paper_page,
    "records_report.html": records_page,
}


def test_every_template_of_a_page_is_tested() -> None:
    assert set(PAGES) == TEMPLATES - {"page.html", "blocks.html", "figures.html", "table.html"}


@pytest.mark.parametrize("template", PAGES)
def test_a_name_with_a_script_is_shown_as_text(template: str) -> None:
    page = PAGES[template]()
    assert page.template == template
    text = page.render()
    assert "<script" not in text
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &#34;quoted&#34;" in text
    assert "\x00" not in text
    assert "\x1b" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_name_that_is_missing_in_the_content_is_an_error() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="'sentences' is undefined"):
        Page("attribute_report.html", {}).render()


def test_two_sections_of_one_title_have_anchors_of_their_own() -> None:
    contents = Contents()
    assert [contents.add("Runs: zsl"), contents.add("Runs, zsl"), contents.add("<>")] == ["runs-zsl", "runs-zsl-2", ""]


def test_a_piece_of_ready_markup_passes_and_text_does_not() -> None:
    from superproto.reporting.charts.frame import element
    from superproto.reporting.table import Table

    table = Table(["<i>"], [["<b>"]])
    report = {"task": "t", "sentences": ["<u>"], "chart": element("svg", "<s>"), "table": table}
    text = render_template("attribute_report.html", {**report, "contents": Contents()})
    assert "<svg>&lt;s&gt;</svg>" in text
    assert "<p>&lt;u&gt;</p>" in text
    assert '<td class="left">&lt;b&gt;</td>' in text


def test_an_attribute_that_is_a_formula_is_text_in_a_spreadsheet(tmp_path: Path) -> None:
    task = make_task(n_seen=12, n_unseen=3, samples_per_class=8, n_features=8, n_attributes=5, random_state=0)
    report = inspect_attributes(task, ["=1+1", "+x", "c", "d", "e"])
    write_report(tmp_path / "a.csv", report)
    lines = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == ",".join(Attribute._fields)
    assert {line.partition(",")[0] for line in lines[1:]} == {"'=1+1", "'+x", "c", "d", "e"}
