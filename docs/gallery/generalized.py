"""Generalized zero-shot: the pool has seen and unseen classes

In practice, unlabeled samples may belong to any class. With `candidates="all"` the model decides for each sample among
all classes, those with labeled samples included.
"""

# %%
# ## The task
#
# A fifth of the samples of each seen class joins the pool.
import numpy as np

from superproto import HPL
from superproto.datasets import make_task
from superproto.evaluation.evaluate import evaluate
from superproto.metrics import seen_unseen_curve
from superproto.reporting.charts import Series, bar_chart, line_chart, percent

task = make_task(
    setting="gzsl", n_seen=20, n_unseen=6, separation=0.8, attribute_noise=0.3
)
print(task)
model = HPL(candidates="all").fit(task.X, task.y, semantics=task.semantics)
given_unseen = np.isin(model.transduction_[task.asked], task.unseen_classes)
unseen = np.isin(task.expected, task.unseen_classes)
print(
    f"{given_unseen.sum()} of {task.asked.sum()} samples got an unseen class; "
    f"in truth {unseen.sum()} have one."
)

# %%
# ## Two accuracies and their harmonic mean
#
# A model that prefers seen classes is right about seen samples and wrong about unseen ones. The harmonic mean is high
# only if both accuracies are. In brackets is its 95 % interval.
SCORES = ("unseen", "seen", "harmonic_mean")
methods = ["prototypes", "eszsl", "kmeans", "hpl"]
runs = [evaluate(task, method) for method in methods]
for run in runs:
    low, high = run.scores["interval"]
    unseen, seen, mean = (run.scores[name] for name in SCORES)
    print(
        f"{run.method:10} unseen {unseen:.1%}, seen {seen:.1%}, "
        f"mean {mean:.1%} ({low:.1%} to {high:.1%})"
    )
bar_chart(
    methods,
    [
        [run.scores[name] for run in runs]
        for name in ("unseen", "seen", "harmonic_mean")
    ],
    "accuracy",
    groups=("unseen classes", "seen classes", "harmonic mean"),
    limits=(0, 1),
    text=percent,
    alt="Accuracy on unseen and seen classes",
)

# %%
# ## The trade-off
#
# Subtract a bias from the scores of all seen classes. A large bias favors the unseen classes. Each curve has all pairs of
# accuracies that some bias reaches. The area under it does not depend on the bias that a method chose.
curves = []
for run in runs:
    _, unseen, seen = seen_unseen_curve(
        task.expected, run.class_scores, task.seen_classes
    )
    curves.append(
        Series(
            f"{run.method} (area {run.scores['ausuc']:.2f})",
            unseen,
            seen,
            marked=False,
        )
    )
line_chart(
    curves,
    "accuracy on unseen classes",
    "accuracy on seen classes",
    x_limits=(0, 1),
    y_limits=(0, 1),
    alt="Accuracy on seen against unseen classes",
)
