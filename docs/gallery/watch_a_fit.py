"""Watching a fit: prototypes that move

What happens between the first guess and the last iteration? A callback receives the state of each iteration. This example
draws the objective and follows the prototypes on a map.
"""

# %%
# ## Keep every iteration
import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import TSNE

from superproto import HPL
from superproto.datasets import make_task
from superproto.reporting.charts import Series, line_chart
from superproto.samples.whitening import apply_metric

task = make_task(
    n_seen=20,
    n_unseen=6,
    separation=0.8,
    attribute_noise=0.6,
    samples_per_class=60,
)
iterations = []
model = HPL(callback=iterations.append).fit(
    task.X, task.y, semantics=task.semantics
)
for done in iterations:
    print(
        f"iteration {done.iteration}: objective {done.objective:.2f}, "
        f"{done.labels_changed} labels changed"
    )

# %%
# ## The objective
#
# It decreases in every iteration. Most of the decrease is at the start.
line_chart(
    [
        Series(
            "objective",
            np.arange(1, len(iterations) + 1),
            [done.objective for done in iterations],
        )
    ],
    "iteration",
    "objective",
    alt="Objective by iteration",
)

# %%
# ## The map
#
# A prototype is a point in the space of the whitened samples. t-SNE places samples and prototypes of all iterations on one
# map. Small points are samples in the color of their true class. A line follows a prototype from its first position,
# the circle, to the last one, the star. A star among points of
# another color has the wrong name. t-SNE keeps neighborhoods but no distances.


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


pool = unit(apply_metric(model.metric_, task.X[task.asked].astype(float)))
paths = np.stack([done.state.P[task.unseen_classes] for done in iterations])
rows = np.concatenate([pool, unit(paths.reshape(-1, paths.shape[-1]))])
points = TSNE(random_state=0, perplexity=40).fit_transform(rows)
paths = points[len(pool) :].reshape(len(iterations), -1, 2)

colors = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"]
figure, axes = plt.subplots(figsize=(8, 6))
for number, (name, color) in enumerate(zip(task.unseen_classes, colors)):
    own = points[: len(pool)][task.expected == name]
    axes.scatter(
        *own.T, s=9, color=color, alpha=0.5, label=task.class_names[name]
    )
    axes.plot(*paths[:, number].T, color=color, linewidth=2)
    axes.scatter(
        *paths[0, number],
        s=80,
        facecolors="none",
        edgecolors=color,
        linewidths=2,
    )
    axes.scatter(
        *paths[-1, number], s=160, marker="*", color=color, edgecolors="white"
    )
axes.set_axis_off()
axes.legend(loc="upper center", ncols=6, bbox_to_anchor=(0.5, 0), frameon=False)
plt.show()
