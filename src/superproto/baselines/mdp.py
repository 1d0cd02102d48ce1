"""FIT: MDP, centers from sparse codes of descriptions, then a mixture of the unlabeled samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from superproto.baselines._shared.gaussians import (
    GaussianClasses,
    Gaussians,
    cluster_pool,
    even_weights,
    nearest_scores,
    refine_on_pool,
    seen_gaussians,
)
from superproto.baselines._shared.predicted_prototypes import sparse_weights, unit_semantics
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array


@dataclass(eq=False, repr=False)
class MDP(GaussianClasses):
    """Zero-shot learning as a missing data problem: centers from sparse codes of descriptions, then a mixture.

    The code of an unseen class is ``c_u = argmin ½‖a_u − c A_s‖² + λ|c|₁``. Its center is ``c_u M_s``, with M_s the
    seen class means, and its variance is predicted likewise. K-means, or EM for a Gaussian mixture, starts there on the
    unlabeled samples. Cluster u keeps the identity of class u.

    Parameters
    ----------
    sparsity : float, default=0.003
        λ in [0, 1). Larger: fewer seen classes make up an unseen one.
    mixture : {"kmeans", "gmm"}, default="kmeans"
        What clusters the unlabeled samples.
    floor : float, default=3.0
        For "gmm": added to all variances, in units of their mean. Larger: closer to the Euclidean distance.
    max_iter : int, default=100
        Largest number of iterations. Larger: farther from the start.
    tol : float, default=1e-3
        For "gmm": EM stops when the mean log-likelihood of a sample rises by less. Larger: stops earlier.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. Nothing is random.

    Attributes
    ----------
    means_, variances_ : arrays of shape (C, d)
        Centers and variances of all classes.
    n_iter_ : int
        Iterations of the mixture.

    Notes
    -----
    The paper reduces features by PCA and has λ = 0.5 in a unit that it does not name. Here there is no PCA. λ is
    relative to the largest <a_s, a_u>, where all codes vanish. K-means was chosen as the default on validation classes.
    Labeled samples stay in their class when seen classes are candidates. No published figure was at hand.

    References
    ----------
    Zhao, Wu, Wu and Wang, "Zero-shot learning posed as a missing data problem", ICCV workshops 2017.
    """

    method_key = "mdp"

    sparsity: float = 0.003
    mixture: str = "kmeans"
    floor: float = 3.0
    max_iter: int = 100
    tol: float = 1e-3

    _positive: ClassVar[tuple[str, ...]] = ("floor", "max_iter")
    _nonnegative: ClassVar[tuple[str, ...]] = ("sparsity",)
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"mixture": ("kmeans", "gmm")}

    def _learn(self, X: Array, problem: Problem) -> None:
        A, seen = unit_semantics(problem.semantics), problem.seen
        means, variances, floor = seen_gaussians(X, problem, self.floor)
        codes = sparse_weights(A[seen], A[~seen], self.sparsity)
        means[~seen] = codes @ means[seen]
        # Codes may be negative or sum to less than 1, so variances take their shares.
        shares = np.abs(codes) + 1e-12
        variances[~seen] = shares / shares.sum(axis=1, keepdims=True) @ variances[seen]
        start = Gaussians(means, variances, even_weights(problem.n_classes))
        if self.mixture == "gmm":
            model, self.n_iter_ = refine_on_pool(X, problem, start, floor, self.max_iter, self.tol)
        else:
            model, self.n_iter_ = cluster_pool(X, problem, start, self.max_iter)
        self._store(model)

    def _score(self, X: Array) -> Array:
        return nearest_scores(X, self.means_) if self.mixture == "kmeans" else super()._score(X)
