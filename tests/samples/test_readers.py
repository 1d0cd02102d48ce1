"""One algorithm, wherever the samples are: in memory, on disk, on a cluster, in another library's arrays."""

from __future__ import annotations

import importlib
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from superproto import HPL
from superproto.baselines.registry import METHODS
from superproto.datasets import load, make_task
from superproto.errors import UserError
from superproto.estimator import base
from superproto.samples import whitened
from superproto.samples.chunks import ArrayRows, gather, rows_of
from superproto.samples.readers import as_rows

TASK = make_task(n_seen=12, n_unseen=6, n_features=24, attribute_noise=0.3, random_state=1)
X = np.ascontiguousarray(TASK.X, dtype=np.float32)


def package(name: str):
    if importlib.util.find_spec(name.split(".")[0]) is None:
        pytest.skip(f"needs {name}")
    return importlib.import_module(name)


def as_memmap(array: np.ndarray, folder: Path):
    np.save(folder / "x.npy", array)
    return np.load(folder / "x.npy", mmap_mode="r")


def as_file(array: np.ndarray, folder: Path):
    as_memmap(array, folder)
    return str(folder / "x.npy")


def as_chunks(array: np.ndarray, folder: Path):
    class Chunks:
        def __iter__(self):
            return iter([array[:7], array[7:7], array[7 : len(array) // 2], array[len(array) // 2 :]])

    return Chunks()


def as_zarr(array: np.ndarray, folder: Path):
    zarr = package("zarr")
    stored = zarr.open_array(
        str(folder / "x.zarr"), mode="w", shape=array.shape, chunks=(97, array.shape[1]), dtype=array.dtype
    )
    stored[:] = array
    return stored


def as_hdf5(array: np.ndarray, folder: Path):
    with package("h5py").File(folder / "x.h5", "w") as file:
        file["features"] = array
    return folder / "x.h5"


def as_parquet(array: np.ndarray, folder: Path):
    pa, pq = package("pyarrow"), package("pyarrow.parquet")
    (folder / "parts").mkdir()
    for number, part in enumerate(np.array_split(array, 3)):
        table = pa.table({f"feature {j}": part[:, j] for j in range(part.shape[1])})
        pq.write_table(table, folder / "parts" / f"{number}.parquet", row_group_size=150)
    return package("pyarrow.dataset").dataset(str(folder / "parts"))


def as_lists(array: np.ndarray, folder: Path):
    pa, pq = package("pyarrow"), package("pyarrow.parquet")
    table = pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(array.ravel()), array.shape[1])})
    pq.write_table(table, folder / "x.parquet", row_group_size=100)
    return folder / "x.parquet"


def as_tensor(array: np.ndarray, folder: Path):
    package("array_api_compat")
    return package("torch").tensor(array)


