"""Comparing methods honestly

A fair comparison chooses parameters without the test classes, gives every method the same data, and says how sure a
difference is.
"""

# %%
# ## Choose on held-out seen classes
#
# `task.folds` hides some of the seen classes and asks for them as if they were unseen. The real unseen classes take no
# part. A grid search over samples would measure another task, because each of its classes has labeled samples.
import numpy as np

from superproto import tune
from superproto.baselines import METHODS
from superproto.datasets import make_task
from superproto.evaluation.evaluate import difference, evaluate
from superproto.reporting.charts import bar_chart, percent

task = make_task(
    n_seen=24,
    n_unseen=8,
    samples_per_class=30,
    separation=0.6,
    attribute_noise=0.3,
)
for fold in task.folds(3):
    print(fold)
tuned = tune(
    task,
    "eszsl",
    {"gamma": [0.01, 1.0, 100.0], "lam": [0.01, 1.0, 100.0]},
    n_trials=9,
    search="grid",
)
print(tuned.reason, tuned.params)

# %%
# ## Score each method once
#
# `METHODS` has every method by name. Each one gets the same arrays, and none gets the truth. The interval is a bootstrap
# over samples.
print(len(METHODS), "methods, among them", ", ".join(list(METHODS)[:6]))
params = {"eszsl": tuned.params}
names = ["hpl", "kmeans", "transclip", "label-spreading", "eszsl", "prototypes"]
runs = {name: evaluate(task, name, params.get(name)) for name in names}
for name, run in runs.items():
    low, high = run.scores["interval"]
    print(
        f"{name:16} {run.scores['per_class_accuracy']:.1%}  ({low:.1%} to "
        f"{high:.1%})"
    )

# %%
# ## Is a difference real?
#
# The methods answer the same samples, so their differences are surer than their scores. The paired bootstrap draws the
# same samples for both. If its interval contains zero, the data do not tell which method is better.
hovers = []
for name in names[1:]:
    found = difference(runs[name], runs["hpl"])
    told = "clear" if found.low > 0 or found.high < 0 else "not clear"
    hovers.append(
        f"hpl − {name}: {found.difference:+.1%} ({found.low:+.1%} to "
        f"{found.high:+.1%}), {told}"
    )
    print(hovers[-1])
bar_chart(
    names,
    [[run.scores["per_class_accuracy"] for run in runs.values()]],
    "per-class accuracy",
    limits=(0, 1),
    reference=1 / len(task.unseen_classes),
    text=percent,
    alt="Accuracy of each method; the line is guessing",
)

# %%
# ## Other classes may give another order
#
# The intervals above hold for these classes. One synthetic task says little about yours: repeat the comparison on folds of
# your own seen classes. Each line has the mean over three folds.
for name in names:
    scores = [
        evaluate(fold, name, params.get(name)).scores["per_class_accuracy"]
        for fold in task.folds(3)
    ]
    print(f"{name:16} {np.mean(scores):.1%} ± {np.std(scores):.1%}")
