"""A few labels help most where the model is uncertain

If somebody can label a handful of samples, which ones? `most_informative` chooses typical samples of the most uncertain
clusters. This example compares its choice with random samples.
"""

# %%
# ## The start: no label for the unseen classes
#
# The descriptions of 0, 2, 4, 6 and 8 mislead, so some clusters of pictures get the name of another digit.
import numpy as np

from superproto import HPL
from superproto.datasets import digits
from superproto.metrics import per_class_accuracy
from superproto.reporting.charts import Series, line_chart, percent

task = digits(unseen=(0, 2, 4, 6, 8))
pool = np.flatnonzero(task.asked)
start = HPL().fit(task.X, task.y, semantics=task.semantics)
print(f"Without help: {per_class_accuracy(task.truth[pool], start.transduction_[pool]):.1%}")
print("Ask about rows", start.most_informative(4), "first.")

# %%
# ## Give the labels and fit again
#
# A label goes into `y`. The class then counts as one with examples, so name the classes of the pool in `candidates`.
# Only samples that nobody labeled are scored.


def accuracy_with(rows):
    y = task.y.copy()
    y[rows] = task.truth[rows]
    model = HPL(candidates=task.unseen_classes.tolist()).fit(task.X, y, semantics=task.semantics)
    others = np.setdiff1d(pool, rows)
    return per_class_accuracy(task.truth[others], model.transduction_[others])


numbers = [2, 5, 10]
chosen = [accuracy_with(start.most_informative(n)) for n in numbers]
rng = np.random.default_rng(0)
random = np.array([[accuracy_with(rng.choice(pool, n, replace=False)) for n in numbers] for _ in range(2)])
for n, value, others in zip(numbers, chosen, random.T):
    print(f"{n:2} labels: most informative {value:.1%}, random {others.mean():.1%} (two draws: {others.round(3).tolist()})")

# %%
# ## What the labels bring
#
# The band reaches from the worse to the better of the two random draws. Two draws show no more than an impression.
line_chart(
    [
        Series("most informative", numbers, chosen),
        Series("random", numbers, random.mean(axis=0), low=random.min(axis=0), high=random.max(axis=0), dashed=True),
    ],
    "labels given",
    "accuracy on the other samples",
    says="Accuracy by number of labels",
    y_text=percent,
)
