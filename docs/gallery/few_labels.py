"""A few labels that help most

If somebody can label a handful of samples, which ones? `most_informative` chooses typical samples of the most uncertain
clusters. This example compares its choice with random samples.
"""

# %%
# ## A fit that goes wrong
#
# The descriptions of 0, 1 and 2 mislead: clusters of pictures get the name of another digit. The model finds the clusters
# but not their names, and nothing in the data tells it so. The mean uncertainty is far below the share of wrong labels.
import numpy as np

from superproto import HPL
from superproto.datasets import digits
from superproto.metrics import confusion, per_class_accuracy
from superproto.reporting.charts import Series, heat_map, line_chart, percent

task = digits(unseen=(0, 1, 2))
pool = np.flatnonzero(task.asked)
start = HPL().fit(task.X, task.y, semantics=task.semantics)
without_help = per_class_accuracy(task.truth[pool], start.transduction_[pool])
print(
    f"Accuracy without help: {without_help:.1%}. Mean uncertainty: "
    f"{start.doubt_[pool].mean():.1%}."
)
_, counts = confusion(task.truth[pool], start.transduction_[pool])
heat_map(
    counts,
    ["0", "1", "2"],
    ["0", "1", "2"],
    row_title="digit",
    column_title="label",
    alt="Confusion",
    cell=44,
)

# %%
# ## Give labels and fit again
#
# A label goes into `y`. The digit then has an example, so name the digits of the pool in `candidates`. Only samples that
# nobody labeled are scored.


def accuracy_with(task, rows):
    y = task.y.copy()
    y[rows] = task.truth[rows]
    model = HPL(candidates=task.unseen_classes.tolist()).fit(
        task.X, y, semantics=task.semantics
    )
    others = np.setdiff1d(np.flatnonzero(task.asked), rows)
    return per_class_accuracy(task.truth[others], model.transduction_[others])


print("Ask about these rows first:", start.most_informative(3))
numbers = [1, 3, 6]
chosen = [accuracy_with(task, start.most_informative(n)) for n in numbers]
rng = np.random.default_rng(0)
random = np.array(
    [
        [
            accuracy_with(task, rng.choice(pool, n, replace=False))
            for n in numbers
        ]
        for _ in range(2)
    ]
)
for n, value, others in zip(numbers, chosen, random.T):
    print(
        f"{n} labels: most informative {value:.1%}, random {others[0]:.1%} "
        f"and {others[1]:.1%}"
    )

# %%
# The band reaches from the worse to the better of the two random draws. Two draws give no more than an impression.
line_chart(
    [
        Series("most informative", [0, *numbers], [without_help, *chosen]),
        Series(
            "random",
            numbers,
            random.mean(axis=0),
            low=random.min(axis=0),
            high=random.max(axis=0),
            dashed=True,
        ),
    ],
    "labels given",
    "accuracy on the other samples",
    alt="Accuracy by number of labels",
    y_limits=(0, 1),
    y_text=percent,
)

# %%
# ## Other digits
#
# The help depends on the task. The same with other hidden digits, without and with five labels:
for unseen in [(7, 8, 9), (0, 2, 4, 6, 8)]:
    other = digits(unseen)
    model = HPL().fit(other.X, other.y, semantics=other.semantics)
    before = per_class_accuracy(
        other.expected, model.transduction_[other.asked]
    )
    print(
        f"{unseen}: {before:.1%}, then "
        f"{accuracy_with(other, model.most_informative(5)):.1%}"
    )
