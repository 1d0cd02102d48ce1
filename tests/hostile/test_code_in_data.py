"""Data that try to run code or to fill the memory: refused before the first number is read."""

from __future__ import annotations

import base64
import json
import pickle
import shutil

import numpy as np
import pytest

from superproto.datasets import read_features
from superproto.errors import UserError
from superproto.samples.readers import as_rows
from superproto.samples.readers.on_disk import open_rows

pytestmark = pytest.mark.extra


class Marker:
    """Unpickling it leaves a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "code was run"


def forged_v2(folder, mark, **changes):
    """A version 2 array of one chunk, which is a pickle."""
    folder.mkdir(parents=True)
    described = {
        "zarr_format": 2, "shape": [4, 2], "chunks": [4, 2], "dtype": "<f8", "fill_value": 0, "order": "C",
        "compressor": None, "filters": None,
    }  # fmt: skip
    (folder / ".zarray").write_text(json.dumps(described | changes))
    (folder / "0.0").write_bytes(pickle.dumps(Marker(mark)))
    return folder


def forged_v3(folder, mark, codecs):
    folder.mkdir(parents=True)
    described = {
        "zarr_format": 3, "node_type": "array", "shape": [4, 2], "data_type": "float64", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 2]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": codecs, "attributes": {},
    }  # fmt: skip
    (folder / "zarr.json").write_text(json.dumps(described))
    (folder / "c" / "0").mkdir(parents=True)
    (folder / "c" / "0" / "0").write_bytes(pickle.dumps(Marker(mark)))
    return folder


PICKLE = {"id": "pickle", "protocol": 4}


@pytest.mark.parametrize(
    "changes",
    [
        {"compressor": PICKLE},
        {"filters": [PICKLE]},
        {"filters": [{"id": "delta", "dtype": "<f8"}, PICKLE]},
        {"dtype": "|O", "filters": [PICKLE], "fill_value": base64.b64encode(b"x").decode()},
        {"compressor": {"id": "json2"}},
        {"compressor": "pickle"},
    ],
)
def test_a_zarr_array_with_a_codec_that_runs_code_is_refused(tmp_path, mark, changes):
    folder = forged_v2(tmp_path / "x.zarr", mark, **changes)
    with pytest.raises(UserError, match=r"not supported|its type is"):
        list(open_rows(folder).visit(lambda chunk: (chunk,)))
    assert not mark.exists()


@pytest.mark.parametrize(
    "codecs",
    [
        [{"name": "numcodecs.pickle", "configuration": {}}],
        [{"name": "bytes"}, {"name": "pickle"}],
        [{"name": "sharding_indexed", "configuration": {"chunk_shape": [4, 2], "codecs": [{"name": "pickle"}]}}],
    ],
)
def test_a_codec_of_version_3_is_checked_at_any_depth(tmp_path, mark, codecs):
    with pytest.raises(UserError, match="not supported"):
        open_rows(forged_v3(tmp_path / "x.zarr", mark, codecs))
    assert not mark.exists()


def test_a_forged_array_inside_a_group_is_refused(tmp_path, mark):
    forged_v2(tmp_path / "x.zarr" / "features", mark, compressor=PICKLE)
    (tmp_path / "x.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
    with pytest.raises(UserError, match="not supported"):
        open_rows(tmp_path / "x.zarr")
    assert not mark.exists()


def test_an_opened_zarr_array_is_checked_before_its_first_chunk(tmp_path, mark):
    import zarr

    folder = forged_v2(tmp_path / "x.zarr", mark, compressor=PICKLE)
    try:
        opened = zarr.open(str(folder), mode="r")
    except Exception:
        pytest.skip("this version of zarr refuses the codec by itself")
    with pytest.raises(UserError, match="not supported"):
        as_rows(opened)
    assert not mark.exists()


def test_a_missing_zarr_chunk_is_no_row_of_fill_values(tmp_path, rng):
    import zarr

    array = zarr.open_array(str(tmp_path / "x.zarr"), mode="w", shape=(20, 3), chunks=(5, 3), dtype="f4")
    array[:] = rng.normal(size=(20, 3))
    assert open_rows(tmp_path / "x.zarr").n_rows == 20
    chunk = next(
        path for path in (tmp_path / "x.zarr" / "1.0", tmp_path / "x.zarr" / "c" / "1" / "0") if path.is_file()
    )
    chunk.unlink()
    with pytest.raises(UserError, match="is missing and would be read as fill values"):
        open_rows(tmp_path / "x.zarr")


def test_a_small_zarr_folder_cannot_claim_gigabytes(tmp_path, mark):
    folder = forged_v2(tmp_path / "x.zarr", mark, shape=[10**9, 2], chunks=[10**9, 2])
    with pytest.raises(UserError, match="zip bomb"):
        open_rows(folder)


def test_a_parquet_file_with_python_objects_is_refused(tmp_path, mark):
    import pyarrow as pa
    import pyarrow.parquet as pq

    metadata = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Marker(mark)),
    }
    field = pa.field("a", pa.float64(), metadata=metadata)
    table = pa.table([pa.array([1.0, 2.0])], schema=pa.schema([field]))
    pq.write_table(table, tmp_path / "x.parquet")
    for reader in (open_rows, read_features):
        with pytest.raises(UserError, match="Python objects"):
            reader(tmp_path / "x.parquet")
    assert not mark.exists()


def test_a_small_parquet_file_cannot_claim_gigabytes(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({f"c{i}": pa.array(np.zeros(2**20)) for i in range(4)})
    with pq.ParquetWriter(tmp_path / "x.parquet", table.schema, compression="zstd") as writer:
        for _ in range(12):
            writer.write_table(table)
    assert (tmp_path / "x.parquet").stat().st_size < 2**20
    for reader in (open_rows, read_features):
        with pytest.raises(UserError, match="zip bomb"):
            reader(tmp_path / "x.parquet")


def test_long_names_that_a_parquet_file_stores_once_are_measured_before_they_are_unfolded(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10_000, np.int32)), pa.array(["x" * 2**18]))
    table = pa.table({"id": names, "a": pa.array(np.arange(10_000.0))})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(UserError, match="zip bomb"):
        read_features(tmp_path / "x.parquet")
    with pytest.raises(UserError, match="zip bomb"):
        open_rows(tmp_path / "x.parquet").source.ids(0, 10_000)


def test_hdf5_links_and_data_in_other_files_are_refused(tmp_path, rng):
    import h5py

    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["features"] = rng.normal(size=(6, 3))
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["features"] = h5py.ExternalLink("other.h5", "/features")
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        layout = h5py.VirtualLayout(shape=(6, 3), dtype="f8")
        layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "features", shape=(6, 3))
        file.create_virtual_dataset("features", layout)
    (tmp_path / "raw.bin").write_bytes(bytes(6 * 3 * 8))
    with h5py.File(tmp_path / "raw.h5", "w") as file:
        file.create_dataset("features", (6, 3), "f8", external=[(str(tmp_path / "raw.bin"), 0, 144)])
    for name in ("link.h5", "virtual.h5", "raw.h5"):
        with pytest.raises(UserError, match="holds its own data"):
            open_rows(tmp_path / name)
    assert open_rows(tmp_path / "other.h5").n_rows == 6


def test_an_hdf5_file_cannot_claim_rows_that_were_never_written(tmp_path):
    import h5py

    with h5py.File(tmp_path / "huge.h5", "w") as file:
        file.create_dataset("features", (10**12, 8), "f8", chunks=(1000, 8))
    with h5py.File(tmp_path / "hole.h5", "w") as file:
        found = file.create_dataset("features", (100, 3), "f8", chunks=(10, 3))
        found[:40] = 1
    with pytest.raises(UserError, match="zip bomb"):
        open_rows(tmp_path / "huge.h5")
    with pytest.raises(UserError, match="6 of 10 chunks were never written"):
        open_rows(tmp_path / "hole.h5")


def test_plain_files_are_still_read(tmp_path, rng):
    """Each codec that the writers choose by themselves, and a group with one table."""
    import h5py
    import zarr

    X = rng.normal(size=(20, 3)).astype("f4")
    array = zarr.open_array(str(tmp_path / "plain.zarr"), mode="w", shape=X.shape, chunks=(5, 2), dtype="f4")
    array[:] = X
    group = zarr.open_group(str(tmp_path / "group.zarr"), mode="w")
    maker = group.create_array if hasattr(group, "create_array") else group.create_dataset
    maker("features", shape=X.shape, chunks=(7, 3), dtype="f4")[:] = X
    with h5py.File(tmp_path / "packed.h5", "w") as file:
        file.create_dataset("features", data=X, chunks=(6, 3), compression="gzip", shuffle=True)
    for name in ("plain.zarr", "group.zarr", "packed.h5"):
        found = [chunk for (chunk,) in open_rows(tmp_path / name).visit(lambda chunk: (chunk,))]
        np.testing.assert_array_equal(np.concatenate(found), X)
    shutil.rmtree(tmp_path / "group.zarr")
