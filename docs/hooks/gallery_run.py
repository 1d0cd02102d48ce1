"""Run a script of the gallery cell by cell, and keep what it prints and draws: ``python gallery_run.py SCRIPT``, JSON.

A script is in the percent format of Jupyter and VS Code. Its docstring has the title in the first line and then an
introduction. A line ``# %%`` begins a cell, and the comment lines after it are Markdown. As in a notebook, the value of
the last line of a cell is shown. Figures are charts of the package, or those of matplotlib.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

# A color that no figure has: it becomes the color of the text around the figure, in both themes.
_INK = "#010203"
_MATPLOTLIB = {
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK),
    "savefig.transparent": True, "svg.fonttype": "none", "svg.hashsalt": "gallery", "legend.framealpha": 0,
}  # fmt: skip


class Cell(NamedTuple):
    """Markdown, then code that begins at ``line`` of the script (from 0)."""

    text: str
    code: str
    line: int


def read_script(path: Path) -> tuple[str, list[Cell]]:
    """The title of a script, and its cells; the text of the first one is the introduction."""
    source = path.read_text(encoding="utf-8")
    title, _, introduction = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    body = source.index('"""', source.index('"""') + 3) + 3
    starts = [body, *(found.start() for found in re.finditer(r"^# %%.*$", source, re.M)), len(source)]
    cells = []
    for start, end in pairwise(starts):
        head = re.match(r"(# %%.*\n)?((?:#.*(?:\n|$))*)", source[start:end]) if start != body else None
        text = introduction.strip() if head is None else re.sub(r"^# ?", "", head[2], flags=re.M).strip()
        code_start = start + (0 if head is None else head.end())
        cells.append(Cell(text, source[code_start:end].rstrip(), source[:code_start].count("\n")))
    return title.rstrip("."), cells


def run_cells(path: Path) -> list[dict[str, Any]]:
    """What each cell printed, and its figures as SVG or HTML."""
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}
    results = []
    for cell in read_script(path)[1]:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = _execute("\n" * cell.line + cell.code, path, names)
            figures = [*_open_plots(), *([value] if (value := _as_markup(value)) else [])]
        results.append({"text": cell.text, "code": cell.code, "output": printed.getvalue(), "figures": figures})
    return results


def _execute(code: str, path: Path, names: dict[str, Any]) -> Any:
    """Run the code; the value of its last line if that is an expression."""
    tree = ast.parse(code)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(path), "exec"), names)
    return None if last is None else eval(compile(last, str(path), "eval"), names)


def _as_markup(value: Any) -> str | None:
    """A chart, or what a notebook would show; other values are printed."""
    if hasattr(value, "__html__"):
        return str(value)
    if hasattr(value, "_repr_html_"):
        return str(value._repr_html_())
    if value is not None and "matplotlib" not in type(value).__module__:
        print(repr(value))
    return None


def _open_plots() -> list[str]:
    """Every open figure of matplotlib, which is then closed."""
    plots = sys.modules.get("matplotlib.pyplot")
    drawn = []
    for number in plots.get_fignums() if plots else []:
        content = io.StringIO()
        plots.figure(number).savefig(content, format="svg", bbox_inches="tight", metadata={"Date": None})
        drawn.append(content.getvalue()[content.getvalue().index("<svg") :].replace(_INK, "currentColor"))
        plots.close(number)
    return drawn


def run_script(path: Path) -> list[dict[str, Any]]:
    """The results of a script that runs in a process and an empty folder of its own; an error has its traceback."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-W", "error::UserWarning", os.path.abspath(__file__), str(path.resolve())]
        # Absolute, because the script runs in another folder.
        paths = [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
        environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": os.pathsep.join(paths)}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise RuntimeError(f"{path.name} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    if find_spec("matplotlib"):
        import matplotlib

        matplotlib.rcParams.update(_MATPLOTLIB)
    # Nothing else goes to standard output, so that the last line is the result.
    print(json.dumps(run_cells(Path(sys.argv[1]))))
