"""Classifiers and exemplars synthesized from those of similar classes: SynC and EXEM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg
from scipy.special import softmax

from superproto.baselines._shared.losses import (
    minimize_linear,
    squared_hinge,
    structured_hinge,
    with_constant,
    without_constant,
)
from superproto.baselines._shared.predicted_prototypes import median_squared_distance, squared_distances, unit_semantics
from superproto.baselines.base import LinearBaseline
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


def similarities(A: Array, A_seen: Array, sharpness: float) -> Array:
    """(C, m) row softmax of −sharpness ||a − a'||² / median: how each class is mixed from the phantom classes."""
    distances = squared_distances(A, A_seen) / median_squared_distance(A_seen)
    return np.asarray(softmax(-sharpness * distances, axis=1))


@dataclass(eq=False, repr=False)
class SynC(LinearBaseline):
    """Synthesized classifiers: linear classifiers of all classes as mixtures of phantom classifiers.

    ``w_c = Σ_r s_cr v_r``, ``s_c = softmax_r(−sharpness ||a_c − b_r||²)``, phantom classes b_r at the seen
    descriptions; V minimizes ``loss(X Wᵀ) + ridge/2 ||W_s||²`` over the seen classes. As many phantoms as seen classes
    make S square, so W_s is learned freely, ``V = S_ss⁻¹ W_s``, and ``W_u = S_us V``.

    Losses of the source: one-versus-all squared hinge ("ovo" in its code), Crammer-Singer, and the structured loss
    whose margin is the distance of descriptions. Here: the first and the last, the last squared. Left open: distances
    are in units of their median; rows are centered and get a constant feature; L-BFGS solves both. Mixtures of
    classifiers come in very different lengths, so they are compared at length 1: on validation classes worth 0 to 9
    points.

    Reference: Changpinyo, Chao, Gong and Sha, "Synthesized classifiers for zero-shot learning", CVPR 2016. Published
    (ResNet-101, proposed split, Xian et al. 2019): CUB 55.6, AWA1 54.0, SUN 56.3, aPY 23.9.

    Parameters
    ----------
    loss : {"one-vs-all", "struct"}, default="struct"
        What the classifiers of seen classes minimize.
    ridge : float, default=3e-4
        Grows: smoother classifiers. The loss is a mean over samples (and classes), so it means the same on every pack.
    sharpness : float, default=0.3
        Grows: an unseen class is made of its nearest seen classes alone.
    normalize : bool, default=True
        Bring every classifier to length 1 and leave out its offset, so that no class wins by its size. False: the
        source.
    max_iter : int, default=100
        At most so many L-BFGS steps.
    candidates, whiten, random_state, seen_bias
        As in every method; nothing here is random.
    """

    method_key = "sync"

    loss: str = "struct"
    ridge: float = 3e-4
    sharpness: float = 0.3
    normalize: bool = True
    max_iter: int = 100

    _positive: ClassVar[tuple[str, ...]] = ("sharpness", "max_iter")
    _nonnegative: ClassVar[tuple[str, ...]] = ("ridge",)
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": ("one-vs-all", "struct")}

    def _learn(self, X: Array, problem: Problem) -> None:
        known, seen, A = ~problem.asked, problem.seen, unit_semantics(problem.semantics)
        mean = X[known].mean(axis=0, dtype=np.float64)
        columns = problem.seen_columns(known)
        learned = self._seen_classifiers(with_constant(X[known], mean), columns, A[seen])
        mixing = similarities(A, A[seen], self.sharpness)
        weights = mixing @ linalg.lstsq(mixing[seen], learned, check_finite=False)[0]
        weights[seen] = learned
        if self.normalize:
            weights = np.column_stack([unit_rows(weights[:, :-1]), np.zeros(len(weights))])
        self._store_linear(*without_constant(weights, mean))

    def _seen_classifiers(self, X: Array, labels: Array, A: Array) -> Array:
        if self.loss == "one-vs-all":
            signs = np.where(labels[:, None] == np.arange(len(A)), 1, -1).astype(X.dtype)
            loss = squared_hinge(signs)
        else:
            loss = structured_hinge(labels, np.sqrt(squared_distances(A, A) / median_squared_distance(A)))
        weights, self.n_iter_ = minimize_linear(X, loss, len(A), self.ridge, self.max_iter)
        return weights
