"""Reading the super-prototypes: what the classes share

Each class has a code: the weights with which it is put together from super-prototypes. The same code rebuilds its
prototype and its description. So a super-prototype can be read in words.
"""

# %%
# ## Fit with few super-prototypes
#
# `theta` sets their number, as a share of the number of classes. Few of them are easier to read. The descriptions of the
# digits have names: segments of a seven-segment display, loops, strokes and bows.
import numpy as np

from superproto import HPL
from superproto.datasets import digits
from superproto.datasets.digits import DESCRIPTIONS
from superproto.metrics import per_class_accuracy
from superproto.reporting.charts import heat_map

task = digits(unseen=(3, 6, 7))
model = HPL(theta=0.5, random_state=0).fit(
    task.X, task.y, semantics=task.semantics
)
n_super = model.codes_.shape[1]
accuracy = per_class_accuracy(task.expected, model.transduction_[task.asked])
print(
    f"{n_super} super-prototypes for {len(task.semantics)} digits; accuracy "
    f"on the unseen digits {accuracy:.1%}."
)

# %%
# ## The codes: what each digit is made of
#
# Digits with similar rows share the same parts. 3, 6 and 7 were never labeled. A darker cell is a weight farther from zero.
names = [
    f"{digit}, never shown" if digit in (3, 6, 7) else str(digit)
    for digit in range(10)
]
columns = [f"p{number + 1}" for number in range(n_super)]
heat_map(
    model.codes_.round(1),
    names,
    columns,
    cell=46,
    tints=[1 if digit in (3, 6, 7) else 0 for digit in range(10)],
    alt="Codes of the digits",
)

# %%
# ## The super-prototypes in words
#
# A row is an attribute, and a column is a super-prototype. Values are differences from the mean of all super-prototypes;
# those below the mean are left out.
apart = (
    model.semantic_super_prototypes_
    - model.semantic_super_prototypes_.mean(axis=0)
)
attributes = list(DESCRIPTIONS)
heat_map(
    np.maximum(apart, 0).T.round(2),
    attributes,
    columns,
    cell=34,
    numbers=False,
    alt="Attributes of the super-prototypes",
)

# %%
# The same as sentences: the three strongest attributes of each, and the digits that use it most.
for number in range(n_super):
    strongest = [attributes[a] for a in np.argsort(-apart[number])[:3]]
    users = np.argsort(-model.codes_[:, number])[:3]
    print(
        f"p{number + 1}: {', '.join(strongest)}. Used by "
        f"{', '.join(map(str, users))}."
    )

# %%
# ## Which digits resemble each other?
#
# The cosine similarity of two codes, where it is positive.
unit = model.codes_ / np.linalg.norm(model.codes_, axis=1, keepdims=True)
similarity = np.maximum(unit @ unit.T - np.eye(10), 0)
heat_map(
    similarity.round(1),
    names,
    [str(digit) for digit in range(10)],
    alt="Similarity of the codes of digits",
)
