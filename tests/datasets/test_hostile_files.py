"""Files that nobody vouches for: a clear error or a correct load, never a crash, a hang, or a flood of memory."""

from __future__ import annotations

import io
import os
import pickle
import struct
import subprocess
import sys
import time
import zipfile
import zlib

import numpy as np
import pytest
from scipy.io import savemat

from superproto.datasets import describe, load, read_features, read_splits
from superproto.datasets.feature_files import Features
from superproto.errors import UserError

TINY = {
    "features": np.arange(24, dtype=np.float32).reshape(8, 3),
    "labels": np.array([0, 0, 1, 1, 2, 2, 0, 1], np.int16),
    "att": np.eye(3, 4),
    "class_names": np.array(["a", "b", "c"]),
    "trainval_loc": np.arange(4),
    "test_seen_loc": np.array([6, 7]),
    "test_unseen_loc": np.array([4, 5]),
    "train_loc": np.array([0, 1]),
    "val_loc": np.array([2, 3]),
}


LOCS = [name for name in TINY if name.endswith("_loc")]


def _npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _npz(save=np.savez_compressed, **changes):
    buffer = io.BytesIO()
    save(buffer, **(TINY | changes))
    return buffer.getvalue()


def _mat(compress, variables):
    buffer = io.BytesIO()
    savemat(buffer, variables, do_compression=compress)
    return buffer.getvalue()


def _splits_mat(compress):
    names = np.array(["a", "b", "c"], dtype=object)[:, None]
    locs = {name: (TINY[name] + 1).astype(np.uint16)[:, None] for name in LOCS}
    return _mat(compress, {"att": TINY["att"].T, "allclasses_names": names} | locs)


def _features_mat(compress):
    return _mat(compress, {"features": TINY["features"].T.astype(float), "labels": (TINY["labels"] + 1.0)[:, None]})


def _hdf5():
    h5py = pytest.importorskip("h5py", reason="needs h5py (extra: scale)")
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=512) as file:
        file.create_dataset("features", data=TINY["features"].astype(float), compression="gzip", fletcher32=True)
        file["labels"] = (TINY["labels"] + 1.0)[None]
    return b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + buffer.getvalue()[128:]


def _mutated(content, rng):
    """Change, cut, repeat or drop some bytes."""
    data = bytearray(content)
    kind = rng.integers(6)
    place = int(rng.integers(len(data)))
    if kind == 0:
        return bytes(data[:place])
    if kind == 1:
        return bytes(data[:place] + data[place : place + 40] + data[place:])
    if kind == 2:
        return bytes(data[:place] + data[place + int(rng.integers(1, 40)) :])
    if kind == 3:  # sizes live in aligned 32-bit words: make one huge
        start = place // 4 * 4
        data[start : start + 4] = bytes(rng.choice([0, 1, 127, 255], 4).astype(np.uint8))
    else:
        for at in rng.integers(len(data), size=rng.integers(1, 6)):
            data[at] = rng.integers(256)
    return bytes(data)


def _is_one_line_about(told, path):
    assert "\n" not in told
    assert path.stem in told or path.parent.name in told


def _survives(read, path, content, rng, times):
    """Read mutants; count those that load. Whatever else happens must be a UserError of one line."""
    loaded = 0
    for _ in range(times):
        path.write_bytes(_mutated(content, rng))
        start = time.perf_counter()
        try:
            assert read(path)
            loaded += 1
        except UserError as error:
            told = str(error)
            _is_one_line_about(told, path)
        assert time.perf_counter() - start < 5
    return loaded


def test_mutated_packs_load_correctly_or_say_why_not(tmp_path):
    rng = np.random.default_rng(0)

    def read(path):
        task = load(path, setting="gzsl")
        # Checksums guard every array, so what loads must be what was written; keys alone may have been renamed.
        assert (TINY["features"][task.rows] == task.X).all()
        assert (task.truth == TINY["labels"][task.rows]).all()
        assert (task.semantics == TINY["att"]).all()
        return describe(path)

    for save in (np.savez, np.savez_compressed):
        loaded = _survives(read, tmp_path / "p.npz", _npz(save), rng, 250)
        assert 0 < loaded < 250


