"""RESEARCH: tasks for speed studies: real features of CUB's size, and synthetic ones of any size, also on disk."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from superproto.samples.chunks import Array

CUB_PACK = "cub_vgg_fc7_4096.npz"
# Standard deviations: of a sample, relative to the square root of the number of features; and of the errors in
# descriptions, whose entries have variance 1. The task is neither trivial nor impossible with these.
NOISE = 0.15
ERROR = 0.5


class Size(NamedTuple):
    """The sizes of a synthetic task."""

    labeled: int
    pool: int
    features: int
    seen: int
    unseen: int
    attributes: int


CUB = Size(7057, 2967, 2048, 150, 50, 312)
IMAGENET = Size(200_000, 54_000, 4096, 1000, 360, 1000)


def cub_sized(folder: Path) -> tuple[Array, Array, Array]:
    """Return CUB with 2048 of its VGG features, or a synthetic task of the same shape if the pack is missing."""
    if not (folder / CUB_PACK).exists():
        return synthetic(CUB)
    from superproto.datasets import load

    task = load(folder / CUB_PACK)
    return np.ascontiguousarray(task.X[:, :2048], dtype=np.float32), task.y, task.semantics


def synthetic(size: Size) -> tuple[Array, Array, Array]:
    """Return float32 samples around centers that are linear in their descriptions, labels, and descriptions."""
    rng = np.random.default_rng(0)
    truth, centers, shown = _classes(size, rng)
    X = _samples(centers, truth, rng)
    return X, np.where(np.arange(len(truth)) < size.labeled, truth, -1), shown


def write_features(path: Path, size: Size, step: int = 4096) -> tuple[Array, Array, Array]:
    """Write features to a .npy file in parts. Return labels (-1: unlabeled), truth and descriptions."""
    rng = np.random.default_rng(0)
    truth, centers, shown = _classes(size, rng)
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(len(truth), size.features))
    for start in range(0, len(truth), step):
        file[start : start + step] = _samples(centers, truth[start : start + step], rng)
    file.flush()
    return np.where(np.arange(len(truth)) < size.labeled, truth, -1), truth, shown


def _classes(size: Size, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return the class of each sample (N,), centers (C, d), and descriptions with errors (C, k)."""
    A = rng.normal(size=(size.seen + size.unseen, size.attributes))
    centers = (A @ rng.normal(size=(size.attributes, size.features))).astype(np.float32)
    centers /= np.float32(np.sqrt(size.attributes))
    truth = np.concatenate([np.arange(size.labeled) % size.seen, size.seen + np.arange(size.pool) % size.unseen])
    return truth, centers, A + ERROR * rng.normal(size=A.shape)


def _samples(centers: Array, truth: Array, rng: np.random.Generator) -> Array:
    rows = rng.standard_normal((len(truth), centers.shape[1]), dtype=np.float32)
    rows *= np.float32(NOISE * np.sqrt(centers.shape[1]))
    rows += centers[truth]
    return rows
