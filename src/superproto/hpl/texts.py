"""Class texts in the space of the features (CLIP's): what they say about each sample, and classes without any label.

The vote of a text t_j for a sample x is s <x, t_j>: up to a term that all classes share, the log-probability of the
plain rule "the most similar text" at the inverse temperature s.

Without labels, clusters and votes calibrate each other. With samples u_i in a metric and clusters at p_j,

    q_ij ~ exp( k <u_i, p_j> + s <x_i, t_j> ),      p_j ~ sum_i q_ij u_i + w a_j,      a_j: the text in the metric.

* s is the likeliest inverse temperature of the votes on the labels that clusters alone give, each sample left out;
* k is the likeliest one of the clusters, each sample left out, on the labels of q;
* the metric whitens by the covariance within the classes of q.

Class sizes are even, or they are free. Both fits are made; under a wrong hypothesis clusters agree less with the votes,
and s falls. The ratio of the two is the evenness. At evenness 0 clusters do not count: what is left is the plain rule.
The labels that fits of two halves of the samples agree on measure how stable the clusters are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from superproto.estimator.calibration import likeliest_sharpness
from superproto.estimator.validation import Problem
from superproto.hpl.constants import Constants
from superproto.samples.chunks import Array, rows_at
from superproto.samples.kernels import unit_rows
from superproto.samples.timing import span
from superproto.samples.whitened import evenly_spread_rows
from superproto.samples.whitening import Metric, whitening_matrix

# So many unlabeled samples, evenly spread, tell metric, temperatures and evenness.
TEXT_ROWS = 10_000
VOTE_ROWS = 1000
ROUNDS, BALANCING_ROUNDS = 20, 20
# Inverse temperature of the first votes; CLIP was trained with it, and the fit soon forgets it.
FIRST_SCALE = 100.0
TINY = 1e-12


class TextFit(NamedTuple):
    """What samples without labels tell, with the texts of the n candidates.

    ``prototypes`` (n, d) are unit vectors of the metric, ``scale`` is the inverse temperature s of the votes and
    ``sharpness`` that of the clusters, k times the evenness. ``length`` is the median length of a whitened sample, and
    ``stability`` the share of the samples on which fits of two halves agree.
    """

    metric: Metric
    prototypes: Array
    scale: float
    sharpness: float
    evenness: float
    length: float
    stability: float


class Votes(NamedTuple):
    """Vectors (C, d) of the metric and biases (C,): <u, vector_j> + bias_j is T times the vote of text j."""

    vectors: Array
    biases: Array


def text_votes(texts: Array, metric: Metric, length: float, weight: float) -> Votes:
    """The votes of unit texts (C, d) for samples u = (x - mean) W / |.|, with the weight T s.

    <x, t> = <mean, t> + |.| <u W^-1, t>. The length |.| of a whitened sample is taken to be that of the median sample.
    """
    mean = np.zeros(texts.shape[1]) if metric.mean is None else metric.mean
    return Votes(weight * length * metric.undo_transposed(texts), weight * (texts @ mean))


@dataclass(frozen=True)
class _Clusters:
    """One fit: unit samples X (N, d), unit texts (n, d), and how strongly sizes are even and clusters count.

    Even sizes are equal within each of the ``levels`` (n,): seen and unseen classes, where both are candidates.
    """

    X: Array
    texts: Array
    levels: Array
    relaxation: float
    small_pool: float

    def fit(self, evenness: float, free: bool = False) -> _Found:
        """Rounds of metric, clusters and both inverse temperatures; ``free``: class sizes are estimated instead."""
        C, scale = self.X @ self.texts.T, FIRST_SCALE
        f, n = self.relaxation * evenness, len(self.texts)
        shares = np.zeros(n)
        Q = _balanced(scale * C, f, self.levels)
        for _ in range(ROUNDS):
            before = Q.argmax(axis=1)
            metric, U, lengths = self._whitened(Q)
            P, left_out = self._clusters(Q, metric, U)
            sharp = _likeliest(left_out, before)
            shares = np.log(n * (Q.sum(axis=0) + 1) / (len(Q) + n)) if free else shares
            alone = _balanced(sharp * left_out + shares, f, self.levels).argmax(axis=1)
            scale = _likeliest(C, alone)
            counted = sharp * (1.0 if free else evenness)
            Q = _balanced(counted * left_out + scale * C + shares, f, self.levels)
            if np.array_equal(Q.argmax(axis=1), before):
                break
        return _Found(metric, P, scale, sharp, float(np.median(lengths)), Q)

    def _whitened(self, Q: Array) -> tuple[Metric, Array, Array]:
        """The metric of the covariance within soft classes, samples in it, and their lengths before the last step."""
        mean = self.X.mean(axis=0)
        Z, counts = self.X - mean, Q.sum(axis=0)
        sums = Q.T @ Z
        within = (Z.T @ Z - (sums / np.maximum(counts, TINY)[:, None]).T @ sums) / len(Z)
        # Samples that are all alike have no spread but that of rounding.
        within[np.diag_indices(len(within))] += TINY
        classes = int((counts > 0.5).sum())
        matrix = whitening_matrix(within, Z.shape[1] / max(1, len(Z) - classes))
        Y = Z @ matrix
        lengths = np.maximum(np.linalg.norm(Y, axis=1), TINY)
        return Metric(mean=mean, matrix=matrix), Y / lengths[:, None], lengths

    def _clusters(self, Q: Array, metric: Metric, U: Array) -> tuple[Array, Array]:
        """Prototypes (n, d), and scores (N, n) of which each sample's own part is subtracted."""
        anchors = unit_rows(metric.forward(self.texts - self.texts.mean(axis=0)))
        counts, sums = Q.sum(axis=0), Q.T @ U
        typical = np.linalg.norm(sums, axis=1) / np.maximum(counts, TINY)
        expected = len(U) / len(counts) * float(np.median(typical))
        pulled = sums + self.small_pool / (1 + expected) ** 3 * anchors
        lengths = np.maximum(np.linalg.norm(pulled, axis=1), TINY)
        P = pulled / lengths[:, None]
        return P, U @ P.T - Q / np.maximum(lengths, 1.0)