def test_mutated_split_files_load_soundly_or_say_why_not(tmp_path):
    rng = np.random.default_rng(1)

    def read(path):
        splits = read_splits(path)
        assert len(splits.class_names) == len(splits.att)
        assert all((rows >= 0).all() for rows in splits.splits().values())
        return splits

    for compress in (False, True):
        loaded = _survives(read, tmp_path / "att_splits.mat", _splits_mat(compress), rng, 200)
        assert 0 < loaded < 200


@pytest.mark.parametrize("kind", ["plain", "compressed", "7.3"])
def test_mutated_feature_files_load_soundly_or_say_why_not(tmp_path, kind):
    content = _hdf5() if kind == "7.3" else _features_mat(kind == "compressed")
    (tmp_path / "att_splits.mat").write_bytes(_splits_mat(True))

    def read(path):
        task = load(path.parent)
        assert len(task.X) == len(task.y) == len(task.truth)
        assert np.isfinite(task.X).all()
        return task

    assert _survives(read, tmp_path / "res101.mat", content, np.random.default_rng(2), 150) < 150


def test_mutated_feature_tables_load_soundly_or_say_why_not(tmp_path):
    from safetensors.numpy import save

    rng = np.random.default_rng(3)
    table = TINY["features"]
    text = "id,x,y,z\n" + "".join(f"s{i},{','.join(map(str, row))}\n" for i, row in enumerate(table))
    contents = {"npy": _npy(table), "csv": text.encode(), "safetensors": save({"features": table})}
    for ending, content in contents.items():
        (tmp_path / f"f.{ending}").write_bytes(content)
        assert (table == read_features(tmp_path / f"f.{ending}").X).all()

        def read(path):
            found = read_features(path)
            assert isinstance(found, Features)
            assert np.isfinite(found.X).all()
            return found

        _survives(read, tmp_path / f"f.{ending}", content, rng, 60)


