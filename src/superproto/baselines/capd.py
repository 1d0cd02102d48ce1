"""FIT: CAPD, for each seen class its own direction among the descriptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import nnls

from superproto.baselines._shared.losses import logistic, minimize_linear, with_constant
from superproto.baselines._shared.predicted_prototypes import unit_semantics
from superproto.baselines.base import LinearBaseline
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


@dataclass(eq=False, repr=False)
class CAPD(LinearBaseline):
    """Class adapting principal directions: each seen class maps a sample to its own direction among the descriptions.

    The direction ``p_s(x) = W_sᵀ x`` should be along the description e_s for samples of class s, and not for others.
    W_s minimizes ``Σ_i w_i log(1 + exp L_i) + ridge/2 ‖W_s‖²``. L_i is ``<p_s, ē_{−s} − e_s>`` for samples of s, with
    ē_{−s} the mean of the other descriptions, and ``<p_s, e_s>`` for the rest. An unseen class combines directions as
    its description combines descriptions, ``e_u ≈ Σ_s θ_us e_s``, and scores ``<Σ_s θ_us p_s, e_u>``.

    Parameters
    ----------
    ridge : float, default=0.01
        Larger: smoother maps.
    combination_ridge : float, default=0.1
        Larger: an unseen class uses more seen classes, more evenly.
    max_iter : int, default=50
        Largest number of L-BFGS steps. Larger: a closer minimum.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. Nothing is random.

    Attributes
    ----------
    classifiers_, offsets_ : arrays of shape (C, d) and (C,)
        Scores are ``x · w_c + b_c``.

    Notes
    -----
    W_s stays in the span of e_s and ē_{−s}, so two vectors replace a (d, k) matrix exactly. The paper only outlines the
    rest. Here θ is a non-negative ridge regression, whose zeros select the seen classes. Samples of s and all others
    have the same total weight. Samples are centered, a seen class scores ``<p_s, e_s>``, and classifiers have length 1.
    Published (ResNet, proposed split): CUB 53.8, AWA1 52.6, SUN 49.7, aPY 39.3.

    References
    ----------
    Rahman, Khan and Porikli, "A unified approach for conventional zero-shot, generalized zero-shot, and few-shot
    learning", TIP 2018.
    """

    method_key = "capd"

    ridge: float = 0.01
    combination_ridge: float = 0.1
    max_iter: int = 50

    _positive: ClassVar[tuple[str, ...]] = ("max_iter",)
    _nonnegative: ClassVar[tuple[str, ...]] = ("ridge", "combination_ridge")

    def _learn(self, X: Array, problem: Problem) -> None:
        known, seen, A = ~problem.asked, problem.seen, unit_semantics(problem.semantics)
        mean = X[known].mean(axis=0, dtype=np.float64)
        columns = problem.seen_columns(known)
        bases = direction_bases(A[seen])
        maps = self._fit_maps(with_constant(X[known], mean), columns, A[seen], bases)
        own = np.einsum("std,stk,sk->sd", maps, bases, A[seen])
        weights = np.zeros((problem.n_classes, own.shape[1]))
        weights[seen] = own
        if not seen.all():
            theta = nonnegative_weights(A[seen], A[~seen], self.combination_ridge)
            along = np.einsum("stk,uk->ust", bases, A[~seen])
            weights[~seen] = np.einsum("us,ust,std->ud", theta, along, maps, optimize=True)
        classifiers = unit_rows(weights[:, :-1])
        self._store_linear(classifiers, -classifiers @ mean)

    def _fit_maps(self, X: Array, labels: Array, A: Array, bases: Array) -> Array:
        """(m, 2, d) W_sᵀ in the basis of class s, for all seen classes."""
        n_classes = len(A)
        own = labels[:, None] == np.arange(n_classes)
        toward = np.einsum("stk,sk->st", bases, A)
        away = np.einsum("stk,sk->st", bases, other_means(A) - A)
        slopes = np.where(own[:, :, None], away, toward).astype(X.dtype)
        balance = np.where(own, 0.5 / np.maximum(own.sum(axis=0), 1), 0.5 / np.maximum((~own).sum(axis=0), 1))
        flat, self.n_iter_ = minimize_linear(X, logistic(slopes, balance), 2 * n_classes, self.ridge, self.max_iter)
        return flat.reshape(n_classes, 2, X.shape[1])


def nonnegative_weights(A_seen: Array, A_unseen: Array, ridge: float) -> Array:
    """(n, m) the θ_u ≥ 0 of min ||a_u − θ_u A_s||² + ridge m⁻¹ tr(A_s A_sᵀ) ||θ_u||², many of them 0."""
    shift = np.sqrt(ridge * float((A_seen**2).sum()) / len(A_seen))
    system = np.vstack([A_seen.T, shift * np.eye(len(A_seen))])
    targets = np.hstack([A_unseen, np.zeros((len(A_unseen), len(A_seen)))])
    return np.array([nnls(system, target)[0] for target in targets]).reshape(len(A_unseen), len(A_seen))


def other_means(A: Array) -> Array:
    """(m, k) for each class the mean description of the others; 0 for a single class."""
    return np.asarray((A.sum(axis=0) - A) / max(len(A) - 1, 1))


def direction_bases(A: Array) -> Array:
    """(m, 2, k) an orthonormal basis of the span of e_s and ē_{−s} for each class; a zero row where parallel."""
    first = unit_rows(A)
    rest = other_means(A)
    rest = rest - (rest * first).sum(axis=1, keepdims=True) * first
    lengths = np.linalg.norm(rest, axis=1, keepdims=True)
    return np.stack([first, np.where(lengths > 1e-10, rest / np.maximum(lengths, 1e-300), 0)], axis=1)
