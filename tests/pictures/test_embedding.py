"""Folders to features: resumed by content, copies found, killed processes and a killed run lose nothing."""

from __future__ import annotations

import os
import shutil
import signal

import numpy as np
import pytest

pytest.importorskip("PIL", reason="pictures need Pillow")
from superproto.datasets import read_features
from superproto.errors import UserError
from superproto.pictures import decoding
from superproto.pictures.embedding import embed_folder, write_embedded
from superproto.pictures.encoders import View

pytestmark = pytest.mark.extra


@pytest.fixture
def photos(tmp_path, picture):
    folder = tmp_path / "photos"
    for number in range(6):
        (folder / f"f{number % 2}").mkdir(parents=True, exist_ok=True)
        picture(number).save(folder / f"f{number % 2}" / f"{number}.png")
    return folder


def test_ids_are_sorted_paths_with_forward_slashes(photos, cells):
    found = embed_folder(photos, encoder=cells, n_processes=1)
    assert found.ids == ["f0/0.png", "f0/2.png", "f0/4.png", "f1/1.png", "f1/3.png", "f1/5.png"]
    assert found.features.shape == (6, 48)
    assert (photos / ".superproto" / "run.db").exists()


def test_a_second_run_computes_nothing_and_writes_the_same_bytes(photos, cells, tmp_path):
    for name in ("first.npz", "second.npz"):
        found = embed_folder(photos, encoder=cells, n_processes=1)
        write_embedded(tmp_path / name, found)
    assert found.computed == 0
    assert (tmp_path / "first.npz").read_bytes() == (tmp_path / "second.npz").read_bytes()
    assert read_features(tmp_path / "first.npz").ids.tolist() == found.ids


def test_renamed_and_added_pictures_keep_and_get_features(photos, cells, picture):
    before = embed_folder(photos, encoder=cells, n_processes=1)
    (photos / "f0" / "0.png").rename(photos / "moved.png")
    picture(99, "blue square plain").save(photos / "new.png")
    after = embed_folder(photos, encoder=cells, n_processes=1)
    assert after.computed == 1
    assert np.array_equal(after.features[after.ids.index("moved.png")], before.features[0])


def test_a_changed_picture_is_computed_again(photos, cells, picture):
    before = embed_folder(photos, encoder=cells, n_processes=1)
    picture(50, "green square plain").save(photos / "f0" / "0.png")
    after = embed_folder(photos, encoder=cells, n_processes=1)
    assert after.computed == 1
    assert not np.array_equal(after.features[0], before.features[0])


def test_another_encoder_has_features_of_its_own(photos, cells):
    first = embed_folder(photos, encoder=cells, n_processes=1)
    cells.identity = "another"
    assert embed_folder(photos, encoder=cells, n_processes=1).computed == 6
    cells.identity = "means of 4 x 4 cells"
    again = embed_folder(photos, encoder=cells, n_processes=1)
    assert again.computed == 0
    assert np.array_equal(again.features, first.features)


def test_exact_and_near_copies_are_found(photos, cells, picture):
    shutil.copy(photos / "f0" / "0.png", photos / "copy.png")
    picture(0).save(photos / "near.jpg", quality=90)
    found = embed_folder(photos, encoder=cells, n_processes=1)
    assert found.copies == [["copy.png", "f0/0.png"]]
    assert ("copy.png", "near.jpg") in found.near


def test_a_shortened_file_of_features_is_mended(photos, cells):
    first = embed_folder(photos, encoder=cells, n_processes=1)
    [store] = (photos / ".superproto").glob("features-*.f16")
    store.write_bytes(store.read_bytes()[:200])
    again = embed_folder(photos, encoder=cells, n_processes=1)
    assert again.computed == 4
    assert np.array_equal(again.features, first.features)


def test_progress_ends_with_all_files(photos, cells):
    told = []
    embed_folder(photos, encoder=cells, n_processes=1, progress=told.append)
    assert (told[-1].done, told[-1].total, told[-1].seconds_left) == (6, 6, 0)


def test_an_empty_folder_and_a_missing_one_are_one_line(tmp_path, cells):
    with pytest.raises(UserError, match="holds no picture"):
        embed_folder(tmp_path, encoder=cells)
    with pytest.raises(UserError, match="does not exist"):
        embed_folder(tmp_path / "nowhere", encoder=cells)


def test_a_run_that_is_in_use_is_refused(photos, cells):
    fcntl = pytest.importorskip("fcntl", reason="locks of a POSIX system")
    (photos / ".superproto").mkdir()
    with (photos / ".superproto" / "lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="in use by another run"):
            embed_folder(photos, encoder=cells)


def test_a_folder_of_other_files_is_no_place_for_a_run(photos, cells):
    with pytest.raises(UserError, match=r"has other files \(0.png\).* --run a new folder"):
        embed_folder(photos, encoder=cells, run=photos / "f0")
    assert {path.suffix for path in (photos / "f0").iterdir()} == {".png"}


def test_a_file_that_hangs_costs_only_itself(photos, monkeypatch):
    monkeypatch.setattr(decoding, "SECONDS_PER_FILE", 0.3)
    worker = decoding._Worker()
    process = worker._running()
    os.kill(process.pid, signal.SIGSTOP)
    assert "longer than" in worker.decode(str(photos / "f0" / "0.png"), View(32))
    monkeypatch.setattr(decoding, "SECONDS_PER_FILE", 60)
    assert worker.decode(str(photos / "f0" / "0.png"), View(32)).view.shape == (32, 32, 3)
    worker.stop()


def test_a_decoder_that_crashes_costs_only_its_file(photos, monkeypatch):
    worker = decoding._Worker()
    process = worker._running()

    def crash(*_):
        process.kill()
        raise EOFError

    with monkeypatch.context() as patched:
        patched.setattr(decoding, "_ask", crash)
        assert "crashed" in worker.decode(str(photos / "f0" / "0.png"), View(32))
    assert worker.decode(str(photos / "f0" / "0.png"), View(32)).content
    worker.stop()
