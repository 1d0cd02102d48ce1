"""Which labels to check first

A model that labels thousands of samples is wrong in some of them. `doubt_` says where to look: it is the estimated
probability that a label is wrong.
"""

# %%
# ## A difficult task
#
# The classes overlap and the descriptions have errors, so some labels are wrong.
import numpy as np
from sklearn.manifold import TSNE

from superproto import HPL
from superproto.datasets import make_task
from superproto.reporting.charts import (
    Series,
    line_chart,
    percent,
    scatter_chart,
)

task = make_task(
    n_seen=30,
    n_unseen=8,
    samples_per_class=60,
    separation=0.6,
    attribute_noise=0.3,
)
model = HPL().fit(task.X, task.y, semantics=task.semantics)
asked = task.asked
doubt, label, truth = (
    model.doubt_[asked],
    model.transduction_[asked],
    task.truth[asked],
)
wrong = label != truth
print(
    f"{wrong.mean():.1%} of {len(wrong)} labels are wrong. The mean "
    f"uncertainty is {doubt.mean():.1%}."
)

# %%
# ## Check the most uncertain labels first
#
# Sort by `doubt_` and check from the top. The curve has the share of all errors that is found by then. Checking in a
# random order follows the dashed line.
order = np.argsort(-doubt)
checked = np.arange(1, len(order) + 1) / len(order)
found = np.cumsum(wrong[order]) / wrong.sum()
print(
    f"Checking one fifth of the labels finds {found[len(order) // 5]:.1%} of "
    "the errors."
)
line_chart(
    [
        Series("by uncertainty", checked, found, marked=False),
        Series("in a random order", [0, 1], [0, 1], marked=False, dashed=True),
    ],
    "share of labels checked",
    "share of errors found",
    alt="Errors found by labels checked",
    x_limits=(0, 1),
    y_limits=(0, 1),
)

# %%
# ## Reliability: is the uncertainty a probability?
#
# Group the labels by certainty, which is one minus the uncertainty. In each group compare the mean certainty with the
# share of right labels. On the dashed line the two agree. Below it, the model is too certain.
certainty = 1 - doubt
edges = np.quantile(certainty, np.linspace(0, 1, 9))
group = np.searchsorted(edges[1:-1], certainty, side="right")
mean_certainty = [certainty[group == g].mean() for g in range(8)]
share_right = [1 - wrong[group == g].mean() for g in range(8)]
line_chart(
    [
        Series(
            "labels in eight groups of equal size", mean_certainty, share_right
        ),
        Series("perfect", [0, 1], [0, 1], marked=False, dashed=True),
    ],
    "mean certainty",
    "share of right labels",
    alt="Reliability diagram",
    x_limits=(0, 1),
    y_limits=(0, 1),
    y_text=percent,
)

# %%
# ## A map of the pool
#
# t-SNE places similar samples close to each other. Each color is a label, and hollow points are the most uncertain fifth.
# They lie where two classes meet.
points = TSNE(random_state=0, perplexity=30).fit_transform(task.X[asked])
classes, group = np.unique(label, return_inverse=True)
hollow = doubt > np.quantile(doubt, 0.8)
scatter_chart(
    points[:, 0],
    points[:, 1],
    group.tolist(),
    [str(task.class_names[c]) for c in classes],
    hollow=hollow.tolist(),
    hovers=[
        f"{task.class_names[a]} (uncertainty {b:.0%}), in truth "
        f"{task.class_names[c]}"
        for a, b, c in zip(label, doubt, truth)
    ],
    width=720,
    height=520,
    alt="Map of the pool; hollow points are uncertain",
)
