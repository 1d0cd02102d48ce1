"""FIT: SP-ZSR, clusters of unlabeled samples matched one to one with classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from superproto.baselines._shared.predicted_prototypes import labeled_class_sums, unit_semantics
from superproto.baselines._shared.projections import gram
from superproto.baselines.base import LinearBaseline
from superproto.baselines.eszsl import two_sided_ridge
from superproto.baselines.wdvsc import raw_centers
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


@dataclass(eq=False, repr=False)
class SPZSR(LinearBaseline):
    """Structured prediction: clusters of unlabeled samples matched one to one with classes by bilinear scores.

    The score of a sample is ``x W a_c``, learned by a ridge on both sides. K-means clusters and classes are matched by
    the bijection of the largest total score. Then two steps alternate: samples go to
    ``argmax <x, center_c> / σ + trust · <x, W a_c> / τ``, and centers to the mean of their samples. σ and τ are the
    standard deviations of the two scores.

    Parameters
    ----------
    trust : float, default=0.3
        Larger: a sample's own bilinear score counts more, its cluster less.
    gamma, lam : float, default=1.0
        Ridges on features and on descriptions, in mean eigenvalues. Larger: smoother.
    n_iter : int, default=10
        Rounds of samples and centers. Larger: farther from the first clusters.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` seeds K-means.

    Attributes
    ----------
    classifiers_ : array of shape (C, d)
        Both scores in one linear form.

    Notes
    -----
    The score of the paper is a learned latent probability model; the closed-form bilinear score replaces it. The
    matching is a linear program whose vertices are permutations; the Hungarian method solves it. Published (VGG): AwA
    92.1, CUB 55.3, aPY 69.7.

    References
    ----------
    Zhang and Saligrama, "Zero-shot recognition via structured prediction", ECCV 2016.
    """

    method_key = "sp-zsr"

    trust: float = 0.3
    gamma: float = 1.0
    lam: float = 1.0
    n_iter: int = 10

    _positive: ClassVar[tuple[str, ...]] = ("gamma", "lam", "n_iter")
    _nonnegative: ClassVar[tuple[str, ...]] = ("trust",)

    def _learn(self, X: Array, problem: Problem) -> None:
        known, seen = ~problem.asked, problem.seen
        A = unit_semantics(problem.semantics)
        sums, counts = labeled_class_sums(X, problem.labels, problem.n_classes)
        mean_x, mean_a = known.sum() / X.shape[1], seen.sum() / A.shape[1]
        dual = two_sided_ridge(gram(X[known]), sums[seen], A[seen], self.gamma * mean_x, self.lam * mean_a)
        bilinear = A @ A[seen].T @ dual
        if not problem.asked.any() or seen.all():
            self._store_linear(bilinear)
            return
        pool, allowed = X[problem.asked], problem.allowed
        means = unit_rows(sums / np.maximum(counts, 1)[:, None])
        instance = bilinear[allowed] / max(float((pool @ bilinear[allowed].T).std()), 1e-12)
        centers, fixed = match_by_score(pool, instance, self.random_state), seen[allowed]
        centers[fixed] = means[allowed][fixed]
        for _ in range(self.n_iter):
            spread = max(float((pool @ centers.T).std()), 1e-12)
            classifiers = centers / spread + self.trust * instance
            chosen = (pool @ classifiers.T).argmax(axis=1)
            sums, counts = labeled_class_sums(pool, chosen, len(centers))
            moved = ~fixed & (counts > 0)
            centers[moved] = unit_rows(sums[moved])
        whole = np.zeros_like(bilinear)
        whole[allowed] = classifiers
        self._store_linear(whole)


def match_by_score(pool: Array, classifiers: Array, random_state: Any) -> Array:
    """(n, d) unit cluster centers of the pool, put to the classes that score highest in total; else the class's own."""
    centers = unit_rows(raw_centers(pool, len(classifiers), random_state))
    clusters, classes = linear_sum_assignment(centers @ classifiers.T, maximize=True)
    matched = unit_rows(classifiers)
    matched[classes] = centers[clusters]
    return matched
