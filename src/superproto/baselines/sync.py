"""FIT: SynC, classifiers synthesized from those of similar classes."""

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

    The classifier of class c is ``w_c = Σ_r s_cr v_r`` with ``s_c = softmax_r(−sharpness ‖a_c − b_r‖²)``. The phantom
    classes b_r are at the seen descriptions. The seen classifiers W_s minimize ``loss(X W_sᵀ) + ridge/2 ‖W_s‖²``. Then
    ``V = S_ss⁻¹ W_s`` gives the unseen ones, ``W_u = S_us V``.

    Parameters
    ----------
    loss : {"one-vs-all", "struct"}, default="struct"
        Loss of the seen classifiers: a squared hinge for each class, or a margin that is the distance of descriptions.
    ridge : float, default=3e-4
        Larger: smoother classifiers. The loss is a mean over samples, so the ridge means the same on every data set.
    sharpness : float, default=0.3
        Larger: an unseen class is made of its nearest seen classes only.
    normalize : bool, default=True
        Scale every classifier to length 1 and drop its offset, so that no class wins by its size. False: as in the
        paper.
    max_iter : int, default=100
        Largest number of L-BFGS steps. Larger: a closer minimum.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. Nothing is random.

    Attributes
    ----------
    classifiers_, offsets_ : arrays of shape (C, d) and (C,)
        Scores are ``x · w_c + b_c``.

    Notes
    -----
    The paper has a third loss, that of Crammer and Singer. Here the structured loss is squared, and L-BFGS minimizes
    both. Distances are in units of their median; samples are centered and have a constant feature. ``normalize`` was
    chosen on validation classes. Published (ResNet-101, proposed split, Xian et al. 2019): CUB 55.6, AWA1 54.0, SUN
    56.3, aPY 23.9.

    References
    ----------
    Changpinyo, Chao, Gong and Sha, "Synthesized classifiers for zero-shot learning", CVPR 2016.
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
