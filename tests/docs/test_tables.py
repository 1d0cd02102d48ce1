"""Tables of the site in a real browser: a click on a heading sorts, the field above filters."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from docs.code_blocks import ROOT

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ROWS = [("hpl", "ours", "1.0 / 9.0 / 76.3"), ("sae", "inductive", "–"), ("dap", "inductive", "2 / 3 / 9.5 ± 0.1")]
ROWS += [(f"method {n}", "transductive", f"1 / 2 / {n}") for n in range(20, 28)]
ASK = """<script>
  const shown = () => [...document.querySelectorAll("tbody tr")].filter(r => !r.hidden);
  const names = () => shown().map(r => r.cells[0].textContent);
  const [name, , score] = document.querySelectorAll("th");
  const found = {};
  score.click(); found.best = names();
  score.click(); found.worst = names();
  name.click(); found.byName = names();
  const field = document.querySelector(".table-filter");
  field.value = "INDUCT s"; field.dispatchEvent(new Event("input")); found.filtered = names();
  document.body.setAttribute("data-found", JSON.stringify(found));
</script>"""


@pytest.mark.extra
def test_a_table_is_sorted_by_number_or_name_and_filtered(tmp_path: Path) -> None:
    if BROWSER is None:
        pytest.skip("needs Chromium (apt-get install chromium)")
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in ROWS)
    head = "<thead><tr><th>method</th><th>kind</th><th>U / S / H</th></tr></thead>"
    script = (ROOT / "docs" / "assets" / "tables.js").read_text(encoding="utf-8")
    body = f"<article><table>{head}<tbody>{rows}</tbody></table></article><script>{script}</script>{ASK}"
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><body>{body}</body>", encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run([*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120)
    found = json.loads(unescape(re.search(r'data-found="([^"]*)"', done.stdout).group(1)))
    assert found["best"][:2] == ["hpl", "method 27"]
    assert found["best"][-2:] == ["dap", "sae"]
    assert found["worst"][:2] == ["dap", "method 20"]
    assert found["worst"][-1] == "sae"
    assert found["byName"][:2] == ["dap", "hpl"]
    assert found["filtered"] == ["sae"]
