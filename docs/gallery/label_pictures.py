"""From a folder of pictures to labels

Twelve kinds of drawings have examples, and four kinds are only described. This needs `pip install "superproto[pictures]"`
and no network.
"""

# %%
# ## The folders
#
# There are ten drawings of each kind, sorted into folders by kind. Drawings of the four kinds without an example are
# together in the folder `unsorted`. With photos of your own this step is not needed.
import csv
from itertools import product
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from superproto.reporting.charts import Picture, picture_grid
from superproto.reporting.charts.pictures import thumbnail

COLORS = {
    "red": (200, 40, 40),
    "green": (40, 160, 60),
    "blue": (40, 70, 200),
    "yellow": (220, 200, 50),
}
KINDS = [
    " ".join(traits)
    for traits in product(COLORS, ("disc", "square"), ("plain", "striped"))
]
WITHOUT_EXAMPLE = (
    "red disc striped",
    "green square plain",
    "blue disc plain",
    "yellow square striped",
)


def draw(kind, generator):
    """A shape of a random size at a random place, on gray paper."""
    color, shape, texture = kind.split()
    picture = Image.new(
        "RGB", (96, 96), (int(generator.integers(90, 170)),) * 3
    )
    pen, r, (x, y) = (
        ImageDraw.Draw(picture),
        int(generator.integers(22, 34)),
        generator.integers(38, 58, 2).tolist(),
    )
    fill = tuple(
        int(level)
        for level in np.clip(
            COLORS[color] + generator.integers(-15, 16, 3), 0, 255
        )
    )
    (pen.ellipse if shape == "disc" else pen.rectangle)(
        (x - r, y - r, x + r, y + r), fill=fill
    )
    if texture == "striped":
        for offset in range(-r, r, 8):
            pen.line(
                (x - r, y + offset, x + r, y + offset),
                fill=(20, 20, 20),
                width=3,
            )
    return picture


def draw_folder(photos):
    """Ten drawings of each kind; kinds without an example share one folder."""
    generator = np.random.default_rng(0)
    for kind in KINDS:
        folder = photos / ("unsorted" if kind in WITHOUT_EXAMPLE else kind)
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(10):
            draw(kind, generator).save(
                folder / f"{kind.replace(' ', '-')}_{number}.jpg"
            )
    with open("kinds.csv", "w", newline="") as handle:
        traits = (*COLORS, "square", "striped")
        csv.writer(handle).writerows(
            [
                ["name", *traits],
                *(
                    [kind, *(int(trait in kind) for trait in traits)]
                    for kind in KINDS
                ),
            ]
        )


draw_folder(Path("drawings"))
print(*Path("kinds.csv").read_text().splitlines()[:4], "...", sep="\n")

# %%
# ## Ten lines
#
# The encoder runs on the processor. The last lines print the five labels that a person
# should look at first.
from superproto import HPL
from superproto.pictures import describe_classes, embed_folder

kinds = describe_classes("kinds.csv")
drawings = embed_folder("drawings")
folders = [path.split("/")[0] for path in drawings.ids]
y = [folder if folder in kinds.names else None for folder in folders]
model = HPL().fit(drawings.features, y, kinds.semantics, kinds.names)
for row in np.argsort(-model.doubt_)[:5]:
    print(drawings.ids[row], "is", model.transduction_[row])

# %%
# ## The labels
#
# Drawings of the kinds without an example, by the label that they got. The true kind is in the names of the files.
unsorted = [row for row, given in enumerate(y) if given is None]
label = {row: model.transduction_[row] for row in unsorted}
right = {
    row: Path(drawings.ids[row]).name.startswith(
        label[row].replace(" ", "-") + "_"
    )
    for row in unsorted
}
print(
    f"{np.mean(list(right.values())):.0%} of {len(right)} drawings of kinds "
    "without an example are labeled right."
)
picture_grid(
    [
        [
            Picture(
                thumbnail(Path("drawings") / drawings.ids[row]),
                wrong=not right[row],
            )
            for row in [row for row in unsorted if label[row] == kind][:8]
        ]
        for kind in WITHOUT_EXAMPLE
    ],
    WITHOUT_EXAMPLE,
    size=64,
    alt="Drawings by label",
)
