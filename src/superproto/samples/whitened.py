"""READ: compute the Gram matrix, class sums, scores and assignments of whitened samples chunk by chunk.

A metric maps samples to x~ = W' (s x - b mean): rows are scaled to length 1, centered, whitened and scaled again. No
whitened array of size (N, d) is formed. W is applied to the prototypes before a pass and to the sums after it. Only
the two numbers s and b are stored for each sample.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from superproto.samples import kernels
from superproto.samples.chunks import UNLABELED, Array, ChunkedRows, add_up, gather
from superproto.samples.whitening import Metric

# Maximum size of the cached scores and their exponentials. While prototypes stay the same, a pass over cached scores
# needs no product with X.
SCORE_CACHE_BYTES = 512 * 2**20
# How far biases may move, in temperatures, before the exponentials are computed anew: float32 underflows near -87.
DRIFT = 30.0


class Assignment(NamedTuple):
    """The result of ``assign``: labels (N,), masses c = Q'1 (n,), sums Q'X (n, d), and the value of the best Q.

    value = sum_i max_j s_ij for T = 0, else max sum Q s - T Q log Q - own_j Q^2 / 2, with s_ij = <x_i, p_j> + bias_j.
    Without self-influence (own = 0) this is T sum_i log sum_j exp(s_ij / T).
    """

    labels: Array
    masses: Array
    sums: Array
    value: float


class Folded(NamedTuple):
    """Prototypes multiplied by the metric: W p_j (n, d), and their products with the mean (n,)."""

    rows: Array
    offset: Array


def fold(metric: Metric, prototypes: Array) -> Folded:
    """Multiply prototypes by the metric, so that their products with raw rows are scores of whitened rows."""
    rows = metric.backward(prototypes)
    return Folded(rows, np.zeros(len(prototypes)) if metric.mean is None else rows @ metric.mean)


class WhitenedSamples:
    """Rows with a metric. Every method reads the rows chunk by chunk."""

    def __init__(self, rows: ChunkedRows, metric: Metric) -> None:
        self.rows = metric.through(rows)
        self.metric = metric
        self.n = rows.n_rows
        self.scale, self.shift = self._lengths()
        self._cache: _ScoreCache | None = None

    def _lengths(self) -> tuple[Array, Array]:
        """Return (N,) s = 1 / (|x| n) and b = 1 / n, with n the length of the whitened row."""
        if self.n == 0:
            return np.zeros(0), np.zeros(0)
        metric = self.metric.at(self.rows.dtype)
        (scale, shift), _ = gather(self.rows.visit(partial(kernels.lengths, metric=metric)), concatenated=2)
        return scale, shift

    def some(self, index: Array) -> WhitenedSamples:
        """Return the samples of an ascending index."""
        some = copy.copy(self)
        some.rows, some.n, some._cache = self.rows.select(index), len(index), None
        some.scale, some.shift = self.scale[index], self.shift[index]
        return some

    def spread(self, at_most: int) -> Array:
        """Return ascending row numbers of at most so many samples, evenly spread in the order of their lengths.

        The length is a property of the sample, so the choice does not depend on the order of the rows.
        """
        if self.n <= at_most:
            return np.arange(self.n)
        return np.sort(np.argsort(self.scale, kind="stable")[evenly_spread_rows(self.n, at_most)])

    def lengths(self) -> Array:
        """Return (N,) n, the length of each whitened row before its last normalization."""
        shift = self.shift.astype(np.float64)
        return np.divide(1.0, shift, out=np.zeros_like(shift), where=shift > 0)

    def plain_sums(self, labels: Array, n_classes: int) -> Array:
        """Return the (C, d) class sums of whitened rows before their last normalization."""
        plain = copy.copy(self)
        plain.scale, plain.shift = self.scale * self.lengths(), np.ones_like(self.shift)
        return plain.class_sums(labels, n_classes)[1]

    @property
    def dimension(self) -> int:
        """The number of features."""
        return self.rows.n_columns

    def gram(self) -> Array:
        """Return the Gram matrix X~' X~ (d, d), in one pass."""
        second, crossed = add_up(self.rows.visit(kernels.second_moment, self.scale, self.shift))
        if self.metric.mean is not None:
            mean = self.metric.mean
            spread = float((self.shift.astype(np.float64) ** 2).sum())
            second -= np.outer(crossed, mean) + np.outer(mean, crossed) - spread * np.outer(mean, mean)
        return self.metric.forward(self.metric.forward(second).T)

    def materialize(self) -> Array:
        """Return X~ itself (N, d), for N < d, where it is smaller than the Gram matrix."""
        if self.n == 0:
            return np.zeros((0, self.dimension))
        kernel = partial(kernels.apply_scaled_metric, metric=self.metric.at(self.rows.dtype))
        return gather(self.rows.visit(kernel, self.scale, self.shift), concatenated=1)[0][0]

    def class_sums(self, labels: Array, n_classes: int) -> tuple[Array, Array]:
        """Return the counts (C,) and sums (C, d) of the samples of each class. Every label must be known."""
        counts = np.bincount(labels, minlength=n_classes).astype(np.float64)
        if self.n == 0:
            return counts, np.zeros((n_classes, self.dimension))
        found = self.rows.visit(partial(kernels.class_sums, n_classes=n_classes), self.scale, self.shift, labels)
        return counts, self._into_metric(*add_up(found))

    def assign(
        self, prototypes: Array, bias: Array, temperature: float, own: Array | None = None, with_sums: bool = True
    ) -> Assignment:
        """Compute the best assignment of samples to prototypes: hard at temperature 0, else soft.

        Parameters
        ----------
        prototypes : (n, d)
        bias : (n,)
            Added to the scores of each prototype.
        own : (n,), optional
            Self-influence: how much a sample raises its own score in a class. A soft assignment is corrected for it.
        with_sums : bool, default=True
            Compute the sums Q'X. Without them, a soft assignment from cached scores has no labels either.
        """
        if self.n == 0:
            return Assignment(np.zeros(0, dtype=np.int64), np.zeros(len(bias)), np.zeros_like(prototypes), 0.0)
        own = np.zeros(len(bias)) if own is None else own
        remember = temperature > 0 and self._fits_cache(prototypes)
        if remember and not with_sums:
            masses, value = self._cached_scores(prototypes, bias, temperature).answer(bias, own)
            return Assignment(np.zeros(0, dtype=np.int64), masses, np.zeros(prototypes.shape), value)
        # On a cluster, a product with X is cheaper than sending the exponentials to the workers.
        if remember and not getattr(self.rows, "far", False):
            found = self._visit_cached(self._cached_scores(prototypes, bias, temperature), bias, own)
        else:
            small: dict[str, Any] = {**self._folded(prototypes), "bias": bias, "with_sums": with_sums}
            soft = partial(kernels.soft, temperature=temperature, own=own, **small)
            kernel = soft if temperature else partial(kernels.hard, **small)
            found = self.rows.visit(kernel, self.scale, self.shift)
        (labels,), (masses, value, *sums) = gather(found, concatenated=1)
        return Assignment(
            labels, masses, self._into_metric(*sums) if sums else np.zeros(prototypes.shape), float(value)
        )

    def scores(self, prototypes: Array, folded: Folded | None = None) -> Array:
        """Return the scores <x_i, p_j> (N, n). ``folded``: the result of :func:`fold`, if it is known already."""
        if self.n == 0:
            return np.zeros((0, len(prototypes)))
        kernel = partial(kernels.scores, **self._folded(prototypes, folded))
        return gather(self.rows.visit(kernel, self.scale, self.shift), concatenated=1)[0][0]

    def _folded(self, prototypes: Array, known: Folded | None = None) -> dict[str, Array]:
        rows, offset = fold(self.metric, prototypes) if known is None else known
        return {"folded": rows.astype(self.rows.dtype), "offset": offset}

    def _fits_cache(self, prototypes: Array) -> bool:
        return 2 * self.n * len(prototypes) * self.rows.dtype.itemsize <= SCORE_CACHE_BYTES

    def _cached_scores(self, prototypes: Array, bias: Array, temperature: float) -> _ScoreCache:
        """Return the score cache of these prototypes (the same object), with exponentials near the current biases."""
        cache = self._cache
        if cache is None or cache.prototypes is not prototypes or cache.temperature != temperature:
            self._cache = None
            self._cache = cache = _ScoreCache(prototypes, temperature, self.scores(prototypes))
        cache.center(bias)
        return cache

    def _visit_cached(self, cache: _ScoreCache, bias: Array, own: Array) -> Any:
        factor = cache.factor(bias)
        kernel = partial(kernels.soft_sums, factor=factor, temperature=cache.temperature, own=own, with_sums=True)
        # The factor is scaled to a maximum of 1; add the logarithm of the scale to the maximum of every row.
        top = cache.top + float((bias - cache.bias).max())
        return self.rows.visit(kernel, self.scale, self.shift, cache.exponentials, top)

    def _into_metric(self, sums: Array, shifts: Array) -> Array:
        """W' (sums of s x  -  sums of b * mean)."""
        if self.metric.mean is not None:
            sums = sums - np.outer(shifts, self.metric.mean)
        return self.metric.forward(sums)


