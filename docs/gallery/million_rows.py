"""A million rows on a laptop

Features on the disk are read in chunks, so a fit needs little memory however many rows there are.
"""

# %%
# ## Write the features
#
# A million samples of 32 features, 25 classes, five of them unseen. Real features are wider: with 1,024 numbers a row,
# the same file would be 32 times as large, and a fit takes longer accordingly. The file is written piece by piece.
import resource
import sys
from pathlib import Path
from time import perf_counter

import numpy as np

from superproto import HPL
from superproto.reporting.charts import Series, line_chart

n_rows, n_features, n_classes, n_unseen, n_labeled = 1_000_000, 32, 25, 5, 20_000
rng = np.random.default_rng(0)
descriptions = rng.normal(size=(n_classes, 16)).astype(np.float32)
centers = 1.5 * descriptions @ rng.normal(size=(16, n_features)).astype(np.float32) / 4
X = np.lib.format.open_memmap("features.npy", "w+", np.float32, (n_rows, n_features))
# The first rows have labels and seen classes, the others are the pool of unseen ones.
truth = np.concatenate([np.arange(n_labeled) % (n_classes - n_unseen), n_classes - n_unseen + rng.integers(n_unseen, size=n_rows - n_labeled)])
for start in range(0, n_rows, 100_000):
    part = truth[start : start + 100_000]
    X[start : start + 100_000] = centers[part] + rng.standard_normal((len(part), n_features), np.float32)
X.flush()
del X
y = np.where(np.arange(n_rows) < n_labeled, truth, -1)
print(f"The file has {Path('features.npy').stat().st_size / 2**20:.0f} MiB.")

# %%
# ## Fit from the file
#
# Give the name of the file in place of an array. Time and memory are those of the computer that built this page.


def memory():
    """The most memory that this process has used, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


before, start = memory(), perf_counter()
model = HPL().fit("features.npy", y, semantics=descriptions)
pool = y == -1
print(f"{pool.sum():,} rows were labeled in {perf_counter() - start:.0f} seconds and {model.n_iter_} iterations.")
print(f"The peak of memory grew by {memory() - before:.0f} MiB. Pages of the file that the system caches count here.")
print(f"{(model.transduction_ == truth)[pool].mean():.1%} of the labels are right.")

# %%
# ## Time grows with the rows
#
# The same fit with fewer unlabeled rows.
sizes, seconds = [50_000, 100_000, 200_000, 400_000], []
mapped = np.load("features.npy", mmap_mode="r")
for size in sizes:
    start = perf_counter()
    HPL().fit(mapped[:size], y[:size], semantics=descriptions)
    seconds.append(perf_counter() - start)
line_chart([Series("fit", sizes, seconds)], "rows", "seconds", says="Seconds by number of rows", y_limits=(0, None), width=560)
