"""Markup that cannot be broken by a name: every string is escaped unless it is already markup."""

from __future__ import annotations

import html
from collections.abc import Iterable

_VOID = frozenset({"br", "meta", "img", "circle", "line", "path", "rect", "image", "polygon", "polyline", "use"})


class Markup(str):
    """HTML or SVG. Any other string becomes text when it is put into a tag."""

    __slots__ = ()


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """<name attributes>content</name>; strings are escaped, None attributes left out, `stroke_width` is stroke-width.

    >>> tag("b", "<script>", class_="name")
    '<b class="name">&lt;script&gt;</b>'
    """
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(_short(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = join(content)
    if not inside and name in _VOID:
        return Markup(f"<{name}{words}/>")
    return Markup(f"<{name}{words}>{inside}</{name}>")


def join(parts: Iterable[object], separator: str = "") -> Markup:
    """The parts as one piece of markup; what is not markup yet is escaped."""
    pieces = [part if isinstance(part, Markup) else html.escape(_short(part), quote=False) for part in parts]
    return Markup(separator.join(pieces))


def _short(value: object) -> str:
    """Numbers at a tenth of a pixel: a page of figures stays small."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:g}"
    # XML knows no control characters; a name from a damaged file must not break the page.
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in str(value))
