"""Small copies of photographs for the report, as data URIs. Needs Pillow: pip install "superproto[images]"."""

from __future__ import annotations

import io
from pathlib import Path

from .drawing import data_uri
from .errors import UserError

__all__ = ["thumbnail"]


def thumbnail(path: Path, size: int = 96) -> str | None:
    """The picture's middle square as a small JPEG's data URI; None where the file is missing or is no picture."""
    try:
        from PIL import Image, ImageOps
    except ImportError:
        raise UserError('Pictures need Pillow. Install it with: pip install "superproto[images]"') from None
    try:
        with Image.open(path) as picture:
            small = ImageOps.fit(picture.convert("RGB"), (size, size))
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
    content = io.BytesIO()
    small.save(content, "JPEG", quality=70)
    return data_uri(content.getvalue(), "image/jpeg")
