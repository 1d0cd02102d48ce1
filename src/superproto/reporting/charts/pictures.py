"""Draw small pictures in the page: gray arrays and photographs as data URIs, in a grid with captions."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from superproto.errors import UserError
from superproto.pictures.images import Unusable, decode_file
from superproto.reporting.charts.frame import element, figure, joined, words
from superproto.samples.chunks import Array


class Picture(NamedTuple):
    """A picture with caption, hover text, and whether its label is wrong.

    ``ink`` is a gray array (rows, columns) from 0 (white) to 1 (black), or the data URI of a photograph.
    """

    ink: Array | str
    caption: str = ""
    hover: str = ""
    wrong: bool = False


def gray_png(ink: Array) -> bytes:
    """Encode an array of 0 (white) to 1 (black) as an 8-bit gray PNG."""
    gray = np.round(255 * (1 - np.clip(np.nan_to_num(np.asarray(ink, float)), 0, 1))).astype(np.uint8)
    height, width = gray.shape
    # Each line starts with its filter: 0, none.
    lines = np.column_stack([np.zeros(height, np.uint8), gray]).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines, 9)) + _chunk(b"IEND", b"")
    )


def data_uri(image: bytes, kind: str = "image/png") -> str:
    """Return the bytes of an image as a data URI, which needs no file."""
    return f"data:{kind};base64,{base64.b64encode(image).decode('ascii')}"


def picture_grid(
    rows: Sequence[Sequence[Picture]],
    row_names: Sequence[str],
    column_names: Sequence[str] = (),
    *,
    size: float = 44,
    alt: str,
) -> Markup:
    """Draw rows of pictures. Each row starts with its name; pictures with a wrong label are framed and crossed."""
    left, gap = 20 + 7.2 * max((len(name) for name in row_names), default=0), 6
    top = 22 if column_names else 4
    caption = 14 if any(picture.caption for row in rows for picture in row) else 0
    step = size + gap
    parts = [
        words(name, left + i * step + size / 2, 13, anchor="middle", size="tick") for i, name in enumerate(column_names)
    ]
    for number, (name, row) in enumerate(zip(row_names, rows)):
        y = top + number * (step + caption)
        parts.append(words(name, left - 12, y + size / 2 + 5, anchor="end"))
        parts += [_draw(picture, left + i * step, y, size) for i, picture in enumerate(row)]
    longest = max((len(row) for row in rows), default=0)
    return figure(left + longest * step, top + len(rows) * (step + caption), joined(parts), alt=alt)


def _draw(picture: Picture, x: float, y: float, size: float) -> Markup:
    photo = isinstance(picture.ink, str)
    href = picture.ink if isinstance(picture.ink, str) else data_uri(gray_png(picture.ink))
    image = element("image", href=href, x=x, y=y, width=size, height=size, class_=None if photo else "pixels")
    inside = [image, element("rect", x=x, y=y, width=size, height=size, class_="wrong" if picture.wrong else "edge")]
    if picture.wrong:
        inside.append(
            element("path", d=f"M{x + size - 11:.1f} {y + 3:.1f}l8 8m0 -8l-8 8", class_="cross"),
        )
    if picture.caption:
        inside.append(words(picture.caption, x + size / 2, y + size + 12, anchor="middle", size="tick"))
    if picture.hover:
        inside.append(element("title", picture.hover))
    return element("g", *inside)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def thumbnail(path: Path, size: int = 96) -> str | None:
    """Return the picture's central square as the data URI of a small JPEG; None if the file is not a picture."""
    try:
        from PIL import Image
    except ImportError:
        raise UserError('Pictures need Pillow. Install it with: pip install "superproto[images]"') from None
    try:
        small = Image.fromarray(decode_file(path, size, 1.0).view)
    except Unusable:
        return None
    content = io.BytesIO()
    small.save(content, "JPEG", quality=70)
    return data_uri(content.getvalue(), "image/jpeg")