def _forged(name, shape, descr="<f8", data=b""):
    """A member whose header claims what the test wants."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return f"{name}.npy", buffer.getvalue() + data


def _archive(path, *members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (_forged("features", (10**9, 10**9)), "declares shape .* but 0 follow"),
        (_forged("features", (-1, 3)), "invalid shape"),
        (_forged("features", (3,) * 9), "invalid shape"),
        (_forged("features", (2, 2), "|O"), "pickled objects, which can run code"),
        (_forged("features", (2, 2), "<U0"), "has type <U0"),
        (_forged("features", (1,), "<c16", bytes(16)), "has type complex128"),
        (("features.npy", b"\x93NUMPY\x09\x00" + bytes(20)), "not a readable .npz archive|version"),
        (("features.npy", b""), "not a readable .npz archive"),
    ],
)
def test_headers_that_lie_are_found_before_anything_is_read(tmp_path, member, message):
    _archive(tmp_path / "p.npz", member)
    with pytest.raises(UserError, match=message):
        load(tmp_path / "p.npz")


def test_pickled_objects_are_refused_and_never_run(tmp_path):
    class Evil:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "pwned"),))

    objects = np.array([Evil()], dtype=object)
    for key in ("class_names", "features", "something_else"):
        (tmp_path / "p.npz").write_bytes(_npz(**{key: objects}))
        with pytest.raises(UserError, match=f"'{key}' holds pickled objects"):
            load(tmp_path / "p.npz")
    (tmp_path / "p.npz").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(UserError, match="is not a pack"):
        load(tmp_path / "p.npz")
    assert not (tmp_path / "pwned").exists()


def test_foreign_and_truncated_files_are_one_line(tmp_path):
    path = tmp_path / "p.npz"
    whole = _npz()
    for content, message in (
        (b"", "is not a pack"),
        (b"hello", "is not a pack"),
        (b"PK\x03\x04 not a zip", "not a readable .npz archive"),
        (whole[: len(whole) // 2], "not a readable .npz archive"),
    ):
        path.write_bytes(content)
        with pytest.raises(UserError, match=message):
            load(path)
    _archive(path, ("readme.txt", b"nothing here"))
    with pytest.raises(UserError, match="no array 'features'"):
        load(path)
    for content in (b"", b"MATLAB 5.0 MAT-file", b"x" * 500, _splits_mat(True)[:300]):
        (tmp_path / "att_splits.mat").write_bytes(content)
        with pytest.raises(UserError, match=r"att_splits\.mat"):
            read_splits(tmp_path / "att_splits.mat")


_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
from superproto.datasets import load, read_splits
from superproto.errors import UserError
for reader, path in ((load, sys.argv[1]), (read_splits, sys.argv[2])):
    try:
        reader(path)
    except UserError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS")
def test_a_bomb_does_not_go_off_within_two_gigabytes(tmp_path):
    # 4 GiB of zeros in 4 MB of zip, and a MATLAB variable of 3 GiB in 3 MB.
    name, header = _forged("features", (2**17, 2**12))
    _archive(tmp_path / "bomb.npz", *((f"{key}.npy", _npy(TINY[key])) for key in TINY if key != "features"))
    with zipfile.ZipFile(tmp_path / "bomb.npz", "a") as archive:
        info = zipfile.ZipInfo(name)
        archive.writestr(info, _folded_zeros(header, 2**32, raw=True))
        info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, len(header) + 2**32
    (tmp_path / "att_splits.mat").write_bytes(_bomb_mat(3 * 2**30))
    run = subprocess.run(
        [sys.executable, "-c", _LIMITED, tmp_path / "bomb.npz", tmp_path / "att_splits.mat"],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr
    first, second = run.stdout.splitlines()
    assert "would decompress to 4.0 GiB, as in a zip bomb" in first
    assert "would decompress to 3.0 GiB, as in a zip bomb" in second


def _folded_zeros(start, size, *, raw):
    """`start` and `size` zeros, deflated; a flushed block can be repeated, so that the test need not fold gigabytes."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15 if raw else 15)
    content = squeeze.compress(start) + squeeze.flush(zlib.Z_FULL_FLUSH)
    block = squeeze.compress(bytes(2**24)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    return content + block * (size // 2**24) + squeeze.flush()


def _bomb_mat(size):
    def element(kind, data):
        return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)

    header = element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<ii", size // 8, 1)) + element(1, b"att")
    header += struct.pack("<II", 9, size)
    content = _folded_zeros(struct.pack("<II", 14, len(header) + size) + header, size, raw=False)
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(content)) + content


def test_hdf5_that_leads_to_other_files_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py", reason="needs h5py (extra: scale)")
    (tmp_path / "att_splits.mat").write_bytes(_splits_mat(True))
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["features"] = TINY["features"]
    with h5py.File(tmp_path / "res101.mat", "w") as file:
        file["features"] = h5py.ExternalLink("other.h5", "features")
        file["labels"] = (TINY["labels"] + 1.0)[None]
    with pytest.raises(UserError, match="has no 'features'"):
        load(tmp_path)
    with h5py.File(tmp_path / "res101.mat", "w") as file:
        file.create_dataset("features", (10**7, 10**5), "f8", chunks=(100, 100))
        file["labels"] = (TINY["labels"] + 1.0)[None]
    with pytest.raises(UserError, match="as in a zip bomb"):
        load(tmp_path)


def test_an_error_is_one_printable_line_whatever_it_quotes():
    assert str(UserError("the label 'a\nb\x1b[31m' is odd")) == "the label 'a b�[31m' is odd"
    assert len(str(UserError("x" * 10**6))) == 600
    assert str(pickle.loads(pickle.dumps(UserError("kept")))) == "kept"
