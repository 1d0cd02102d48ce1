"""ASK: all that a solver may want to know of samples, which is two things: ``gram`` and ``assign``.

Samples are seen through a metric, x~ = W' (s x - b mean): unit rows, centered, whitened, unit rows again. Nothing of
size (N, d) is formed for that. The map is folded into the prototypes before a pass and into the sums after it; what is
kept per sample is s and b.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from superproto.inputs import UNLABELED
from superproto.rows import Array, Rows, add_up
from superproto.whitening import Metric, sum_by_class, unit_rows

SCORE_CACHE_BYTES = 512 * 2**20


class Assignment(NamedTuple):
    """An answer to ``assign``: (N,) labels, (n,) masses c = Q'1, (n, d) sums Q'X, and the value of the best Q.

    value = sum_i max_j s_ij for T = 0, else T sum_i log sum_j exp(s_ij / T), with s_ij = <x_i, p_j> + bias_j.
    """

    labels: Array
    masses: Array
    sums: Array
    value: float


class Samples:
    """Rows behind a metric. Everything below reads them chunk by chunk."""

    def __init__(self, rows: Rows, metric: Metric) -> None:
        self.rows = rows
        self.metric = metric
        self.n = rows.n_rows
        self.scale, self.shift = self._lengths()
        self._cached_for: Array | None = None
        self._cache: list[Array] = []

    def _lengths(self) -> tuple[Array, Array]:
        """(N,) s = 1 / (|x| n) and b = 1 / n, n the length of the whitened row."""
        if self.n == 0:
            return np.zeros(0), np.zeros(0)
        parts = list(self.rows.visit(lambda chunk: _lengths_of(chunk, self.metric)))
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    @property
    def dimension(self) -> int:
        return self.rows.n_columns

    def gram(self) -> Array:
        """X~' X~ (d, d), in one pass."""
        second, crossed = add_up(self.rows.visit(_second_of, self.scale, self.shift))
        if self.metric.mean is not None:
            mean = self.metric.mean
            second -= np.outer(crossed, mean) + np.outer(mean, crossed) - (self.shift**2).sum() * np.outer(mean, mean)
        return self.metric.forward(self.metric.forward(second).T)

    def materialize(self) -> Array:
        """X~ itself (N, d), for the case N < d, where it is the smaller matrix."""
        parts = [part for (part,) in self.rows.visit(lambda *given: (self._whitened(*given),), self.scale, self.shift)]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimension))

    def _whitened(self, chunk: Array, scale: Array, shift: Array) -> Array:
        rows = chunk * scale[:, None]
        if self.metric.mean is not None:
            rows -= shift[:, None] * self.metric.mean
        return self.metric.forward(rows)

    def class_sums(self, labels: Array, n_classes: int) -> tuple[Array, Array]:
        """Counts (C,) and sums (C, d) of the samples of each class, for labels that are known."""
        counts = np.bincount(labels, minlength=n_classes).astype(np.float64)
        if self.n == 0:
            return counts, np.zeros((n_classes, self.dimension))

        def sums_of(chunk: Array, scale: Array, shift: Array, part: Array) -> tuple[Array, Array]:
            sums, shifts = np.zeros((n_classes, chunk.shape[1])), np.bincount(part, shift, n_classes)
            sum_by_class(chunk * scale.astype(chunk.dtype)[:, None], part, sums)
            return sums, shifts

        sums, shifts = add_up(self.rows.visit(sums_of, self.scale, self.shift, labels))
        return counts, self._into_metric(sums, shifts)

    def assign(self, prototypes: Array, bias: Array, temperature: float, with_sums: bool = True) -> Assignment:
        """The best assignment to prototypes (n, d), each with an advantage ``bias`` (n,): hard at T = 0, else soft."""
        parts = []
        n, d = prototypes.shape
        masses, raw, shifts, value = np.zeros(n), np.zeros((n, d)), np.zeros(n), 0.0
        for chunk, scale, shift, scores in self._scored(prototypes, with_sums):
            best, weights, gained = _respond(scores, bias, temperature)
            parts.append(best)
            value += gained
            if weights is None:
                masses += np.bincount(best, minlength=n)
                if with_sums:
                    sum_by_class(chunk * scale[:, None], best, raw)
                    shifts += np.bincount(best, shift, n)
            else:
                masses += weights.sum(axis=0, dtype=np.float64)
                if with_sums:
                    raw += (weights * scale[:, None]).T @ chunk
                    shifts += shift @ weights
        labels = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        return Assignment(labels, masses, self._into_metric(raw, shifts) if with_sums else raw, value)

    def scores(self, prototypes: Array) -> Array:
        """<x_i, p_j> (N, n)."""
        parts = [scores for _, _, _, scores in self._scored(prototypes, False)]
        return np.concatenate(parts) if parts else np.zeros((0, len(prototypes)))

    def _scored(self, prototypes: Array, with_rows: bool) -> Iterator[tuple[Array, Array, Array, Array]]:
        """Chunks with their scores; scores are remembered for as long as the prototypes stay the same object."""
        dtype = self.rows.dtype
        known = self._cached_for is prototypes
        if known and not with_rows:
            yield from ((scores, scores, scores, scores) for scores in self._cache)
            return
        folded = self.metric.backward(prototypes)
        offset = np.zeros(len(prototypes)) if self.metric.mean is None else folded @ self.metric.mean
        folded, offset = folded.astype(dtype), offset.astype(dtype)
        keep = self.n * len(prototypes) * dtype.itemsize <= SCORE_CACHE_BYTES
        store: list[Array] = []

        def score(chunk: Array, scale: Array, shift: Array) -> tuple[Array, ...]:
            scale, shift = scale.astype(dtype), shift.astype(dtype)
            if known:
                return chunk, scale, shift, self._cache[len(store)]
            return chunk, scale, shift, (chunk @ folded.T) * scale[:, None] - shift[:, None] * offset

        for chunk, scale, shift, scores in self.rows.visit(score, self.scale, self.shift):
            store.append(scores if keep else scores[:0])
            yield chunk, scale, shift, scores
        if keep:
            self._cached_for, self._cache = prototypes, store

    def _into_metric(self, sums: Array, shifts: Array) -> Array:
        """W' (sums of s x  -  sums of b * mean)."""
        if self.metric.mean is not None:
            sums = sums - np.outer(shifts, self.metric.mean)
        return self.metric.forward(sums)


