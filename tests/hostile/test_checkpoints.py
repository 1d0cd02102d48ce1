"""Checkpoints that are damaged, exchanged or left by a run that was stopped at a bad moment."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

from superproto import HPL
from superproto.datasets import make_task, pack_arrays
from superproto.datasets.packs import write_pack
from superproto.errors import UserError
from superproto.samples.chunks import ArrayRows
from superproto.samples.row_seal import seal_of_rows

TASK = make_task(n_seen=8, n_unseen=4, n_features=12, attribute_noise=0.4, separation=2.5, random_state=0)
MANY = int(os.environ.get("SUPERPROTO_HOSTILE", "1"))


class Stop(Exception):
    pass


def _stop(iteration):
    if iteration.iteration == 2:
        raise Stop


def _fit(path, X=TASK.X, **options):
    return HPL(tol=1e-9, max_iter=4, checkpoint=path, **options).fit(X, TASK.y, semantics=TASK.semantics)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    path = tmp_path_factory.mktemp("kept") / "fit.checkpoint"
    with pytest.raises(Stop):
        _fit(path, callback=_stop)
    return path


@pytest.mark.filterwarnings("ignore")
def test_a_damaged_checkpoint_is_refused_or_changes_nothing(kept, tmp_path):
    content, rng, path = kept.read_bytes(), np.random.default_rng(0), tmp_path / "damaged"
    expected = HPL(tol=1e-9, max_iter=4).fit(TASK.X, TASK.y, semantics=TASK.semantics).transduction_
    resumed = 0
    for _ in range(60 * MANY):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            damaged[place] ^= 1 << rng.integers(8)
        if rng.random() < 0.2:
            damaged = damaged[: rng.integers(0, len(damaged))]
        path.write_bytes(damaged)
        try:
            found = _fit(path).transduction_
        except UserError:
            continue
        assert found.tolist() == expected.tolist()
        resumed += 1
    assert resumed <= 2 * MANY


def test_a_forged_seal_does_not_hide_another_shape(kept, tmp_path):
    from safetensors import safe_open
    from safetensors.numpy import save

    with safe_open(kept, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    arrays["objective"] = arrays["objective"] + 1
    (tmp_path / "forged").write_bytes(save(arrays, metadata))
    with pytest.raises(UserError, match="does not match its seal"):
        _fit(tmp_path / "forged")


@pytest.mark.parametrize("between", [1, 700])
def test_rows_that_changed_places_or_values_are_noticed(kept, tmp_path, between):
    for change in ("exchange", "value"):
        shutil.copy(kept, tmp_path / "fit.checkpoint")
        X = TASK.X.copy()
        if change == "exchange":
            X[[between % len(X), 3]] = X[[3, between % len(X)]]
        else:
            X[between % len(X), 0] = np.nextafter(X[between % len(X), 0], X.dtype.type(np.inf))
        with pytest.raises(UserError, match="another fit"):
            _fit(tmp_path / "fit.checkpoint", X)
        with pytest.raises(UserError, match="another fit"):
            _fit(tmp_path / "fit.checkpoint", list(np.array_split(X, 3)))


def test_the_fingerprint_of_rows_does_not_depend_on_chunks(rng):
    X = rng.normal(size=(1000, 7)).astype(np.float32)
    whole = seal_of_rows(ArrayRows(X))
    assert {seal_of_rows(ArrayRows(X, chunk_rows=step)) for step in (1, 7, 999)} == {whole}
    for _ in range(50):
        one, other = rng.integers(0, 1000, 2)
        Y = X.copy()
        Y[[one, other]] = X[[other, one]]
        assert one == other or seal_of_rows(ArrayRows(Y)) != whole


@pytest.fixture
def packed(tmp_path):
    split = np.where(TASK.asked, "test", "train")
    pack = pack_arrays(TASK.X, TASK.class_names[TASK.truth], TASK.semantics, TASK.class_names, split=split)
    write_pack(tmp_path / "p.npz", pack)
    return tmp_path / "p.npz"


def _run(*arguments):
    from superproto.cli import exit_codes

    return exit_codes.run_command([str(argument) for argument in arguments])


def test_a_stop_during_the_second_fit_is_resumed(packed, tmp_path, monkeypatch):
    """The second fit learns when to reject a row."""
    from superproto.evaluation import rejection

    line = ("fit", packed, "--checkpoint", tmp_path / "c", "-o", tmp_path / "m.model", "-p", "max_iter=4")

    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(rejection, "best_threshold", stopped)
        assert _run(*line) == 130
    assert (tmp_path / "c").exists()
    assert _run(*line) == 0
    assert not (tmp_path / "c").exists()


def test_a_full_disk_while_saving_does_not_cost_the_fit(packed, tmp_path, monkeypatch):
    from superproto.estimator import base

    line = ("fit", packed, "--checkpoint", tmp_path / "c", "-o", tmp_path / "m.model", "-p", "max_iter=4")

    def full(*_, **__):
        raise OSError(28, "No space left on device", "m.model")

    with monkeypatch.context() as patch:
        patch.setattr(base, "save_model", full)
        assert _run(*line, "--no-rejection") == 2
    assert (tmp_path / "c").exists()
    assert _run(*line, "--no-rejection") == 0
    assert not (tmp_path / "c").exists()
    assert (tmp_path / "m.model").exists()
