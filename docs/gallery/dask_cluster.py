"""On a Dask cluster

The same fit runs on many computers. `X` is then a Dask array, and its chunks stay with the workers. This example starts
a cluster of two workers in its own process; with an address, the code is the same.
"""

# %%
# ## A cluster and an array
#
# `connect()` starts local workers, which need no network. For a real cluster, write `connect("tcp://scheduler:8786")`.
# The workers need superproto installed.
from dask import array

from superproto import HPL
from superproto.datasets import make_task
from superproto.reporting.charts import bar_chart
from superproto.samples.readers.dask import connect

task = make_task(
    n_seen=20,
    n_unseen=5,
    n_features=64,
    samples_per_class=400,
    separation=1.0,
    attribute_noise=0.3,
)
print(task)

# %%
# ## Fit on the workers
#
# `persist()` hands the chunks out once. A fit then sends small arrays to the workers, and gets sums back.
with connect(n_workers=2) as client:
    X = array.from_array(task.X, chunks=(1_000, 64)).persist()
    on_cluster = HPL().fit(X, task.y, semantics=task.semantics)
    chunks = {worker: len(keys) for worker, keys in client.has_what().items()}
print(f"{X.npartitions} chunks of rows, {on_cluster.n_iter_} iterations.")

# %%
# ## The labels are the same as in memory
in_memory = HPL().fit(task.X, task.y, semantics=task.semantics)
asked = task.asked
same = (on_cluster.transduction_ == in_memory.transduction_)[asked].mean()
right = (on_cluster.transduction_ == task.truth)[asked].mean()
print(f"{same:.2%} of the labels are the same. {right:.1%} are right.")

# %%
# ## Where the chunks are
bar_chart(
    [f"worker {number + 1}" for number in range(len(chunks))],
    [list(chunks.values())],
    "pieces of data held after the fit",
    alt="Pieces of data on each worker",
)
