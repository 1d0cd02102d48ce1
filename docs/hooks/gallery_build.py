"""The gallery of the site, a hook of mkdocs: ``Gallery: gallery/index.md`` in the navigation becomes its pages.

It runs the scripts of docs/gallery and adds a page for each, an index with thumbnails, and the style of the charts.
Results are kept in .cache/gallery until the script or the package changes. A script that fails is a warning, which
``mkdocs build --strict`` takes for an error.
"""

from __future__ import annotations

import hashlib
import html
import json
import logging
import re
from importlib.resources import files as files_of
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gallery_run import read_script, run_script

RUNNER = Path(__file__).with_name("gallery_run.py")
GALLERY = Path(__file__).resolve().parents[1] / "gallery"
# Scripts that are not listed come last.
ORDER = (
    "digits_never_shown", "own_csv", "label_pictures", "class_names_only", "which_labels_to_check", "few_labels",
    "generalized", "compare_methods", "watch_a_fit", "super_prototypes", "million_rows", "dask_cluster",
    "save_and_share",
)  # fmt: skip
_INTRODUCTION = """---
hide: [toc]
---

# Gallery

Each example is a script of at most a minute. It ran when this site was built: every number and every figure is its
output. The scripts are in the percent format, so Jupyter and VS Code show the figures as well.
"""
_log = logging.getLogger("mkdocs.hooks.gallery")


def on_config(config: Any) -> Any:
    """The pages of the gallery below its entry in the navigation; the style sheet on every page."""
    config.extra_css.append("gallery/gallery.css")
    for entry in config.nav or []:
        if isinstance(entry, dict) and "gallery/index.md" in entry.values():
            pages = ["gallery/index.md", *(f"gallery/{path.stem}.md" for path in scripts())]
            entry.update(dict.fromkeys(entry, pages))
    return config


def on_files(files: Any, config: Any) -> Any:
    """Run the scripts; add their pages, thumbnails and the index to the site."""
    from mkdocs.structure.files import File

    made = {"gallery/gallery.css": site_style()}
    cards = []
    for path in scripts():
        try:
            results = cached_results(path, Path(config.config_file_path).parent / ".cache" / "gallery")
        except RuntimeError as error:
            _log.warning("gallery: %s", error)
            results = []
        made[f"gallery/{path.stem}.md"] = page_of(path, results)
        # The figure with the most to see.
        drawn = max((f for result in results for f in result["figures"] if f.startswith("<svg")), key=len, default="")
        for theme in ("light", "dark") if drawn else ():
            made[f"gallery/images/{path.stem}-{theme}.svg"] = thumbnail(drawn, theme)
        cards.append(card_of(path, bool(drawn)))
    made["gallery/index.md"] = "\n".join([_INTRODUCTION, '<div class="gallery-cards"></div>', "", *cards, ""])
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def scripts() -> list[Path]:
    """Every script, in the order of the gallery."""
    place = {name: number for number, name in enumerate(ORDER)}
    return sorted(GALLERY.glob("*.py"), key=lambda path: (place.get(path.stem, len(ORDER)), path.stem))


def cached_results(path: Path, cache: Path) -> list[dict[str, Any]]:
    """The results of a script, from the cache unless the script, its runner or the package has changed."""
    package = Path(str(find_spec("superproto").origin)).parent
    seal = hashlib.sha256()
    for file in (path, RUNNER, *sorted(package.rglob("*.py"))):
        seal.update(file.read_bytes())
    kept = cache / f"{path.stem}-{seal.hexdigest()[:16]}.json"
    if not kept.exists():
        _log.info("gallery: running %s", path.name)
        results = run_script(path)
        cache.mkdir(parents=True, exist_ok=True)
        for older in cache.glob(f"{path.stem}-*.json"):
            older.unlink()
        kept.write_text(json.dumps(results), encoding="utf-8")
    return json.loads(kept.read_text(encoding="utf-8"))


def page_of(path: Path, results: list[dict[str, Any]]) -> str:
    """The page of a script as Markdown."""
    parts = [f"# {read_script(path)[0]}"]
    for result in results:
        parts += [result["text"]] if result["text"] else []
        parts += [f"```python\n{result['code'].strip()}\n```"] if result["code"].strip() else []
        if result["output"].strip():
            parts.append(f'<div class="gallery-output"><pre>{_in_one_block(result["output"].rstrip())}</pre></div>')
        parts += [f'<div class="gallery-figure">{" ".join(figure.split())}</div>' for figure in result["figures"]]
    return "\n\n".join([*parts, f"[Download this script]({path.name})"]) + "\n"


def card_of(path: Path, has_thumbnail: bool) -> str:
    """A linked thumbnail with the title and the first sentence of a script; mkdocs checks the links."""
    title, cells = read_script(path)
    images = [f"![](images/{path.stem}-{theme}.svg#only-{theme})" for theme in ("light", "dark") if has_thumbnail]
    first = re.split(r"(?<=[.?!])\s", cells[0].text + " ", maxsplit=1)[0]
    return f"- [{' '.join(images)} **{title}** {' '.join(first.split())}]({path.stem}.md)"


def site_style() -> str:
    """The charts' own colors for the two themes of the site, and the layout of the pages."""
    light, dark, rules = _chart_style()
    rules = re.sub(r"\bsvg\b", "svg.figure", rules)
    layout = (GALLERY / "layout.css").read_text(encoding="utf-8")
    inverted = "[data-md-color-scheme=slate] .pixels {filter: invert(.92)}"
    return f":root {{{light}}}\n[data-md-color-scheme=slate] {{{dark}}}\n{inverted}\n{rules}\n{layout}"


def thumbnail(drawing: str, theme: str) -> str:
    """The figure as a file of its own, in the colors of one theme."""
    light, dark, rules = _chart_style()
    colors = light if theme == "light" else dark + ".pixels { filter: invert(.92); }"
    style = f"<style>svg {{{colors}; color: var(--ink)}} {rules}</style>"
    start = drawing.index(">") + 1
    return drawing[:start] + style + drawing[start:]


def _chart_style() -> tuple[str, str, str]:
    """The colors of the light and the dark theme, and the rules, of the charts' style sheet."""
    text = (files_of("superproto.reporting") / "templates" / "charts.css").read_text(encoding="utf-8")
    light, dark, rules = re.fullmatch(r":root \{(.*?)\}\n@media .*?:root \{(.*?)\}\n.*?\n\}\n(.*)", text, re.S).groups()
    return light.strip(), dark.strip(), rules


def _in_one_block(text: str) -> str:
    """Escaped, and without a blank line, which would end the block for Markdown."""
    return html.escape(text).replace("\n", "&#10;")
