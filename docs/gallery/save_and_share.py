"""Saving and sharing a model

A saved model is a file of numbers and a header. Loading it never runs code, so a file from somebody else is safe to open.
"""

# %%
# ## Fit and save
from pathlib import Path

import numpy as np

from superproto import HPL, UserError, load_model
from superproto.datasets import make_task
from superproto.reporting.charts import Series, line_chart, percent

task = make_task(
    separation=0.6, attribute_noise=0.3, samples_per_class=60
).with_pool("subsample", fraction=0.5)
names = [f"kind {number}" for number in range(len(task.semantics))]
y = [names[number] if number >= 0 else None for number in task.y]
model = HPL().fit(task.X, y, semantics=task.semantics, class_names=names)
model.save("kinds.model")
print(f"kinds.model has {Path('kinds.model').stat().st_size / 1024:.0f} KiB.")

# %%
# ## Load it elsewhere, and label new samples
#
# Labels are class names. New samples need no second fit.
again = load_model("kinds.model")
new = task.X[task.asked][:4]
print(again.predict(new), again.predict_proba(new).max(axis=1).round(2))
print(
    "Same answers as before saving:",
    bool(np.array_equal(again.predict(task.X), model.predict(task.X))),
)

# %%
# ## A damaged file is refused
content = bytearray(Path("kinds.model").read_bytes())
content[-10] ^= 1
Path("damaged.model").write_bytes(content)
try:
    load_model("damaged.model")
except UserError as error:
    print(error)

# %%
# ## Keep only sure answers
#
# A label table is often better with gaps than with errors. Accept a label only if its probability is above a threshold.
# The curve has the accuracy of the accepted labels.
probability = model.predict_proba(task.X[task.asked]).max(axis=1)
right = model.transduction_[task.asked] == np.array(names)[task.expected]
order = np.argsort(-probability)
accepted = np.arange(1, len(order) + 1) / len(order)
accuracy = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
print(
    f"All labels: {right.mean():.1%} right. The surer half: "
    f"{accuracy[len(order) // 2]:.1%} right."
)
line_chart(
    [Series("accepted labels", accepted[9:], accuracy[9:], marked=False)],
    "share of labels accepted",
    "accuracy",
    alt="Accuracy by share of labels accepted",
    y_text=percent,
)
