"""READ: decode one picture file safely into the view that an encoder takes.

Only listed formats are read, and sizes are checked before pixels are decoded. A file that cannot be used raises
:class:`Unusable` with a reason for the user.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superproto.samples.chunks import Array

_SUFFIXES = (
    ".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".png", ".apng", ".gif", ".webp", ".bmp", ".dib", ".tif", ".tiff",
    ".ppm", ".pgm", ".pbm", ".pnm", ".jp2", ".j2k", ".avif",
)  # fmt: skip
_FORMATS = ("JPEG", "MPO", "PNG", "GIF", "WEBP", "BMP", "DIB", "TIFF", "PPM", "JPEG2000", "AVIF")
_MOST_FILE_BYTES = 300 * 10**6
_MOST_PIXELS = 120 * 10**6
_MOST_PICTURE_BYTES = 400 * 10**6
_LONGEST_RATIO = 100
# Difference in gray levels. Smaller ones are compression noise.
_CLEARLY = 3


class Unusable(Exception):
    """The reason why a file is skipped."""


class Decoded(NamedTuple):
    """Hash of the file's content, view (side, side, 3) of bytes, and 64 bits that near copies share."""

    content: str
    view: Array
    fingerprint: int


def read_content(path: str | bytes | os.PathLike[str]) -> bytes:
    """The bytes of a regular file of reasonable size."""
    try:
        # The file may have been replaced by a pipe, which must not block the run.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as handle:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise Unusable("it is not a regular file")
            if status.st_size > _MOST_FILE_BYTES:
                raise Unusable(f"the file has {status.st_size / 1e6:.0f} MB (limit: {_MOST_FILE_BYTES / 1e6:.0f} MB)")
            return handle.read(_MOST_FILE_BYTES + 1)
    except OSError as error:
        raise Unusable(f"it cannot be read: {error.strerror or error}") from None