def _lengths_of(chunk: Array, metric: Metric) -> tuple[Array, Array]:
    norms = np.linalg.norm(chunk, axis=1).astype(np.float64)
    if metric.mean is None:
        return _inverse(norms), np.ones_like(norms)
    rows = unit_rows(chunk)
    rows -= metric.mean.astype(rows.dtype)
    shift = _inverse(np.linalg.norm(metric.forward(rows), axis=1).astype(np.float64))
    return shift * _inverse(norms), shift


def _inverse(lengths: Array) -> Array:
    """1 / length, and 0 for an all-zero row, which then stays zero."""
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > np.finfo(np.float32).tiny)


def _second_of(chunk: Array, scale: Array, shift: Array) -> tuple[Array, Array]:
    rows = chunk * scale.astype(chunk.dtype)[:, None]
    return rows.T @ rows, shift.astype(chunk.dtype) @ rows


def _respond(scores: Array, bias: Array, temperature: float) -> tuple[Array, Array | None, float]:
    """Labels, weights (None when hard: the labels say it) and value of one chunk."""
    total = scores + bias.astype(scores.dtype)
    best = total.argmax(axis=1)
    top = np.take_along_axis(total, best[:, None], axis=1)
    if temperature == 0:
        return best, None, float(top.sum(dtype=np.float64))
    weights = np.exp((total - top) / scores.dtype.type(temperature))
    norm = weights.sum(axis=1, keepdims=True)
    weights /= norm
    return best, weights, float((top + temperature * np.log(norm)).sum(dtype=np.float64))


def labeled_and_pool(labels: Array) -> tuple[Array, Array]:
    """Row numbers of the labeled samples and of the ones to be labeled."""
    return np.flatnonzero(labels != UNLABELED), np.flatnonzero(labels == UNLABELED)
