"""Draw the frame of a chart: axes, grid, legend, and marks that differ in shape and in color."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from superproto.reporting.charts.scales import Scale, label_of

# Okabe and Ito's palette, which color-blind people can distinguish; charts.css has the values for light and dark.
COLORS = 8
LEFT, RIGHT, TOP, BOTTOM = 58, 22, 12, 44
_LINE = 16


def element(name: str, *content: object, **attributes: object) -> Markup:
    """Return ``<name attributes>content</name>``.

    Text is escaped, attributes that are None are omitted, and `stroke_width` becomes stroke-width.

    >>> print(element("b", "<script>", class_="name"))
    <b class="name">&lt;script&gt;</b>
    """
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_written(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = joined(content)
    return Markup(f"<{name}{words}>{inside}</{name}>" if inside else f"<{name}{words}/>")


def joined(parts: Iterable[object]) -> Markup:
    """Join the parts; escape those that are not markup."""
    return Markup("".join(map(_written, parts)))


def printable(value: Any) -> Any:
    """Replace control characters in text, which XML does not allow: a name in a damaged file must not break a page."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in value)


def _written(value: object) -> Markup:
    """Round numbers to a hundredth of a pixel, which keeps pages small; escape text."""
    if isinstance(value, float):
        return Markup(f"{value:.2f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:g}")
    return escape(printable(value))


@dataclass(frozen=True)
class Frame:
    """The area of the data: two scales inside a rectangle."""

    x: Scale
    y: Scale
    width: float
    height: float

    def axes(
        self,
        x_label: str,
        y_label: str,
        *,
        x_text: Callable[[float], str] = label_of,
        y_text: Callable[[float], str] = label_of,
        grid: bool = True,
    ) -> Markup:
        """Draw the grid, tick labels and axis labels."""
        parts: list[Markup] = []
        bottom, left = self.y.start, self.x.start
        for value in self.y.ticks():
            at = self.y(value)
            if grid:
                parts.append(element("line", x1=left, x2=self.x.end, y1=at, y2=at, class_="grid"))
            parts.append(words(y_text(value), left - 6, at + 4, anchor="end", size="tick"))
        for value in self.x.ticks():
            at = self.x(value)
            if grid:
                parts.append(element("line", x1=at, x2=at, y1=self.y.end, y2=bottom, class_="grid"))
            parts.append(words(x_text(value), at, bottom + 16, anchor="middle", size="tick"))
        parts.append(element("path", d=f"M{left:.1f} {self.y.end:.1f}V{bottom:.1f}H{self.x.end:.1f}", class_="axis"))
        parts.append(words(x_label, (left + self.x.end) / 2, bottom + 36, anchor="middle"))
        middle = (bottom + self.y.end) / 2
        parts.append(words(y_label, 0, 0, anchor="middle", transform=f"translate(14 {middle:.1f}) rotate(-90)"))
        return joined(parts)


class Chart(Markup):
    """A chart as markup; a notebook shows it as a picture."""

    def _repr_html_(self) -> str:
        from superproto.reporting.page import standalone_svg

        return str(standalone_svg(self))


def figure(width: float, height: float, *content: object, alt: str) -> Chart:
    """Return an <svg> that scales with the page; `alt` is its description for screen readers."""
    return Chart(
        element(
            "svg",
            *content,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width:.0f} {height:.0f}",
            width=round(width),
            height=round(height),
            role="img",
            aria_label=alt,
            class_="figure",
        )
    )


def words(
    text: str,
    x: float,
    y: float,
    *,
    anchor: str | None = None,
    size: str | None = None,
    transform: str | None = None,
    hover: str | None = None,
) -> Markup:
    """Draw text at a point."""
    inside = (text,) if hover is None else (text, element("title", hover))
    return element("text", *inside, x=float(x), y=float(y), text_anchor=anchor, class_=size, transform=transform)


def color(number: int) -> str:
    """Return the style class of the number-th group, which sets its color for light and dark pages."""
    return f"c{number % COLORS}"


def mark(
    number: int, x: float, y: float, *, size: float = 3.5, hover: str | None = None, hollow: bool = False
) -> Markup:
    """Draw a point of the number-th group. The shape changes when all colors have been used."""
    content = () if hover is None else (element("title", hover),)
    style = f"{color(number)} {'hollow' if hollow else 'dot'}"
    shape = (number // COLORS) % 4
    if shape == 0:
        return element("circle", *content, cx=float(x), cy=float(y), r=float(size), class_=style)
    return element("path", *content, d=_outline(shape, x, y, size), class_=style)


def marker(number: int, x: float, y: float, *, size: float = 4.0, hover: str | None = None) -> Markup:
    """Draw a point on the number-th line. The shape changes with every line."""
    content = () if hover is None else (element("title", hover),)
    style = f"{color(number)} dot"
    if number % 4 == 0:
        return element("circle", *content, cx=float(x), cy=float(y), r=size * 0.9, class_=style)
    return element("path", *content, d=_outline(number % 4, x, y, size), class_=style)


def legend(
    names: Sequence[str], x: float, y: float, width: float, *, shape: Callable[..., Markup] = mark
) -> tuple[Markup, float]:
    """Draw names with their marks, wrapped to the width. Return also the height of the legend."""
    parts: list[Markup] = []
    left, line = x, 0
    for number, name in enumerate(names):
        room = 22 + 6.6 * len(name)
        if left > x and left + room > x + width:
            left, line = x, line + 1
        at = y + line * _LINE
        parts.append(shape(number, left + 5, at - 4, size=4.5))
        parts.append(words(name, left + 14, at, size="tick"))
        left += room
    return joined(parts), (line + 1) * _LINE


def percent(value: float) -> str:
    """Format a fraction as a percentage.

    >>> percent(0.4567), percent(1.0)
    ('45.7 %', '100 %')
    """
    return f"{100 * value:.1f}".removesuffix(".0") + " %"


def _outline(shape: int, x: float, y: float, size: float) -> str:
    s = size
    if shape == 1:
        return f"M{x - s:.1f} {y - s:.1f}h{2 * s:.1f}v{2 * s:.1f}h{-2 * s:.1f}z"
    if shape == 2:
        s *= 1.3
        return f"M{x:.1f} {y - s:.1f}l{s:.1f} {s:.1f}l{-s:.1f} {s:.1f}l{-s:.1f} {-s:.1f}z"
    s *= 1.2
    return f"M{x:.1f} {y - s:.1f}l{s:.1f} {1.8 * s:.1f}h{-2 * s:.1f}z"


def shorten(name: str, most: int) -> str:
    """Cut a name to at most so many characters."""
    return name if len(name) <= most else name[: most - 1] + "…"
