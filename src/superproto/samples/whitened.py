"""READ: whitened samples: the Gram matrix, class sums, scores and assignments, computed chunk by chunk.

Samples are seen through a metric, x~ = W' (s x - b mean): unit rows, centered, whitened, unit rows again. Nothing of
size (N, d) is formed for that. The map is folded into the prototypes before a pass and into the sums after it; what is
kept per sample is s and b.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from superproto.samples import kernels
from superproto.samples.chunks import UNLABELED, Array, ChunkedRows, add_up, gather
from superproto.samples.whitening import Metric

# Scores of the pool and their exponentials, kept while the prototypes stay: a pass then costs no product with X.
SCORE_CACHE_BYTES = 512 * 2**20
# exp(x) of float32 ends near x = -87: how far biases may move before the exponentials are taken anew.
DRIFT = 30.0


class Assignment(NamedTuple):
    """An answer to ``assign``: (N,) labels, (n,) masses c = Q'1, (n, d) sums Q'X, and the value of the best Q.

    value = sum_i max_j s_ij for T = 0, else max sum Q s - T Q log Q - own_j Q^2 / 2, with s_ij = <x_i, p_j> + bias_j;
    without own votes this is T sum_i log sum_j exp(s_ij / T).
    """

    labels: Array
    masses: Array
    sums: Array
    value: float


class Folded(NamedTuple):
    """The metric folded into prototypes: W p_j (n, d), and their products with the mean (n,)."""

    rows: Array
    offset: Array


def fold(metric: Metric, prototypes: Array) -> Folded:
    """What prototypes become for rows that come as they are."""
    rows = metric.backward(prototypes)
    return Folded(rows, np.zeros(len(prototypes)) if metric.mean is None else rows @ metric.mean)


class WhitenedSamples:
    """Rows behind a metric. Everything below reads them chunk by chunk."""

    def __init__(self, rows: ChunkedRows, metric: Metric) -> None:
        self.rows = metric.through(rows)
        self.metric = metric
        self.n = rows.n_rows
        self.scale, self.shift = self._lengths()
        self._cache: _ScoreCache | None = None

    def _lengths(self) -> tuple[Array, Array]:
        """(N,) s = 1 / (|x| n) and b = 1 / n, n the length of the whitened row."""
        if self.n == 0:
            return np.zeros(0), np.zeros(0)
        metric = self.metric.at(self.rows.dtype)
        (scale, shift), _ = gather(self.rows.visit(partial(kernels.lengths, metric=metric)), concatenated=2)
        return scale, shift

    def some(self, index: Array) -> WhitenedSamples:
        """The samples of an ascending index."""
        some = copy.copy(self)
        some.rows, some.n, some._cache = self.rows.select(index), len(index), None
        some.scale, some.shift = self.scale[index], self.shift[index]
        return some

    def spread(self, at_most: int) -> Array:
        """Ascending numbers of so many samples, evenly spread in the order of their lengths.

        Lengths belong to samples, so that the order of the rows does not decide which are chosen.
        """
        if self.n <= at_most:
            return np.arange(self.n)
        return np.sort(np.argsort(self.scale, kind="stable")[evenly_spread_rows(self.n, at_most)])

    def lengths(self) -> Array:
        """(N,) n, the length of a whitened row before its last normalization."""
        shift = self.shift.astype(np.float64)
        return np.divide(1.0, shift, out=np.zeros_like(shift), where=shift > 0)

    def plain_sums(self, labels: Array, n_classes: int) -> Array:
        """(C, d) class sums of whitened rows before their last normalization."""
        plain = copy.copy(self)
        plain.scale, plain.shift = self.scale * self.lengths(), np.ones_like(self.shift)
        return plain.class_sums(labels, n_classes)[1]

    @property
    def dimension(self) -> int:
        return self.rows.n_columns

    def gram(self) -> Array:
        """X~' X~ (d, d), in one pass."""
        second, crossed = add_up(self.rows.visit(kernels.second_moment, self.scale, self.shift))
        if self.metric.mean is not None:
            mean = self.metric.mean
            spread = float((self.shift.astype(np.float64) ** 2).sum())
            second -= np.outer(crossed, mean) + np.outer(mean, crossed) - spread * np.outer(mean, mean)
        return self.metric.forward(self.metric.forward(second).T)

    def materialize(self) -> Array:
        """X~ itself (N, d), for the case N < d, where it is the smaller matrix."""
        if self.n == 0:
            return np.zeros((0, self.dimension))
        see = partial(kernels.apply_scaled_metric, metric=self.metric.at(self.rows.dtype))
        return gather(self.rows.visit(see, self.scale, self.shift), concatenated=1)[0][0]

    def class_sums(self, labels: Array, n_classes: int) -> tuple[Array, Array]:
        """Counts (C,) and sums (C, d) of the samples of each class, for labels that are known."""
        counts = np.bincount(labels, minlength=n_classes).astype(np.float64)
        if self.n == 0:
            return counts, np.zeros((n_classes, self.dimension))
        found = self.rows.visit(partial(kernels.class_sums, n_classes=n_classes), self.scale, self.shift, labels)
        return counts, self._into_metric(*add_up(found))

    def assign(
        self, prototypes: Array, bias: Array, temperature: float, own: Array | None = None, with_sums: bool = True
    ) -> Assignment:
        """The best assignment to prototypes (n, d), each with an advantage ``bias`` (n,): hard at T = 0, else soft.

        ``own`` (n,): what a sample's own vote adds to its score in a class, taken back where the assignment is soft.
        Without sums, a soft answer that comes from remembered scores has no labels either.
        """
        if self.n == 0:
            return Assignment(np.zeros(0, dtype=np.int64), np.zeros(len(bias)), np.zeros_like(prototypes), 0.0)
        own = np.zeros(len(bias)) if own is None else own
        remember = temperature > 0 and self._fits_cache(prototypes)
        if remember and not with_sums:
            masses, value = self._cached_scores(prototypes, bias, temperature).answer(bias, own)
            return Assignment(np.zeros(0, dtype=np.int64), masses, np.zeros(prototypes.shape), value)
        # Far away, a product with X is cheaper than sending it the exponentials.
        if remember and not getattr(self.rows, "far", False):
            found = self._visit_cached(self._cached_scores(prototypes, bias, temperature), bias, own)
        else:
            small: dict[str, Any] = {**self._folded(prototypes), "bias": bias, "with_sums": with_sums}
            soft = partial(kernels.soft, temperature=temperature, own=own, **small)
            ask = soft if temperature else partial(kernels.hard, **small)
            found = self.rows.visit(ask, self.scale, self.shift)
        (labels,), (masses, value, *sums) = gather(found, concatenated=1)
        return Assignment(
            labels, masses, self._into_metric(*sums) if sums else np.zeros(prototypes.shape), float(value)
        )

    def scores(self, prototypes: Array, folded: Folded | None = None) -> Array:
        """<x_i, p_j> (N, n); ``folded`` spares folding the metric into the prototypes again."""
        if self.n == 0:
            return np.zeros((0, len(prototypes)))
        ask = partial(kernels.scores, **self._folded(prototypes, folded))
        return gather(self.rows.visit(ask, self.scale, self.shift), concatenated=1)[0][0]

    def _folded(self, prototypes: Array, known: Folded | None = None) -> dict[str, Array]:
        rows, offset = fold(self.metric, prototypes) if known is None else known
        return {"folded": rows.astype(self.rows.dtype), "offset": offset}

    def _fits_cache(self, prototypes: Array) -> bool:
        return 2 * self.n * len(prototypes) * self.rows.dtype.itemsize <= SCORE_CACHE_BYTES

    def _cached_scores(self, prototypes: Array, bias: Array, temperature: float) -> _ScoreCache:
        """Scores for as long as the prototypes stay the same object, with exponentials near the current biases."""
        cache = self._cache
        if cache is None or cache.prototypes is not prototypes or cache.temperature != temperature:
            self._cache = None
            self._cache = cache = _ScoreCache(prototypes, temperature, self.scores(prototypes))
        cache.center(bias)
        return cache

    def _visit_cached(self, kernel: _ScoreCache, bias: Array, own: Array) -> Any:
        factor = kernel.factor(bias)
        ask = partial(kernels.soft_sums, factor=factor, temperature=kernel.temperature, own=own, with_sums=True)
        # What the factor leaves out of its exponent belongs to every row's top.
        top = kernel.top + float((bias - kernel.bias).max())
        return self.rows.visit(ask, self.scale, self.shift, kernel.exponentials, top)

    def _into_metric(self, sums: Array, shifts: Array) -> Array:
        """W' (sums of s x  -  sums of b * mean)."""
        if self.metric.mean is not None:
            sums = sums - np.outer(shifts, self.metric.mean)
        return self.metric.forward(sums)


