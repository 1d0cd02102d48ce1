"""Text vectors and class names, without any label

Image encoders such as CLIP come with a text encoder: a picture and the name of its class get similar vectors. Then no
labeled picture is needed. `y` is -1 everywhere.
"""

# %%
# ## Simulated text and picture vectors
#
# No network is used here, so both kinds of vectors are simulated. They have what real ones have: classes of one family
# are similar, a picture is close to its text but noisy, and pictures lie apart from texts (the modality gap).
import numpy as np

from superproto import HPL
from superproto.metrics import confusion, per_class_accuracy
from superproto.reporting.charts import heat_map

FAMILIES = {
    "dog": ["beagle", "boxer", "pug", "husky"],
    "cat": ["Siamese", "Persian", "Bengal", "Sphynx"],
    "bird": ["crow", "heron", "gull", "wren"],
}
names = [name for family in FAMILIES.values() for name in family]
rng = np.random.default_rng(0)
n_features, per_class = 128, 60
families = np.repeat(rng.normal(size=(3, n_features)), 4, axis=0)
meaning = families + 0.8 * rng.normal(size=(12, n_features))
gap = 4 * rng.normal(size=n_features) / np.sqrt(n_features)
texts = meaning + 0.9 * rng.normal(size=meaning.shape)
truth = np.repeat(np.arange(12), per_class)
pictures = (
    meaning[truth] + 2.2 * rng.normal(size=(len(truth), n_features)) + 3 * gap
)

# %%
# ## The usual way: the most similar text
#
# Each picture gets the class whose text has the largest cosine similarity.


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


nearest = (unit(pictures) @ unit(texts).T).argmax(axis=1)
print(f"most similar text: {per_class_accuracy(truth, nearest):.1%}")

# %%
# ## With the unlabeled pictures
#
# `HPL` also uses how the pictures themselves cluster. Its input is the same: pictures, texts and no label.
no_label = np.full(len(pictures), -1)
model = HPL().fit(pictures, no_label, semantics=texts)
print(f"HPL: {per_class_accuracy(truth, model.transduction_):.1%}")

# %%
# ## Which classes are confused?
#
# Rows are true classes, columns are labels. First the most similar text: confusions stay within a family.
_, counts = confusion(truth, nearest, np.arange(12))
how = {
    "row_title": "true class",
    "column_title": "label",
    "slanted": True,
    "cell": 30,
}
heat_map(counts, names, names, alt="Confusion of the most similar text", **how)

# %%
# Then `HPL`.
_, counts = confusion(truth, model.transduction_, np.arange(12))
heat_map(counts, names, names, alt="Confusion of HPL", **how)

# %%
# ## What it cannot know
#
# Without a label nothing tells whether a whole cluster has the name of its sibling. `doubt_` is an estimate from clusters
# and texts alone. Compare it with the truth, which is known only because the data are simulated.
wrong = model.transduction_ != truth
print(
    f"Mean uncertainty {model.doubt_.mean():.1%}; in truth {wrong.mean():.1%} "
    "of the labels are wrong."
)
