"""SHOW: a self-contained HTML page from a template, without scripts, fonts or external addresses."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from superproto.files import write_whole
from superproto.reporting.charts.frame import element, percent, printable


@dataclass(frozen=True)
class Page:
    """A template and its content by name."""

    template: str
    content: Mapping[str, Any]

    def render(self) -> str:
        """Return the page as HTML."""
        return str(render_template(self.template, {**self.content, "contents": Contents()}))

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page atomically and return its path."""
        path = Path(path)
        with write_whole(path, text=True) as handle:
            handle.write(self.render())
        return path


@dataclass
class Contents:
    """The table of contents of a page: every section adds its title while it is rendered."""

    titles: dict[str, str] = field(default_factory=dict)

    def add(self, title: str) -> str:
        """Add a title and return a unique anchor."""
        plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        anchor, number = plain, 2
        while anchor in self.titles:
            anchor, number = f"{plain}-{number}", number + 1
        self.titles[anchor] = title
        return anchor


def render_template(name: str, content: Mapping[str, Any]) -> Markup:
    """Render a template of the package with this content; text that is not markup is escaped."""
    return Markup(_environment().get_template(name).render(content))


def standalone_svg(drawing: Markup) -> Markup:
    """Return a figure that contains its style sheet, for use outside a page."""
    start = drawing.index(">") + 1
    return drawing[:start] + element("style", style_sheet("charts.css")) + drawing[start:]


def style_sheet(name: str) -> Markup:
    """Return a style sheet of the package, without line breaks."""
    text = (files("superproto.reporting") / "templates" / name).read_text(encoding="utf-8")
    return Markup(" ".join(text.split()))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("superproto.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=printable,
    )
    environment.globals["style_sheet"] = style_sheet
    environment.filters["percent"] = percent
    return environment
