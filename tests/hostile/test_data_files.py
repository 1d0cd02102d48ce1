"""Data files of every kind that is read, damaged: an error or arrays, never a crash, a hang, or a flood of memory."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from scipy.io import savemat

from builders import small_task
from superproto.cli.options import read_params
from superproto.datasets import describe, load, pack_arrays, read_features, read_splits
from superproto.datasets.own_files import read_classes, read_labels
from superproto.datasets.packs import write_pack
from superproto.experiments.plans import benchmarks_folder, read_leaderboard_plan
from superproto.experiments.records import read_records
from superproto.samples.chunks import in_memory
from superproto.samples.readers.on_disk import open_rows

from .damage import LONG_RUN, MANY, damaged, read_within_bounds

TASK = small_task()
DAMAGED = 15
X, NAMES = TASK.X.astype(np.float32), np.array([f"class {name}" for name in TASK.class_names])
IDS = np.array([f"r{i}" for i in range(len(X))])


def _read_rows(path):
    return in_memory(open_rows(path))


def _csv(path, rows):
    path.write_text("\n".join(",".join(map(str, row)) for row in rows))


def npy(path):
    np.save(path, X)


def npz(path):
    np.savez(path, features=X, ids=IDS)


def npz_compressed(path):
    np.savez_compressed(path, features=X, ids=IDS)


def pack(path):
    split = np.where(TASK.asked, "test", "train")
    write_pack(path, pack_arrays(TASK.X, NAMES[TASK.truth], TASK.semantics, NAMES, split=split))


def csv_features(path):
    _csv(path, [["id", *(f"f{i}" for i in range(X.shape[1]))], *([name, *row] for name, row in zip(IDS, X))])


def csv_labels(path):
    _csv(path, [["id", "label"], *zip(IDS, NAMES[TASK.truth])])


def csv_classes(path):
    _csv(path, [[name, *row] for name, row in zip(NAMES, TASK.semantics)])


def json_classes(path):
    path.write_text(json.dumps({name: row.tolist() for name, row in zip(NAMES.tolist(), TASK.semantics)}))


def safetensors(path):
    from safetensors.numpy import save_file

    save_file({"features": X}, path)


def mat(path):
    savemat(path, {"features": X.T, "labels": TASK.truth[:, None] + 1})


def splits(path):
    asked = TASK.asked
    locs = {name: np.flatnonzero(rows)[:, None] + 1 for name, rows in (("trainval", ~asked), ("test_unseen", asked))}
    locs = {f"{name}_loc": rows for name, rows in locs.items()} | {"test_seen_loc": np.zeros((0, 1))}
    names = np.array(NAMES.tolist(), dtype=object)[:, None]
    savemat(path, {"att": TASK.semantics.T, "allclasses_names": names, **locs}, do_compression=True)


def folder(path):
    path.mkdir()
    mat(path / "res101.mat")
    splits(path / "att_splits.mat")


def plan(path):
    shutil.copy(benchmarks_folder() / "leaderboard.toml", path)


def params(path):
    path.write_text(json.dumps({"method": "hpl", "params": {"rho": 0.5}, "folds": [1, 2]}))


def records(path):
    path.write_text("\n".join(json.dumps({"task": "t", "method": "m", "scores": {"a": 0.5}}) for _ in range(20)))


def parquet(path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": IDS, **{f"f{i}": X[:, i] for i in range(X.shape[1])}}), path)


def parquet_lists(path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    pq.write_table(pa.table({"features": lists}), path, row_group_size=20)


def hdf5(path):
    import h5py

    with h5py.File(path, "w") as file:
        file["features"] = X


def hdf5_compressed(path):
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("features", data=X, chunks=(16, X.shape[1]), compression="gzip", fletcher32=True)


def zarr_array(path, **options):
    import zarr

    zarr.open_array(str(path), mode="w", shape=X.shape, chunks=(30, 5), dtype="f4", **options)[:] = X


def zarr_version_2(path):
    import zarr

    # Version 2 of the package writes no other format, and does not know the option.
    zarr_array(path, **({} if zarr.__version__.startswith("2.") else {"zarr_format": 2}))


def zarr_group(path):
    import zarr

    group = zarr.open_group(str(path), mode="w")
    maker = group.create_array if hasattr(group, "create_array") else group.create_dataset
    maker("features", shape=X.shape, chunks=(30, 12), dtype="f4")[:] = X


KINDS = {
    "x.npy": (npy, read_features), "map.npy": (npy, _read_rows), "x.npz": (npz, read_features),
    "packed.npz": (npz_compressed, read_features), "pack.npz": (pack, load), "described.npz": (pack, describe),
    "x.csv": (csv_features, read_features), "y.csv": (csv_labels, lambda path: read_labels(path, NAMES, len(X), IDS)),
    "c.csv": (csv_classes, read_classes), "c.json": (json_classes, read_classes),
    "x.safetensors": (safetensors, read_features), "att_splits.mat": (splits, read_splits),
    "xlsa17": (folder, load), "plan.toml": (plan, read_leaderboard_plan),
    "params.json": (params, lambda path: read_params((), path, "hpl")), "r.jsonl": (records, read_records),
}  # fmt: skip
EXTRA_KINDS = {
    "x.parquet": (parquet, read_features), "rows.parquet": (parquet, _read_rows),
    "lists.parquet": (parquet_lists, _read_rows), "x.h5": (hdf5, _read_rows),
    "packed.h5": (hdf5_compressed, _read_rows),
    "x.zarr": (zarr_array, _read_rows), "two.zarr": (zarr_version_2, _read_rows),
    "group.zarr": (zarr_group, _read_rows),
}  # fmt: skip


def test_the_long_run_has_seven_thousand_files_of_twenty_one_kinds():
    kinds = len(KINDS) + len(EXTRA_KINDS)
    assert kinds >= 21
    assert LONG_RUN * kinds * DAMAGED >= 7_000


def _check(name, kinds, tmp_path):
    make, read = kinds[name]
    whole, path, rng = tmp_path / "whole" / name, tmp_path / name, np.random.default_rng(0)
    whole.parent.mkdir()
    make(whole)
    assert read_within_bounds(lambda: read(whole)) is not None
    files = sorted(part for part in whole.rglob("*") if part.is_file()) if whole.is_dir() else [whole]
    for _ in range(DAMAGED * MANY):
        chosen = files[rng.integers(len(files))]
        content = damaged(chosen.read_bytes(), rng)
        if whole.is_dir():
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(whole, path)
            (path / chosen.relative_to(whole)).write_bytes(content)
        else:
            path.write_bytes(content)
        read_within_bounds(lambda: read(path))


@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_is_an_error_or_arrays(name, tmp_path):
    _check(name, KINDS, tmp_path)


@pytest.mark.extra
@pytest.mark.parametrize("name", EXTRA_KINDS)
def test_a_damaged_file_of_another_library_is_an_error_or_arrays(name, tmp_path):
    _check(name, EXTRA_KINDS, tmp_path)
