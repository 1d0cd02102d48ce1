"""Files as they occur in folders, and files made to harm: each is read as it looks, or left out with a reason."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="pictures need Pillow")
from superproto.pictures.embedding import embed_folder  # noqa: E402
from superproto.pictures.folder_walk import readable_path  # noqa: E402
from superproto.pictures.images import Unusable, decode  # noqa: E402

pytestmark = pytest.mark.extra
SIDE = 32


def encoded(picture, kind: str, **options) -> bytes:
    content = io.BytesIO()
    picture.save(content, kind, **options)
    return content.getvalue()


def color_of(content: bytes) -> list[int]:
    """The mean color of a picture's view."""
    return decode(content, SIDE, 1.0).view.mean(axis=(0, 1)).round().astype(int).tolist()


def png_header(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(bytes(100))), (b"IEND", b"")]
    packed = [struct.pack(">I", len(c)) + k + c + struct.pack(">I", zlib.crc32(k + c)) for k, c in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


RED = (200, 30, 40)
READABLE = {
    "RGB as PNG": lambda: encoded(Image.new("RGB", (60, 40), RED), "PNG"),
    "RGB as JPEG": lambda: encoded(Image.new("RGB", (60, 40), RED), "JPEG"),
    "progressive JPEG": lambda: encoded(Image.new("RGB", (60, 40), RED), "JPEG", progressive=True),
    "WebP": lambda: encoded(Image.new("RGB", (60, 40), RED), "WEBP", lossless=True),
    "BMP": lambda: encoded(Image.new("RGB", (60, 40), RED), "BMP"),
    "TIFF": lambda: encoded(Image.new("RGB", (60, 40), RED), "TIFF", compression="tiff_lzw"),
    "PPM": lambda: encoded(Image.new("RGB", (60, 40), RED), "PPM"),
    "palette": lambda: encoded(Image.new("RGB", (60, 40), RED).quantize(4), "PNG"),
    "GIF": lambda: encoded(Image.new("RGB", (60, 40), RED).quantize(4), "GIF"),
    "one pixel": lambda: encoded(Image.new("RGB", (1, 1), RED), "PNG"),
    "animation": lambda: encoded(
        Image.new("RGB", (60, 40), RED), "GIF", save_all=True, append_images=[Image.new("RGB", (60, 40), "blue")]
    ),
    "opaque alpha": lambda: encoded(Image.new("RGBA", (60, 40), (*RED, 255)), "PNG"),
    "a JPEG under the name of a PNG": lambda: encoded(Image.new("RGB", (60, 40), RED), "JPEG"),
    "damaged EXIF": lambda: encoded(
        Image.new("RGB", (60, 40), RED), "JPEG", exif=b"Exif\x00\x00MM\x00*\xff\xff\xff\xff"
    ),
    "bytes after the end": lambda: encoded(Image.new("RGB", (60, 40), RED), "PNG") + b"<script>" * 100,
}
GRAY = {
    "gray": lambda: encoded(Image.new("L", (60, 40), 128), "PNG"),
    "gray with alpha": lambda: encoded(Image.new("LA", (60, 40), (128, 255)), "PNG"),
    "16 bit PNG": lambda: encoded(Image.fromarray(np.full((40, 60), 128 * 257, np.uint16)), "PNG"),
    "16 bit TIFF": lambda: encoded(Image.fromarray(np.full((40, 60), 128 * 257, np.uint16)), "TIFF"),
    "floating point TIFF": lambda: encoded(Image.fromarray(np.full((40, 60), 0.5, np.float32)), "TIFF"),
    "CMYK JPEG": lambda: encoded(Image.new("CMYK", (60, 40), (0, 0, 0, 127)), "JPEG"),
}
UNUSABLE = {
    "empty": (lambda: b"", "empty"),
    "truncated JPEG": (lambda: encoded(noise(), "JPEG")[:2000], "truncated"),
    "truncated PNG": (lambda: encoded(noise(), "PNG")[:2000], "truncated|damaged"),
    "truncated WebP": (lambda: encoded(noise(), "WEBP")[:2000], "truncated|damaged|format|beginning"),
    "only the first bytes of a JPEG": (lambda: b"\xff\xd8\xff\xe0", "damaged|truncated"),
    "text": (lambda: b"this is no picture\n", "text file"),
    "HTML": (lambda: b"<!DOCTYPE html><html><body>404</body></html>", "web page"),
    "SVG": (lambda: b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "SVG"),
    "zip": (lambda: b"PK\x03\x04" + bytes(100), "no supported picture"),
    "random bytes": (lambda: np.random.default_rng(0).bytes(5000), "no supported picture"),
    "zeros": (lambda: bytes(5000), "no supported picture"),
    "50,000 x 50,000 PNG": (lambda: png_header(50_000, 50_000), "50000 x 50000 pixels"),
    "2^31 wide PNG": (lambda: png_header(2**31 - 1, 2**31 - 1), "pixels|damaged"),
    "a line": (lambda: png_header(20_000, 1), "20000 x 1 pixels .limit: 100 times"),
    "no pixels": (lambda: png_header(0, 10), "pixels|damaged|beginning|format"),
    "PNG without data": (lambda: png_header(100, 100), "truncated|damaged"),
    "EPS, which would run a program": (lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "text file"),
    "PSD": (lambda: b"8BPS\x00\x01" + bytes(100), "no supported picture"),
    "GIF with a broken block": (lambda: b"GIF89a" + bytes(4) + b"\xff" * 50, "damaged|truncated|pixels|beginning"),
    "text bomb in PNG": (lambda: text_bomb(), "damaged|memory|truncated"),
}


def noise():
    return Image.fromarray(np.random.default_rng(0).integers(0, 255, (90, 90, 3), dtype=np.uint8))


def text_bomb() -> bytes:
    """A PNG whose compressed comment unfolds to 300 MB."""
    comment = b"Comment\x00\x00" + zlib.compress(bytes(300 * 2**20), 9)
    chunk = struct.pack(">I", len(comment)) + b"zTXt" + comment + struct.pack(">I", zlib.crc32(b"zTXt" + comment))
    whole = encoded(Image.new("RGB", (60, 40), RED), "PNG")
    return whole[:33] + chunk + whole[33:]


@pytest.mark.parametrize("kind", READABLE)
def test_a_readable_kind_has_its_color(kind):
    assert np.abs(np.subtract(color_of(READABLE[kind]()), RED)).max() <= 6


@pytest.mark.parametrize("kind", GRAY)
def test_a_gray_kind_is_gray(kind):
    assert np.abs(np.subtract(color_of(GRAY[kind]()), 128)).max() <= 3


@pytest.mark.parametrize("kind", UNUSABLE)
def test_an_unusable_kind_has_a_reason(kind):
    make, reason = UNUSABLE[kind]
    with pytest.raises(Unusable, match=reason):
        decode(make(), SIDE, 1.0)


def test_transparency_is_white():
    assert color_of(encoded(Image.new("RGBA", (60, 40), (0, 0, 0, 0)), "PNG")) == [255, 255, 255]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_turns_a_picture_upright(orientation):
    upright = np.zeros((40, 60, 3), np.uint8)
    upright[:20, :30] = 255
    turned = {1: upright, 2: upright[:, ::-1], 3: upright[::-1, ::-1], 4: upright[::-1],
              5: upright.swapaxes(0, 1), 6: upright.swapaxes(0, 1)[::-1], 7: upright.swapaxes(0, 1)[::-1, ::-1],
              8: upright.swapaxes(0, 1)[:, ::-1]}[orientation]  # fmt: skip
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = encoded(Image.fromarray(np.ascontiguousarray(turned)), "PNG", exif=exif)
    view = decode(content, SIDE, 1.0).view[..., 0].astype(int)
    assert view[4, 4] > 200
    assert max(view[-5, 4], view[4, -5], view[-5, -5]) < 60


NAMES = {
    "markup": "<img src=x onerror=alert(1)>.png",
    "new line": "two\nlines.png",
    "quotes": "\"double\" and 'single'.png",
    "leading space": " space.png",
    "240 letters": "n" * 236 + ".png",
    "other scripts": "鸟-птица-🦜.png",
    "decomposed": "cafe\u0301.png",
    "dash": "-rf.png",
    "formula": "=1+1.png",
    "upper case": "LOUD.PNG",
    "no text": os.fsdecode(b"\xff\xfe.png"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="names and links of a POSIX system")
def test_a_folder_of_odd_names_links_and_pipes_is_read_to_its_end(tmp_path, cells):
    photos, outside = tmp_path / "photos", tmp_path / "outside.png"
    photos.mkdir()
    for number, name in enumerate(NAMES.values()):
        (photos / name).write_bytes(encoded(Image.new("RGB", (40, 40), (number * 20, 90, 30)), "PNG"))
    for number, (make, _) in enumerate(UNUSABLE.values()):
        (photos / f"bad-{number}.jpg").write_bytes(make())
    outside.write_bytes(encoded(Image.new("RGB", (40, 40), "red"), "PNG"))
    os.mkfifo(photos / "pipe.png")
    (photos / "leaves.png").symlink_to(outside)
    (photos / "dangling.png").symlink_to(photos / "nothing.png")
    (photos / "self.png").symlink_to("self.png")
    (photos / "loop").symlink_to(photos)
    (photos / "inside.png").symlink_to("LOUD.PNG")
    (photos / ".hidden.png").write_bytes(b"not read")
    (photos / "notes.txt").write_text("not a picture")
    before = snapshot(photos)

    found = embed_folder(photos, encoder=cells, run=tmp_path / "run", n_processes=1)

    assert set(found.ids) == {*map(readable_path, NAMES.values()), "inside.png"}
    reasons = dict(found.skipped)
    assert len(reasons) == len(UNUSABLE) + 6
    assert "regular file" in reasons["pipe.png"]
    assert "leaves the folder" in reasons["leaves.png"]
    assert "broken" in reasons["dangling.png"]
    assert "broken" in reasons["self.png"]
    assert "read anyway" in reasons["loop"]
    assert ["LOUD.PNG", "inside.png"] in found.copies
    assert snapshot(photos) == before


MEASURED = """
import resource, sys
sys.path.insert(0, sys.argv[3])
from conftest import FakeEncoder
from superproto.pictures.embedding import embed_folder
found = embed_folder(sys.argv[1], encoder=FakeEncoder(), run=sys.argv[2], n_processes=1)
own = open("/proc/self/status").read().split("VmHWM:")[1].split()[0]
print(len(found.ids), len(found.skipped), 1024 * (int(own) + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's account of memory")
def test_memory_stays_under_a_gigabyte(tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    for number, make in enumerate([*READABLE.values(), *GRAY.values(), *(make for make, _ in UNUSABLE.values())]):
        (photos / f"{number}.png").write_bytes(make())
    # As large as is read: one bit, a palette, four bytes a pixel.
    Image.new("1", (10_900, 10_900)).save(photos / "bits.png")
    Image.new("P", (10_900, 10_900)).save(photos / "palette.png")
    Image.new("RGB", (9_900, 9_900)).save(photos / "colors.png")
    command = [sys.executable, "-c", MEASURED, str(photos), str(tmp_path / "run"), os.path.dirname(__file__)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert [int(said[0]), int(said[1])] == [len(READABLE) + len(GRAY) + 3, len(UNUSABLE)]
    assert int(said[2]) < 1e9


def snapshot(folder):
    return sorted((os.fsencode(e.path), e.stat(follow_symlinks=False).st_mtime_ns) for e in os.scandir(folder))
