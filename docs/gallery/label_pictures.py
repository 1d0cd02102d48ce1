"""From a folder of pictures to labels in Python: 12 kinds of drawings with examples, 4 kinds that are only described.

Run it anywhere: python label_pictures.py (needs pip install "superproto[pictures]"; no network, about half a minute).
"""

import csv
from itertools import product
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

COLORS = {"red": (200, 40, 40), "green": (40, 160, 60), "blue": (40, 70, 200), "yellow": (220, 200, 50)}
KINDS = [" ".join(traits) for traits in product(COLORS, ("disc", "square"), ("plain", "striped"))]
WITHOUT_EXAMPLE = ("red disc striped", "green square plain", "blue disc plain", "yellow square striped")


def draw(kind, generator):
    """A shape of a random size at a random place, on gray paper."""
    color, shape, texture = kind.split()
    picture = Image.new("RGB", (96, 96), (int(generator.integers(90, 170)),) * 3)
    pen, r, (x, y) = ImageDraw.Draw(picture), int(generator.integers(22, 34)), generator.integers(38, 58, 2).tolist()
    fill = tuple(int(level) for level in np.clip(COLORS[color] + generator.integers(-15, 16, 3), 0, 255))
    (pen.ellipse if shape == "disc" else pen.rectangle)((x - r, y - r, x + r, y + r), fill=fill)
    if texture == "striped":
        for offset in range(-r, r, 8):
            pen.line((x - r, y + offset, x + r, y + offset), fill=(20, 20, 20), width=3)
    return picture


def draw_folder(photos):
    """Ten drawings of each kind, sorted into folders; those of kinds without an example are in one folder together."""
    generator = np.random.default_rng(0)
    for kind in KINDS:
        folder = photos / ("unsorted" if kind in WITHOUT_EXAMPLE else kind)
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(10):
            draw(kind, generator).save(folder / f"{kind.replace(' ', '-')}_{number}.jpg")
    with open("kinds.csv", "w", newline="") as handle:
        traits = (*COLORS, "square", "striped")
        csv.writer(handle).writerows(
            [["name", *traits], *([kind, *(int(trait in kind) for trait in traits)] for kind in KINDS)]
        )


draw_folder(Path("drawings"))

# -- the ten lines -----------------------------------------------------------------------------------------------------
from superproto import HPL
from superproto.pictures import describe_classes, embed_folder

kinds = describe_classes("kinds.csv")
drawings = embed_folder("drawings")
folders = [path.split("/")[0] for path in drawings.ids]
y = [folder if folder in kinds.names else None for folder in folders]
model = HPL().fit(drawings.features, y, semantics=kinds.semantics, class_names=kinds.names)
for row in np.argsort(-model.doubt_)[:5]:  # the most doubtful ones, which a person should look at
    print(f"{drawings.ids[row]}: {model.transduction_[row]} (doubt {model.doubt_[row]:.0%})")
# ----------------------------------------------------------------------------------------------------------------------

asked = [(Path(path).name, label) for path, label, given in zip(drawings.ids, model.transduction_, y) if given is None]
right = np.mean([name.startswith(label.replace(" ", "-") + "_") for name, label in asked])
print(f"{right:.0%} of {len(asked)} drawings of kinds without an example are labeled right.")
