"""SHOW: where the samples lie on a map: principal components at once, t-SNE in the background; neighbors of a sample.

The map is kept with the run and is never computed again after a fit: colors change, points stay.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

import numpy as np

from superproto.errors import UserError
from superproto.explorer.run import OpenRun
from superproto.files import write_whole
from superproto.samples.chunks import Array

MOST_FOR_TSNE = 20_000
_SOME = 20_000
_COMPONENTS = 30
_FILE = "map.npz"
_STEP = 8192


class Layout:
    """The map of a run."""

    def __init__(self, run: OpenRun) -> None:
        self._run, self._lock = run, threading.Lock()
        self._points: tuple[Array, str] | None = None
        self._sample: tuple[Array, Array] | None = None
        self._improving: threading.Thread | None = None

    def points(self) -> tuple[Array, str]:
        """(N, 2) float32 in [-1, 1], and how they were found ("pca" or "t-sne")."""
        with self._lock:
            if self._points is None:
                self._points = self._kept()
            if self._points is None:
                self._points = _scaled(_projected(self._run.X, 2)), "pca"
                self._keep(*self._points)
            return self._points

    def improve(self) -> None:
        """Begin to compute the t-SNE map in the background, where there is none and the samples are not too many."""
        _, method = self.points()
        if method == "t-sne" or self._improving is not None or not 50 <= len(self._run.X) <= MOST_FOR_TSNE:
            return
        self._improving = threading.Thread(target=self._improve, daemon=True)
        self._improving.start()

    @property
    def improving(self) -> bool:
        """Whether the better map is under way."""
        return self._improving is not None and self._improving.is_alive()

    def neighbors(self, row: int, n: int = 8) -> list[int]:
        """The most similar samples; of many samples, among some that are evenly spread."""
        with self._lock:
            if self._sample is None:
                rows = np.unique(np.linspace(0, len(self._run.X) - 1, _SOME).astype(np.int64))
                X = np.asarray(self._run.X[rows], dtype=np.float32)
                X -= X.mean(axis=0)
                self._sample = rows, X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
        rows, X = self._sample
        own = X[np.searchsorted(rows, row).clip(0, len(rows) - 1)]
        order = rows[np.argsort(-(X @ own), kind="stable")[: n + 1]]
        return [int(other) for other in order if other != row][:n]

    def _improve(self) -> None:
        from sklearn.manifold import TSNE

        _yield_to_others()
        components = _projected(self._run.X, min(_COMPONENTS, min(self._run.X.shape)))
        found = TSNE(init=components[:, :2] * (1e-4 / max(float(components[:, 0].std()), 1e-12)), random_state=0)
        points = _scaled(found.fit_transform(components))
        with self._lock:
            self._points = points, "t-sne"
        self._keep(points, "t-sne")

    def _kept(self) -> tuple[Array, str] | None:
        from superproto.datasets.safe_files.npz import read_npz

        path = self._run.folder / _FILE
        if not path.is_file():
            return None
        try:
            found = read_npz(path)
            points, method, signature = found["points"], str(found["method"]), str(found["signature"])
        except (UserError, KeyError):
            return None
        if signature != self._run.signature or points.shape != (len(self._run.X), 2):
            return None
        return np.ascontiguousarray(points, dtype=np.float32), method

    def _keep(self, points: Array, method: str) -> None:
        with write_whole(self._run.folder / _FILE) as handle:
            np.savez(handle, points=points, method=np.array(method), signature=np.array(self._run.signature))


def _yield_to_others() -> None:
    """Let this thread wait for the page's requests, where the system gives threads a priority of their own."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)


def _projected(X: Array, n: int) -> Array:
    """(N, n) principal components, learned from some rows and computed for all, a few thousand at a time."""
    rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), _SOME)).astype(np.int64))
    some = np.asarray(X[rows], dtype=np.float32)
    mean = some.mean(axis=0)
    covariance = (some - mean).T @ (some - mean)
    _, vectors = np.linalg.eigh(covariance.astype(np.float64))
    basis = vectors[:, ::-1][:, :n].astype(np.float32)
    basis *= np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(basis.shape[1])])
    if basis.shape[1] < n:
        basis = np.pad(basis, ((0, 0), (0, n - basis.shape[1])))
    parts = [(np.asarray(X[i : i + _STEP], dtype=np.float32) - mean) @ basis for i in range(0, len(X), _STEP)]
    return np.concatenate(parts)


def _scaled(points: Array) -> Array:
    low, high = np.quantile(points, [0.001, 0.999], axis=0)
    reach = float(max((high - low).max(), 1e-12))
    return np.ascontiguousarray(np.clip((points - (low + high) / 2) * (1.9 / reach), -1, 1), dtype=np.float32)