class _ScoreCache:
    """Scores S (N, n) of some prototypes, and exp((S + bias - top) / T) at a reference bias.

    The exponentials at another bias differ by one factor per class. A pass at another bias therefore needs only two
    products of the exponentials with a vector.
    """

    def __init__(self, prototypes: Array, temperature: float, scores: Array) -> None:
        self.prototypes = prototypes
        self.temperature = temperature
        self.scores = scores
        self.exponentials = np.zeros((0, 0))
        self.top = np.zeros(0)
        self.bias: Array | None = None

    def center(self, bias: Array) -> None:
        """Compute the exponentials anew if the biases moved so far that a class could underflow in float32."""
        if self.bias is not None and np.ptp(bias - self.bias) <= DRIFT * self.temperature:
            return
        if self.bias is None:
            self.exponentials, self.top = np.empty_like(self.scores), np.empty(len(self.scores), self.scores.dtype)
        self.bias = bias.copy()
        for part in self._blocks():
            self.exponentials[part], self.top[part] = kernels.exponentials(self.scores[part], bias, self.temperature)

    def factor(self, bias: Array) -> Array:
        """Return (n,) exp((bias - reference bias) / T), scaled so that the largest entry is 1."""
        change = bias - self.bias
        return np.exp((change - change.max()) / self.temperature)

    def answer(self, bias: Array, own: Array) -> tuple[Array, float]:
        """Return the masses (n,) and the value at a bias."""
        factor = self.factor(bias).astype(self.scores.dtype)
        masses, total = np.zeros(len(bias)), 0.0
        for part in self._blocks():
            found, logs = self._shares(part, factor, own)
            masses += found
            total += float(logs.sum(dtype=np.float64))
        largest = float((bias - self.bias).max())
        return masses, float(self.top.sum(dtype=np.float64)) + len(self.top) * largest + self.temperature * total

    def _shares(self, part: slice, factor: Array, own: Array) -> tuple[Array, Array]:
        """Return the mass of each class (n,) from some rows, and the value of each of these rows."""
        if own.any():
            shares, values = kernels.shares(self.exponentials[part] * factor, own / self.temperature)
            return shares.sum(axis=0, dtype=np.float64), values
        norms = self.exponentials[part] @ factor
        return ((1 / norms) @ self.exponentials[part]) * factor, np.log(norms)

    def _blocks(self) -> list[slice]:
        """Return slices of rows that stay in the processor's cache between two products."""
        length = max(1, kernels.BLOCK_ENTRIES // max(1, self.scores.shape[1]))
        return [slice(start, start + length) for start in range(0, len(self.scores), length)]


def evenly_spread_rows(length: int, at_most: int) -> Array:
    """Return at most ``at_most`` ascending row numbers, evenly spread over ``length`` rows."""
    return np.unique(np.linspace(0, length - 1, min(length, at_most)).astype(np.int64))


def labeled_and_pool(labels: Array) -> tuple[Array, Array]:
    """Return the row numbers of the labeled and of the unlabeled samples."""
    return np.flatnonzero(labels != UNLABELED), np.flatnonzero(labels == UNLABELED)