class _Found(NamedTuple):
    metric: Metric
    prototypes: Array
    scale: float
    sharpness: float
    length: float
    Q: Array

    def labels(self, clusters: _Clusters, relaxation: float) -> Array:
        """Of all samples, as this fit would label them."""
        X = clusters.X
        U = unit_rows(self.metric.forward(X - self.metric.mean))
        logits = self.sharpness * (U @ self.prototypes.T) + self.scale * (X @ clusters.texts.T)
        return _balanced(logits, relaxation, clusters.levels).argmax(axis=1)


def fit_pool(X: Any, problem: Problem, constants: Constants) -> TextFit | None:
    """What texts of the feature space tell together with the unlabeled rows of X; None where nothing is unlabeled."""
    asked = np.flatnonzero(problem.asked)
    if not len(asked):
        return None
    rows = unit_rows(rows_at(X, asked[evenly_spread_rows(len(asked), TEXT_ROWS)]).astype(np.float64))
    levels = np.unique(problem.seen[problem.allowed], return_inverse=True)[1]
    texts = unit_rows(problem.semantics[problem.allowed])
    with span("whiten"):
        return fit_texts(rows, texts, levels, constants, with_stability=not problem.seen.any())


def fit_texts(X: Array, texts: Array, levels: Array, constants: Constants, with_stability: bool) -> TextFit:
    """From unit samples (N, d) and unit texts (n, d) of the candidates; nothing is labeled.

    ``levels`` (n,) are the groups of candidates that may differ in size: seen and unseen ones.

    Stability takes two fits more; without it, it is 1.
    """
    clusters = _Clusters(X, texts, levels, constants.relaxation, constants.small_pool_weight)
    even, free = clusters.fit(1.0), clusters.fit(0.0, free=True)
    evenness = agreement_of_hypotheses(even.scale, free.scale, constants)
    found = even if evenness == 1 else clusters.fit(evenness)
    return TextFit(
        found.metric, found.prototypes, found.scale, found.sharpness * evenness, evenness, found.length,
        stability=_stability(clusters, evenness) if with_stability else 1.0,
    )  # fmt: skip


def agreement_of_hypotheses(even: float, free: float, constants: Constants) -> float:
    """0 to 1: min(1, ratio / a)^4 of the inverse temperatures at which votes fit the clusters of even and free sizes.

    Where texts are poor, free sizes follow their errors, so that even sizes lose a part in any pool: hence a < 1.
    """
    return float(min(1.0, even / max(free, TINY) / constants.even_agreement) ** 4)


def _stability(clusters: _Clusters, evenness: float) -> float:
    """The share of samples to which fits of two halves give the same label."""
    N, f = len(clusters.X), clusters.relaxation * evenness
    if 4 * len(clusters.texts) > N or evenness == 0:
        return 1.0
    halves = [replace(clusters, X=clusters.X[start::2]).fit(evenness) for start in (0, 1)]
    halves = [half._replace(sharpness=half.sharpness * evenness) for half in halves]
    first, second = (half.labels(clusters, f) for half in halves)
    return float((first == second).mean())


def _likeliest(scores: Array, labels: Array) -> float:
    """The inverse temperature at which these labels are the likeliest, from some of the rows."""
    rows = evenly_spread_rows(len(scores), VOTE_ROWS)
    return likeliest_sharpness(scores[rows], scores[rows, labels[rows]], wrong=1.0)


def _balanced(logits: Array, f: float, levels: Array) -> Array:
    """Softmax rows of logits + g, g_j <- f (g_j + log m_j - log c_j), c = column sums, m = their means in each level.

    f = 1 makes classes of one level equal.
    """
    if f == 0:
        return np.asarray(softmax(logits, axis=1))
    K = np.exp(logits - logits.max(axis=1, keepdims=True))
    g, numbers = np.zeros(K.shape[1]), np.bincount(levels)
    for _ in range(BALANCING_ROUNDS):
        factor = np.exp(g - g.max())
        masses = np.maximum(factor * ((1 / np.maximum(K @ factor, TINY**2)) @ K), TINY)
        means = np.bincount(levels, masses) / numbers
        g = f * (g + np.log(means[levels]) - np.log(masses))
    Q = K * np.exp(g - g.max())
    return np.asarray(Q / np.maximum(Q.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))
