"""The pages in a real browser: nothing on the console, nothing from the network, every figure drawn, light and dark."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from superproto.experiments.paper.page import build_page
from superproto.experiments.plans import read_plan
from superproto.reporting.digits_demo import build_demo_page, run_demo

pytestmark = pytest.mark.extra
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
QUIET += ("--disable-sync", "--no-first-run", "--disable-extensions", "--enable-logging=stderr")
# What the browser is asked about the page, after it has been laid out.
PROBE = """<script>window.addEventListener("load", () => {
  document.querySelectorAll("details").forEach(d => d.open = true);
  const figures = [...document.querySelectorAll("svg.figure")].map(s => {
    const box = s.getBoundingClientRect(), inside = s.getBBox();
    return {alt: s.getAttribute("aria-label"), width: box.width, height: box.height,
            left: inside.x, right: inside.x + inside.width, view: s.viewBox.baseVal.width};
  });
  const style = getComputedStyle(document.documentElement);
  const found = {figures, ink: style.color, paper: style.backgroundColor, wide: document.documentElement.scrollWidth,
    window: innerWidth,
    fetched: performance.getEntriesByType("resource").map(r => r.name).filter(n => !n.startsWith("data:"))};
  document.body.setAttribute("data-found", JSON.stringify(found));
});</script>"""


def look_at(page: Any, folder: Path, *more: str) -> dict[str, Any]:
    """Open the page and return what the probe found; a message on the console fails the test."""
    if BROWSER is None:
        pytest.skip("needs Chromium (apt-get install chromium)")
    path = folder / "page.html"
    path.write_text(page.render().replace("</body>", f"{PROBE}</body>"), encoding="utf-8")
    command = [BROWSER, *QUIET, *more, f"--user-data-dir={folder / 'profile'}", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "CONSOLE" not in done.stderr, done.stderr
    found = re.search(r'data-found="([^"]*)"', done.stdout)
    assert found, done.stderr[-2000:]
    return json.loads(unescape(found.group(1)))


@pytest.fixture(scope="module")
def demo_page() -> Any:
    return build_demo_page(run_demo(every=False))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_figure_of_the_demo_is_drawn_in_light_and_dark(demo_page: Any, tmp_path: Path, theme: str) -> None:
    number = {"dark": 0, "light": 1}[theme]
    found = look_at(demo_page, tmp_path, f"--blink-settings=preferredColorScheme={number}")
    assert len(found["figures"]) >= 8
    assert all(figure["width"] > 50 and figure["height"] > 20 for figure in found["figures"]), found["figures"]
    assert found["fetched"] == []
    brightness = {key: np.mean([float(v) for v in re.findall(r"[\d.]+", found[key])[:3]]) for key in ("ink", "paper")}
    assert (brightness["ink"] < brightness["paper"]) == (theme == "light")


def test_nothing_is_drawn_outside_its_figure(demo_page: Any, tmp_path: Path) -> None:
    for figure in look_at(demo_page, tmp_path)["figures"]:
        assert figure["left"] >= -2, figure
        assert figure["right"] <= figure["view"] + 2, figure


def test_a_phone_needs_no_sideways_scrolling(demo_page: Any, tmp_path: Path) -> None:
    found = look_at(demo_page, tmp_path, "--window-size=420,900")
    assert found["wide"] <= found["window"] + 1


def test_the_reproduction_is_drawn_from_its_records(tmp_path: Path) -> None:
    from superproto.experiments.paper.page import FIGURES, TABLES
    from superproto.experiments.paper.published import benchmarks_folder
    from superproto.experiments.records import read_records

    page = build_page(read_plan(), read_records(benchmarks_folder() / "records.jsonl"), TABLES, FIGURES)
    assert "Not measured" not in page.render()
    assert len(page.render().encode()) < 5e6
    found = look_at(page, tmp_path)
    assert len(found["figures"]) >= 20
    assert all(figure["width"] > 50 and figure["height"] > 20 for figure in found["figures"])
    assert found["fetched"] == []
