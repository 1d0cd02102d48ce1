"""Folders of drawn pictures: shape, color and texture are the attributes of a class."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest

COLORS = {"red": (200, 40, 40), "green": (40, 160, 60), "blue": (40, 70, 200), "yellow": (220, 200, 50)}
SHAPES = ("disc", "square", "triangle")
TEXTURES = ("plain", "striped")
CLASSES = [" ".join(parts) for parts in product(COLORS, SHAPES, TEXTURES)]
UNSEEN = ("red square striped", "green disc plain", "blue triangle plain", "yellow disc striped")


def draw(name: str, generator: np.random.Generator, side: int = 96):
    """A picture of a class: its shape at a random place and size, on a gray ground with noise."""
    from PIL import Image, ImageDraw

    color, shape, texture = name.split()
    ground = tuple(int(v) for v in generator.integers(90, 170, 1).repeat(3))
    picture = Image.new("RGB", (side, side), ground)
    pen = ImageDraw.Draw(picture)
    r = int(generator.integers(22, 34))
    x, y = (int(v) for v in generator.integers(38, side - 38, 2))
    fill = tuple(int(np.clip(v + generator.integers(-15, 16), 0, 255)) for v in COLORS[color])
    if shape == "disc":
        pen.ellipse((x - r, y - r, x + r, y + r), fill=fill)
    elif shape == "square":
        pen.rectangle((x - r, y - r, x + r, y + r), fill=fill)
    else:
        pen.polygon([(x, y - r), (x - r, y + r), (x + r, y + r)], fill=fill)
    if texture == "striped":
        for offset in range(-r, r, 8):
            pen.line((x - r, y + offset, x + r, y + offset), fill=(20, 20, 20), width=3)
    noise = generator.normal(0, 6, (side, side, 3))
    return Image.fromarray(np.clip(np.asarray(picture) + noise, 0, 255).astype(np.uint8))


def attributes(name: str) -> list[int]:
    color, shape, texture = name.split()
    return [*(int(color == c) for c in COLORS), *(int(shape == s) for s in SHAPES), int(texture == "striped")]


def write_classes(path: Path, names=tuple(CLASSES)) -> Path:
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["name", *COLORS, *SHAPES, "striped"])
        writer.writerows([name, *attributes(name)] for name in names)
    return path


@pytest.fixture(scope="session")
def drawn_folder(tmp_path_factory):
    """20 sorted classes of 8 pictures, 4 others unsorted; names of the unsorted files tell the truth."""
    pytest.importorskip("PIL")
    root = tmp_path_factory.mktemp("drawn")
    generator = np.random.default_rng(0)
    for name in CLASSES:
        for number in range(8 if name not in UNSEEN else 12):
            place = root / "photos" / ("unsorted" if name in UNSEEN else name)
            place.mkdir(parents=True, exist_ok=True)
            draw(name, generator).save(place / f"{name.replace(' ', '-')}_{number}.jpg", quality=92)
    write_classes(root / "classes.csv")
    return root


class FakeEncoder:
    """A stand-in that needs no network: means of the colors over a grid of cells."""

    name = identity = "means of 4 x 4 cells"
    n_features = 48

    def __init__(self):
        from superproto.pictures.encoders import View

        self.view = View(32)

    def embed(self, views):
        return views.reshape(-1, 4, 8, 4, 8, 3).mean(axis=(2, 4)).reshape(len(views), -1).astype(np.float32)


@pytest.fixture
def cells():
    pytest.importorskip("PIL")
    return FakeEncoder()


@pytest.fixture
def picture():
    """A function that draws one picture."""
    pytest.importorskip("PIL")
    return lambda seed=0, name="red disc plain", side=96: draw(name, np.random.default_rng(seed), side)