def as_dask(array: np.ndarray, folder: Path):
    return package("dask.array").from_array(array, chunks=(max(50, len(array) // 6), -1))


PLAIN = [as_memmap, as_file, as_chunks]
EXTRA = [
    pytest.param(way, marks=pytest.mark.extra) for way in (as_zarr, as_hdf5, as_parquet, as_lists, as_tensor, as_dask)
]


@pytest.fixture(scope="module")
def in_memory() -> HPL:
    return HPL(max_iter=4).fit(X, TASK.y, semantics=TASK.semantics)


def assert_same(model: HPL, expected: HPL) -> None:
    assert np.mean(model.transduction_ == expected.transduction_) >= 0.999
    # Rounding may change which rows the pool diagnosis draws, and so a weight in the objective by a little.
    assert model.objective_[-1] == pytest.approx(expected.objective_[-1], rel=1e-4)


@pytest.mark.parametrize("way", [*PLAIN, *EXTRA])
def test_where_the_samples_are_changes_no_label(way, in_memory, tmp_path):
    there = way(X, tmp_path)
    model = HPL(max_iter=4).fit(there, TASK.y, semantics=TASK.semantics)
    assert_same(model, in_memory)
    np.testing.assert_array_equal(model.predict(there), model.predict(X))
    np.testing.assert_allclose(model.predict_proba(there), model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("way", [as_chunks, pytest.param(as_tensor, marks=pytest.mark.extra)])
@pytest.mark.parametrize("options", [{"candidates": "all"}, {"temperature": 0.0}, {"discriminative_weight": 0.2}])
def test_every_formulation_runs_elsewhere(way, options, tmp_path):
    model, expected = (
        HPL(max_iter=4, **options).fit(rows, TASK.y, semantics=TASK.semantics) for rows in (way(X, tmp_path), X)
    )
    assert_same(model, expected)


@pytest.mark.parametrize("name", ["prototypes", "eszsl", "label-spreading"])
def test_baselines_take_chunks_too(name, tmp_path):
    expected = METHODS[name]().fit(X, TASK.y, semantics=TASK.semantics)
    model = METHODS[name]().fit(as_chunks(X, tmp_path), TASK.y, semantics=TASK.semantics)
    assert np.mean(model.transduction_ == expected.transduction_) >= 0.999


@pytest.fixture(scope="module")
def birds(pack):
    """Real features, an eighth of the columns, and the model fitted to them in memory."""
    task = load(pack("cub_efficientnet_lite0"))
    rows = np.ascontiguousarray(task.X[:, ::8], dtype=np.float32)
    return task, rows, HPL(max_iter=6).fit(rows, task.y, semantics=task.semantics)


@pytest.mark.extra
@pytest.mark.parametrize("way", [as_memmap, as_zarr, as_tensor])
def test_backends_agree_on_real_features(way, birds, tmp_path):
    task, rows, expected = birds
    model = HPL(max_iter=6).fit(way(rows, tmp_path), task.y, semantics=task.semantics)
    assert_same(model, expected)


@pytest.fixture(scope="module")
def client():
    package("distributed")
    import dask
    from distributed import Client, LocalCluster

    # Workers that are processes, so that one can be killed.
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "5s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.extra
@pytest.mark.parametrize("persisted", [False, True])
def test_a_cluster_of_two_workers_gives_the_same_labels(client, persisted, in_memory, tmp_path):
    there = as_dask(X, tmp_path)
    there = there.persist() if persisted else there
    model = HPL(max_iter=4).fit(there, TASK.y, semantics=TASK.semantics)
    assert_same(model, in_memory)
    np.testing.assert_array_equal(model.predict(there), model.predict(X))


@pytest.mark.extra
def test_a_worker_that_dies_costs_a_retry_and_not_the_fit(client, in_memory, tmp_path):
    def kill_one(sweep):
        if sweep.iteration == 2:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    model = HPL(max_iter=4, callback=kill_one).fit(as_dask(X, tmp_path), TASK.y, semantics=TASK.semantics)
    assert_same(model, in_memory)


@pytest.mark.extra
def test_the_workers_of_a_scheduler_open_the_file_themselves(client, in_memory, tmp_path):
    from superproto.samples.readers.dask import file_on_cluster

    with file_on_cluster(as_file(X, tmp_path), client.scheduler.address) as rows:
        model = HPL(max_iter=4).fit(rows, TASK.y, semantics=TASK.semantics)
    assert_same(model, in_memory)


@pytest.mark.extra
def test_a_cluster_names_the_chunk_that_cannot_be_read(client):
    from dask import delayed

    from superproto.samples.readers.dask import delayed_rows

    def read(number):
        if number == 2:
            raise OSError("the disk is gone")
        return X[number * 100 : number * 100 + 100]

    rows = delayed_rows([delayed(read, pure=False)(number) for number in range(4)], [100] * 4, X.shape[1], X.dtype)
    with pytest.raises(UserError, match=r"Chunk 2 of X \(rows 200 to 299\) cannot be read: the disk is gone"):
        HPL().fit(rows, TASK.y[:400], semantics=TASK.semantics)


@pytest.mark.extra
def test_no_scheduler_at_an_address_is_a_clear_error():
    package("distributed")
    from superproto.samples.readers.dask import connect

    with pytest.raises(UserError, match="No Dask scheduler answers at tcp"), connect("tcp://127.0.0.1:9"):
        pass


class Failing:
    """Three chunks; from the second iteration on the last one, which holds the pool, cannot be read or has changed."""

    def __init__(self, fail) -> None:
        self.broken, self.fail = False, fail

    def __iter__(self):
        for number, part in enumerate(np.array_split(X, 3)):
            yield self.fail(part) if number == 2 and self.broken else part

    def break_at_two(self, sweep) -> None:
        self.broken = sweep.iteration == 2


def fail_to_read(part):
    raise OSError("input/output error")


@pytest.mark.parametrize(
    ("fail", "reason"), [(fail_to_read, "input/output error"), (lambda part: part[1:], "its shape is")]
)
def test_an_unreadable_chunk_is_named_and_the_checkpoint_stays(fail, reason, in_memory, tmp_path):
    path, rows = tmp_path / "fit.checkpoint", Failing(fail)
    with pytest.raises(UserError, match=rf"Chunk 2 of X \(rows 480 to 719\) cannot be read: {reason}"):
        HPL(max_iter=4, checkpoint=path, callback=rows.break_at_two).fit(rows, TASK.y, semantics=TASK.semantics)
    assert path.exists()
    resumed = HPL(max_iter=4, checkpoint=path).fit(list(np.array_split(X, 3)), TASK.y, semantics=TASK.semantics)
    assert_same(resumed, in_memory)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (iter([X]), "can be read only once"),
        ([X[:10], X[10:, :5]], r"chunks of \[5, 24\] columns"),
        ([np.full((2, 3), np.nan)], "contains NaN or infinity"),
        ([np.zeros((4, 3))], "All features are zero"),
        ("nowhere.npy", "does not exist"),
        (__file__, "Give a .npy, .zarr, .h5 or .parquet"),
    ],
)
def test_bad_rows_are_named(rows, message):
    with pytest.raises(UserError, match=message):
        HPL().fit(rows, TASK.y, semantics=TASK.semantics)


def test_another_width_at_prediction_is_named(in_memory):
    with pytest.raises(UserError, match="X has 5 features, but HPL is expecting 24"):
        in_memory.predict([X[:10, :5]])


def test_arrays_and_frames_are_left_to_scikit_learn():
    assert as_rows(X) is None
    assert as_rows(X.tolist()) is None
    assert as_rows(sparse.eye(3)) is None


@pytest.mark.parametrize("kind", ["float16", "uint8"])
def test_a_mapped_file_of_any_number_is_read_by_chunks_and_never_converted_whole(kind, tmp_path):
    whole = np.clip(20 * X + 128, 0, 255).astype(kind)
    rows = as_rows(as_memmap(whole, tmp_path))
    assert isinstance(rows, ArrayRows)
    assert rows.array.dtype == whole.dtype
    mapped = HPL(max_iter=3).fit(as_memmap(whole, tmp_path), TASK.y, semantics=TASK.semantics)
    held = HPL(max_iter=3).fit(whole.astype(np.float32), TASK.y, semantics=TASK.semantics)
    np.testing.assert_array_equal(mapped.transduction_, held.transduction_)


def test_a_selection_of_a_selection_is_the_rows_of_both(tmp_path):
    first, second = np.arange(3, 90, 2), np.array([0, 4, 5, 30])
    for rows in (rows_of(X), as_rows(as_chunks(X, tmp_path))):
        (found,), _ = gather(rows.select(first).select(second).visit(lambda chunk: (chunk,)), concatenated=1)
        np.testing.assert_array_equal(found, X[first][second])


def test_remembered_scores_change_no_answer(monkeypatch):
    from superproto.samples.whitening import learn_metric

    rows = ArrayRows(X.astype(np.float64), chunk_rows=50)
    metric = learn_metric(rows, np.where(TASK.y < 0, -1, TASK.y), 18)
    P = np.random.default_rng(0).normal(size=(6, 24)) / 5
    bias = np.array([0.0, 0.3, -0.2, 0.1, 0.9, -0.9])
    known = whitened.WhitenedSamples(rows, metric)
    first = known.assign(P, 0 * bias, 0.01, with_sums=False)
    remembered = [known.assign(P, bias, 0.01, with_sums=False), known.assign(P, bias, 0.01)]
    monkeypatch.setattr(whitened, "SCORE_CACHE_BYTES", 0)
    forgetful = whitened.WhitenedSamples(rows, metric)
    np.testing.assert_allclose(first.masses, forgetful.assign(P, 0 * bias, 0.01).masses, rtol=1e-10)
    expected = forgetful.assign(P, bias, 0.01)
    for answer in remembered:
        np.testing.assert_allclose(answer.masses, expected.masses, rtol=1e-9, atol=1e-12)
        assert answer.value == pytest.approx(expected.value, rel=1e-12)
    np.testing.assert_allclose(remembered[1].sums, expected.sums, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(remembered[1].labels, expected.labels)


def test_distributions_too_large_for_memory_are_sparse_and_the_same(monkeypatch, in_memory):
    monkeypatch.setattr(base, "DENSE_BYTES", 0)
    model = HPL(max_iter=4).fit(X, TASK.y, semantics=TASK.semantics)
    assert sparse.issparse(model.label_distributions_)
    np.testing.assert_allclose(model.label_distributions_.toarray(), in_memory.label_distributions_, atol=1e-5)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.transduction_, in_memory.transduction_)


def test_a_long_fit_says_how_long_it_will_take(monkeypatch, capsys):
    monkeypatch.setattr("superproto.samples.progress.SECONDS_BETWEEN_LINES", 0.0)
    HPL(max_iter=2, verbose=1).fit(np.array_split(X, 3), TASK.y, semantics=TASK.semantics)
    lines = capsys.readouterr().err
    assert "whitening: 33% of 720 rows, about" in lines
    assert "about 0 s left at most" in lines
