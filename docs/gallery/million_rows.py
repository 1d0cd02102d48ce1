"""A million rows on a laptop

Features on the disk are read in chunks, so they need not fit into memory. Fit on a part of the rows, then label all of
them.
"""

# %%
# ## Write the features
#
# A million samples of 64 features, 25 classes, five of them unseen. Real features are wider: with 1,024 numbers a row,
# the same file would be 16 times as large, and a fit takes longer. The file is written piece by piece.
import tracemalloc
from pathlib import Path
from time import perf_counter

import numpy as np

from superproto import HPL
from superproto.reporting.charts import bar_chart

n_rows, n_features, n_labeled = 1_000_000, 64, 20_000
n_classes, n_unseen = 25, 5
rng = np.random.default_rng(0)
descriptions = rng.normal(size=(n_classes, 16)).astype(np.float32)
directions = rng.normal(size=(16, n_features)).astype(np.float32)
centers = 1.5 * descriptions @ directions / 4
X = np.lib.format.open_memmap(
    "features.npy", "w+", np.float32, (n_rows, n_features)
)
# The first rows have labels. The others are of unseen classes.
n_seen = n_classes - n_unseen
truth = np.concatenate(
    [
        np.arange(n_labeled) % n_seen,
        n_seen + rng.integers(n_unseen, size=n_rows - n_labeled),
    ]
)
for start in range(0, n_rows, 100_000):
    part = truth[start : start + 100_000]
    X[start : start + 100_000] = centers[part] + rng.standard_normal(
        (len(part), n_features), np.float32
    )
X.flush()
del X
y = np.where(np.arange(n_rows) < n_labeled, truth, -1)
print(f"The file has {Path('features.npy').stat().st_size / 2**20:.0f} MiB.")

# %%
# ## Fit from the file
#
# Give the name of the file, or a memory map, in place of an array. Samples resemble each other, so a small part of the
# rows is enough to find the prototypes. Time and memory are those of the computer that built this page. Tracing the
# memory takes some time itself.
mapped = np.load("features.npy", mmap_mode="r")
part = 50_000


def measured(function, *arguments, **named):
    """The result, the seconds, and the most memory held, in MiB."""
    tracemalloc.start()
    start = perf_counter()
    result = function(*arguments, **named)
    seconds, peak = (
        perf_counter() - start,
        tracemalloc.get_traced_memory()[1] / 2**20,
    )
    tracemalloc.stop()
    return result, seconds, peak


model, fit_seconds, peak = measured(
    HPL().fit, mapped[:part], y[:part], semantics=descriptions
)
print(
    f"Fit with {part:,} rows: {fit_seconds:.0f} seconds, {model.n_iter_} "
    f"iterations, {peak:.0f} MiB of memory."
)

# %%
# ## Label all rows
#
# `predict` reads the file in chunks as well. For far more rows, `superproto predict --parts` writes the labels in parts and
# goes on after a stop.
labels, label_seconds, peak = measured(model.predict, "features.npy")
print(
    f"{n_rows:,} labels: {label_seconds:.1f} seconds, {peak:.0f} MiB of memory."
)
print(
    f"{(labels == truth)[y == -1].mean():.1%} of the labels of unlabeled rows "
    "are right."
)

# %%
# ## Where the time goes
#
# The fit takes most of it. A fit with all rows works too: its time grows in proportion to the rows.
bar_chart(
    [f"fit with {part:,} rows", f"label {n_rows:,} rows"],
    [[fit_seconds, label_seconds]],
    "seconds",
    text="{:.1f}".format,
    alt="Seconds of each step",
)
