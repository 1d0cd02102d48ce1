"""Your own CSV files

Label your own samples from three CSV files: features, labels and class descriptions. The example writes small files of
its own. Replace them by yours.
"""

# %%
# ## Three files
#
# - `features.csv` has an identifier and numbers for each sample.
# - `labels.csv` has the columns `id` and `label`. An empty label means that the sample is to be labeled.
# - `classes.csv` has the name of each class and its description as numbers. A class needs no labeled sample.
#
# The animals here are simulated: a sample is a random linear function of its description, plus noise.
import csv
from pathlib import Path

import numpy as np

from superproto import HPL
from superproto.datasets import read_classes, read_features
from superproto.reporting.charts import bar_chart, percent

TRAITS = [
    "stripes",
    "spots",
    "hooves",
    "claws",
    "horns",
    "hunts",
    "swims",
    "flies",
    "large",
    "fur",
]
ANIMALS = {
    "horse": "hooves large fur", "donkey": "hooves fur",
    "cow": "hooves horns large fur", "goat": "hooves horns fur",
    "tiger": "stripes claws hunts large fur", "cat": "claws hunts fur",
    "lion": "claws hunts large fur", "leopard": "spots claws hunts fur",
    "seal": "hunts swims fur", "orca": "hunts swims large",
    "otter": "claws swims fur", "eagle": "claws hunts flies",
    "duck": "swims flies", "perch": "stripes hunts swims",
    "bee": "stripes flies", "ladybird": "spots flies",
    "zebra": "stripes hooves large fur", "deer": "spots hooves horns fur",
    "polar bear": "claws hunts swims large fur",
    "osprey": "claws hunts swims flies",
}  # fmt: skip
NEVER_LABELED = ["zebra", "deer", "polar bear", "osprey"]

rng = np.random.default_rng(0)
descriptions = {
    name: [int(trait in own.split()) for trait in TRAITS]
    for name, own in ANIMALS.items()
}
truth = [name for name in ANIMALS for _ in range(40)]
samples = np.array([descriptions[name] for name in truth]) @ rng.normal(
    size=(10, 12)
) + 1.1 * rng.normal(size=(800, 12))


def write(path, header, rows):
    with open(path, "w", newline="") as handle:
        csv.writer(handle).writerows([header, *rows])


write(
    "features.csv",
    ["id", *(f"f{i}" for i in range(12))],
    [[i, *row.round(3)] for i, row in enumerate(samples)],
)
write(
    "labels.csv",
    ["id", "label"],
    [
        [i, "" if name in NEVER_LABELED else name]
        for i, name in enumerate(truth)
    ],
)
write(
    "classes.csv",
    ["name", *TRAITS],
    [[name, *row] for name, row in descriptions.items()],
)
for name in ("features.csv", "labels.csv", "classes.csv"):
    print(f"{name:13}", *Path(name).read_text().splitlines()[:2], sep="\n  ")

# %%
# ## Fit
#
# On the command line the same is `superproto fit --features features.csv --labels labels.csv --classes classes.csv -o
# animals.model`.
classes = read_classes("classes.csv")
features = read_features("features.csv")
with open("labels.csv", newline="") as handle:
    y = [row["label"] or None for row in csv.DictReader(handle)]
model = HPL().fit(
    features.X, y, semantics=classes.semantics, class_names=classes.names
)
model

# %%
# ## Labels, and the rows to look at first
#
# `transduction_` has a label for every row, and `doubt_` its uncertainty. These are the most uncertain rows.
for row in np.argsort(-model.doubt_)[:5]:
    print(
        f"row {features.ids[row]}: {model.transduction_[row]} (uncertainty "
        f"{model.doubt_[row]:.0%}), in truth {truth[row]}"
    )

# %%
# ## How good are they?
#
# The truth is known here, because the data are simulated. With your own files, label some samples by hand and compare.
shares = [
    float(np.mean(model.transduction_[np.array(truth) == name] == name))
    for name in NEVER_LABELED
]
print(
    f"{np.mean(shares):.1%} of the samples of animals that were never labeled "
    "got the right label."
)
bar_chart(
    NEVER_LABELED,
    [shares],
    "share with the right label",
    limits=(0, 1),
    text=percent,
    alt="Accuracy of each unseen animal",
)
