"""FIT: K-means of the unlabeled samples, started at predicted prototypes; the simplest transductive method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from superproto.baselines._shared.class_vectors import first_vectors
from superproto.baselines._shared.gaussians import labeled_moments, lloyd, nearest_scores
from superproto.baselines._shared.predicted_prototypes import KERNELS, RIDGE
from superproto.baselines.base import Baseline
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array


@dataclass(eq=False, repr=False)
class PrototypeKMeans(Baseline):
    """K-means of the unlabeled samples, one cluster for each candidate class, started at predicted prototypes.

    Lloyd's algorithm alternates ``label_i = argmin_j ‖x_i − c_j‖²`` and ``c_j = mean of the samples labeled j`` until
    no label changes. The first centers are the unit prototypes of ``prototypes``, and center j keeps the identity of
    class j. Labeled samples stay in their class when seen classes are candidates.

    Parameters
    ----------
    ridge : float, default=0.1
        Ridge of the first centers. Larger: unseen prototypes mix more seen classes, more evenly.
    kernel : {"linear", "rbf"}, default="linear"
        Kernel of the descriptions. "rbf" uses the nearest seen descriptions only.
    max_iter : int, default=100
        Largest number of iterations. Larger: farther from the start.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. Nothing is random.

    Attributes
    ----------
    centers_ : array of shape (C, d)
        Last centers; for other classes than the candidates, the first ones.
    n_iter_ : int
        Iterations until no label changed.

    Notes
    -----
    The method is folklore. An empty class keeps its center. Without any label, text embeddings in the space of the
    features are the first centers.

    References
    ----------
    Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 1982, for the algorithm.
    """

    method_key = "kmeans"

    ridge: float = RIDGE
    kernel: str = "linear"
    max_iter: int = 100

    _positive: ClassVar[tuple[str, ...]] = ("max_iter",)
    _nonnegative: ClassVar[tuple[str, ...]] = ("ridge",)
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"kernel": KERNELS}

    def _takes_texts(self) -> bool:
        return True

    def _learn(self, X: Array, problem: Problem) -> None:
        self.centers_ = first_vectors(X, problem, self.metric_, self.ridge, self.kernel)
        self.n_iter_ = 1
        if problem.asked.any():
            start, labeled = self.centers_[problem.allowed], labeled_moments(X, problem)
            self.centers_[problem.allowed], self.n_iter_ = lloyd(X[problem.asked], start, labeled, self.max_iter)

    def _score(self, X: Array) -> Array:
        return nearest_scores(X, self.centers_)
