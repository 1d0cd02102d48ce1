"""FIT: ConSE, the mean description of the most probable seen classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from superproto.baselines._shared.losses import cross_entropy, minimize_linear, with_constant, without_constant
from superproto.baselines._shared.predicted_prototypes import unit_semantics
from superproto.baselines.base import Baseline
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


@dataclass(eq=False, repr=False)
class ConSE(Baseline):
    """Convex combination of semantic embeddings: the mean description of the most probable seen classes.

    A sample is at ``f(x) = Σ_t p(y_t | x) a_{y_t} / Σ_t p(y_t | x)``, a sum over the ``n_top`` most probable seen
    classes. The probabilities are those of a multinomial logistic regression. The score of class c is
    ``cos(f(x), a_c)``.

    Parameters
    ----------
    ridge : float, default=1e-4
        Ridge of the regression. Larger: softer probabilities, more seen classes contribute.
    n_top : int, default=10
        Seen classes in the mean. Larger: steadier but less specific.
    max_iter : int, default=100
        Largest number of L-BFGS steps. Larger: a closer minimum.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. Nothing is random.

    Attributes
    ----------
    weights_, biases_ : arrays of shape (m, d) and (m,)
        The classifier of the seen classes.

    Notes
    -----
    The paper uses the softmax of a trained network; here it is trained on the features. Descriptions have length 1 and
    are centered at the mean of the seen ones. Published (ResNet-101, proposed split; quoted from memory of Xian et al.
    2019): CUB 34.3, AWA1 45.6, SUN 38.8, aPY 26.9.

    References
    ----------
    Norouzi, Mikolov, Bengio et al., "Zero-shot learning by convex combination of semantic embeddings", ICLR 2014.
    """

    method_key = "conse"

    ridge: float = 1e-4
    n_top: int = 10
    max_iter: int = 100

    _positive: ClassVar[tuple[str, ...]] = ("n_top", "max_iter")
    _nonnegative: ClassVar[tuple[str, ...]] = ("ridge",)

    def _learn(self, X: Array, problem: Problem) -> None:
        known, seen, A = ~problem.asked, problem.seen, unit_semantics(problem.semantics)
        mean = X[known].mean(axis=0, dtype=np.float64)
        columns = problem.seen_columns(known)
        rows = with_constant(X[known], mean)
        learned, self.n_iter_ = minimize_linear(
            rows, cross_entropy(columns), int(seen.sum()), self.ridge, self.max_iter
        )
        self.weights_, self.biases_ = without_constant(learned, mean)
        self.descriptions_ = A - A[seen].mean(axis=0) if seen.sum() > 1 else A

    def _score(self, X: Array) -> Array:
        logits = X @ self.weights_.T.astype(X.dtype) + self.biases_.astype(X.dtype)
        if self.n_top < logits.shape[1]:
            least = np.partition(logits, -self.n_top, axis=1)[:, -self.n_top][:, None]
            logits = np.where(logits >= least, logits, -np.inf)
        mixed = softmax(logits, axis=1) @ self.descriptions_[self.seen_classes_]
        return unit_rows(mixed) @ unit_rows(self.descriptions_).T