def content_hash(content: bytes) -> str:
    """The key of a picture, whatever its name."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def decode(content: bytes, side: int, crop: float) -> Decoded:
    """Decode a picture: upright, RGB on a white background, central square, resized."""
    picture = open_picture(content, int(2 * side / crop))
    return Decoded(content_hash(content), _view(picture, side, crop), _fingerprint(picture))


def open_picture(content: bytes, fine: int) -> Any:
    """Open a picture: upright, RGB on a white background, sides reduced to no less than `fine` pixels."""
    from PIL import Image

    if not content:
        raise Unusable("the file is empty")
    # The limits below are stricter than Pillow's. They count the memory that each picture needs.
    Image.MAX_IMAGE_PIXELS = None
    try:
        return _open_rgb(content, fine)
    except Unusable:
        raise
    except MemoryError:
        raise Unusable("decoding needs too much memory") from None
    except Image.UnidentifiedImageError:
        raise Unusable(_foreign(content)) from None
    except Exception as error:  # a decoder may raise anything on a damaged file
        raise Unusable(_damage(error)) from None


def decode_file(path: str | os.PathLike[str], side: int, crop: float) -> Decoded:
    """Decode a file."""
    return decode(read_content(path), side, crop)


def name_problem(path: Path) -> str | None:
    """The reason why a file with this name is not read as a picture. None if it may be one."""
    suffix = path.suffix.lower()
    if suffix in _SUFFIXES:
        return None
    if suffix in (".heic", ".heif", ".cr2", ".cr3", ".nef", ".arw", ".dng", ".raf", ".orf", ".rw2", ".psd"):
        return f"{suffix} files are not supported. Convert it to JPEG or PNG"
    if suffix == ".svg":
        return "SVG files are not supported. Save it as PNG"
    return f"{suffix} is not the extension of a picture" if suffix else "its name has no extension"


def _open_rgb(content: bytes, fine: int) -> Any:
    """The whole picture. JPEG is decoded at a half, quarter or eighth if its sides still have `fine` pixels."""
    from PIL import Image

    with warnings.catch_warnings():
        # Warnings about details, such as truncated EXIF data, would interrupt a run over many files.
        warnings.simplefilter("ignore")
        with Image.open(io.BytesIO(content), formats=_available(Image)) as opened:
            _check_size(opened)
            opened.draft("RGB", (fine, fine))
            return _to_rgb(_coarser(_upright(opened), fine))


def _available(pillow: Any) -> list[str]:
    pillow.init()
    return [name for name in _FORMATS if name in pillow.OPEN]


def _check_size(picture: Any) -> None:
    width, height = picture.size
    if width < 1 or height < 1:
        raise Unusable("it has no pixels")
    if width * height > _MOST_PIXELS:
        raise Unusable(f"it has {width} x {height} pixels (limit: {_MOST_PIXELS // 10**6} million)")
    # Pillow stores pictures of several channels in four bytes per pixel.
    several = len(picture.getbands()) > 1 or picture.mode in ("I", "F")
    depth = 4 if several else 2 if ";16" in picture.mode else 1
    if picture.format not in ("JPEG", "MPO") and width * height * depth > _MOST_PICTURE_BYTES:
        raise Unusable(f"it needs {width * height * depth / 1e6:.0f} MB (limit: {_MOST_PICTURE_BYTES / 1e6:.0f} MB)")
    if max(width, height) > _LONGEST_RATIO * min(width, height):
        raise Unusable(f"it has {width} x {height} pixels (limit: {_LONGEST_RATIO} times as long as wide)")


def _upright(picture: Any) -> Any:
    """The first frame, rotated as its EXIF data says. Damaged EXIF data is ignored."""
    from PIL import ImageOps

    picture.load()
    # EXIF data of many devices is malformed.
    with suppress(Exception):
        ImageOps.exif_transpose(picture, in_place=True)
    return picture


def _coarser(picture: Any, fine: int) -> Any:
    """A large picture, reduced by a whole factor, so that later steps need little memory."""
    from PIL import Image

    factor = min(picture.size) // fine
    if factor < 2:
        return picture
    if picture.mode in ("L", "LA", "RGB", "RGBA", "CMYK", "YCbCr", "LAB", "I", "F"):
        return picture.reduce(factor)
    # Pillow cannot average pixels of palettes, single bits and 16 bits: the nearest pixel is taken.
    width, height = picture.size
    return picture.resize((width // factor, height // factor), Image.Resampling.NEAREST)


def _to_rgb(picture: Any) -> Any:
    """Convert to eight bits and three channels, with transparency on white."""
    from PIL import Image

    if picture.mode in ("I", "F") or ";16" in picture.mode:
        return Image.fromarray(_to_bytes(np.asarray(picture))).convert("RGB")
    if picture.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in picture.info:
        layered = picture.convert("RGBA")
        paper = Image.new("RGB", layered.size, "white")
        paper.paste(layered, mask=layered.getchannel("A"))
        return paper
    return picture if picture.mode == "RGB" else picture.convert("RGB")


def _to_bytes(values: Array) -> Array:
    """Scale gray values of 16 or 32 bits, or floating point, to bytes."""
    finite = np.nan_to_num(values.astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    largest = float(finite.max(initial=0.0))
    if values.dtype.kind == "f":
        full = 1.0 if largest <= 1 else 255.0 if largest <= 255 else largest
    else:
        full = 65535.0 if values.dtype.itemsize == 2 or largest > 255 else 255.0
        full = max(full, largest)
    return np.clip(finite * (255.0 / full), 0, 255).round().astype(np.uint8)


def _view(picture: Any, side: int, crop: float) -> Array:
    from PIL import Image

    width, height = picture.size
    half = crop * min(width, height) / 2
    box = (width / 2 - half, height / 2 - half, width / 2 + half, height / 2 + half)
    return np.asarray(picture.resize((side, side), Image.Resampling.BICUBIC, box=box))


def _fingerprint(picture: Any) -> int:
    """64 bits: whether each cell of a 9 x 8 miniature is clearly darker than its right neighbor."""
    from PIL import Image

    small = np.asarray(picture.resize((9, 8), Image.Resampling.BOX).convert("L")).astype(int)
    return int.from_bytes(np.packbits(small[:, :-1] + _CLEARLY < small[:, 1:]).tobytes(), "big")


def _foreign(content: bytes) -> str:
    start = content[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "it is a web page with the name of a picture"
    if b"<svg" in start:
        return "it is an SVG file. Save it as PNG"
    if content[:4] == b"\x89PNG" or content[:3] == b"\xff\xd8\xff" or content[:4] in (b"GIF8", b"RIFF"):
        return "it is damaged at its beginning"
    text = all(byte >= 32 or byte in b"\t\r\n\f" for byte in content[:1000])
    return "it is a text file with the name of a picture" if text else "its content is no supported picture format"


def _damage(error: Exception) -> str:
    said = " ".join(str(error).split())[:100]
    if "truncated" in said.lower() or isinstance(error, EOFError):
        return "it is truncated"
    return f"it is damaged ({said or type(error).__name__})"
