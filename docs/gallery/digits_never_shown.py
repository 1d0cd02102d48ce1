"""Digits that were never shown

Label pictures of three digits that have no labeled example. The model knows these digits by a description only: the
segments of a seven-segment display, loops, strokes and bows.
"""

# %%
# ## The task
#
# The data are scikit-learn's handwritten digits, 8 × 8 pixels. Pictures of 3, 6 and 7 have no label, which is written as
# `y = -1`. `task.truth` has the true digit of every picture. It serves scoring only and never goes into `fit`.
import numpy as np

from superproto import HPL
from superproto.datasets import digits
from superproto.reporting.charts import (
    Picture,
    Series,
    bar_chart,
    line_chart,
    percent,
    picture_grid,
)

task = digits(unseen=(3, 6, 7))
print(task)

# %%
# ## Fit
#
# One call learns from the labeled pictures and labels the others. The callback keeps what each iteration found.
iterations = []
model = HPL(callback=iterations.append).fit(
    task.X, task.y, semantics=task.semantics
)
asked = task.asked
right = model.transduction_[asked] == task.truth[asked]
print(
    f"{right.mean():.1%} of {asked.sum()} pictures of digits that were never "
    "shown got the right label."
)

# %%
# ## The objective decreases
#
# A fit alternates between assigning pictures to classes and updating the prototypes of the classes. Each step minimizes
# the same objective exactly, so the objective never increases.
steps = np.arange(1, len(model.objective_) + 1)
line_chart(
    [Series("objective", steps, model.objective_)],
    "iteration",
    "objective",
    alt="Objective by iteration",
)

# %%
# ## The digits take shape
#
# The mean of all pictures that have the same label, after some of the iterations. The first label comes from the
# description alone.
shown = sorted({0, 1, 2, len(iterations) - 1})
pool = task.X[asked]


def mean_picture(digit, iteration):
    labels = iterations[iteration].state.labels
    return Picture(pool[labels == digit].mean(axis=0).reshape(8, 8) / 16)


picture_grid(
    [
        [mean_picture(digit, iteration) for iteration in shown]
        for digit in (3, 6, 7)
    ],
    ["labeled 3", "labeled 6", "labeled 7"],
    [f"iteration {iteration + 1}" for iteration in shown],
    size=90,
    alt="Mean picture of each unseen digit after some iterations",
)

# %%
# ## An honest average
#
# 3, 6 and 7 are an easy choice. The accuracy depends on which digits are hidden, because descriptions of some digits
# resemble each other. Here are four other choices, among them bad ones.
choices = [(1, 2, 3), (4, 7, 9), (0, 2, 7), (0, 1, 2)]
accuracy = []
for unseen in choices:
    other = digits(unseen)
    found = HPL().fit(other.X, other.y, semantics=other.semantics).transduction_
    accuracy.append(float((found == other.truth)[other.asked].mean()))
print(f"The mean over these four choices is {np.mean(accuracy):.1%}.")
bar_chart(
    [f"{choice} hidden" for choice in choices],
    [accuracy],
    "accuracy",
    alt="Accuracy by choice",
    limits=(0, 1),
    text=percent,
)