class _ScoreCache:
    """Scores S (N, n) of some prototypes, and exp((S + bias - top) / T) for a bias from which others are a factor away.

    A pass at another bias is two thin products with the exponentials.
    """

    def __init__(self, prototypes: Array, temperature: float, scores: Array) -> None:
        self.prototypes = prototypes
        self.temperature = temperature
        self.scores = scores
        self.exponentials = np.zeros((0, 0))
        self.top = np.zeros(0)
        self.bias: Array | None = None

    def center(self, bias: Array) -> None:
        """Take the exponentials anew where the biases have drifted so far that float32 could lose a class."""
        if self.bias is not None and np.ptp(bias - self.bias) <= DRIFT * self.temperature:
            return
        if self.bias is None:
            self.exponentials, self.top = np.empty_like(self.scores), np.empty(len(self.scores), self.scores.dtype)
        self.bias = bias.copy()
        for part in self._blocks():
            self.exponentials[part], self.top[part] = kernels.exponentials(self.scores[part], bias, self.temperature)

    def factor(self, bias: Array) -> Array:
        """(n,) exp((bias - own bias) / T), the largest being 1."""
        change = bias - self.bias
        return np.exp((change - change.max()) / self.temperature)

    def answer(self, bias: Array, own: Array) -> tuple[Array, float]:
        """Masses and value at a bias."""
        factor = self.factor(bias).astype(self.scores.dtype)
        masses, worth = np.zeros(len(bias)), 0.0
        for part in self._blocks():
            found, logs = self._shares(part, factor, own)
            masses += found
            worth += float(logs.sum(dtype=np.float64))
        largest = float((bias - self.bias).max())
        return masses, float(self.top.sum(dtype=np.float64)) + len(self.top) * largest + self.temperature * worth

    def _shares(self, part: slice, factor: Array, own: Array) -> tuple[Array, Array]:
        """(n,) what classes get of some rows, and what each row is worth; without own votes by two thin products."""
        if own.any():
            shares, worth = kernels.shares(self.exponentials[part] * factor, own / self.temperature)
            return shares.sum(axis=0, dtype=np.float64), worth
        norms = self.exponentials[part] @ factor
        return ((1 / norms) @ self.exponentials[part]) * factor, np.log(norms)

    def _blocks(self) -> list[slice]:
        """Rows in blocks that stay in the processor's cache between two products."""
        length = max(1, kernels.BLOCK_ENTRIES // max(1, self.scores.shape[1]))
        return [slice(start, start + length) for start in range(0, len(self.scores), length)]


def evenly_spread_rows(length: int, at_most: int) -> Array:
    """Ascending row numbers, evenly spread over so many rows: all of them, or `at_most`."""
    return np.unique(np.linspace(0, length - 1, min(length, at_most)).astype(np.int64))


def labeled_and_pool(labels: Array) -> tuple[Array, Array]:
    """Row numbers of the labeled samples and of the ones to be labeled."""
    return np.flatnonzero(labels != UNLABELED), np.flatnonzero(labels == UNLABELED)
