"""FIT: EXEM, class means predicted from descriptions by support vector regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg

from superproto.baselines._shared.gaussians import nearest_scores
from superproto.baselines._shared.predicted_prototypes import (
    class_means,
    class_variances,
    description_kernel,
    median_squared_distance,
    unit_semantics,
)
from superproto.baselines.base import Baseline
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array


@dataclass(eq=False, repr=False)
class EXEM(Baseline):
    """Predicted visual exemplars: support vector regression from descriptions to class means of principal components.

    One ν-SVR for each principal component predicts the exemplar of an unseen class. Its kernel is
    ``exp(−‖a − a'‖² / (width · median))``. A sample receives the class of the nearest exemplar.

    Parameters
    ----------
    distance : {"1nn", "standardized"}, default="1nn"
        Euclidean distance, or with each component divided by its mean standard deviation within seen classes.
    n_components : int, default=500
        Largest number of principal components. Larger: keeps directions of smaller variance.
    C : float, default=30.0
        Of the SVR. Larger: meets the seen class means more closely.
    nu : float, default=0.5
        In (0, 1]. Larger: a narrower tube and more support vectors.
    width : float, default=5.0
        Width of the kernel. Larger: more seen classes contribute.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. Nothing is random.

    Attributes
    ----------
    axes_ : array of shape (d, p)
        Principal directions; divided by standard deviations with ``distance="standardized"``.
    exemplars_ : array of shape (C, p)
        The exemplars of all classes.

    Notes
    -----
    The paper tunes C, ν and the width for each data set. Here distances of descriptions are in units of their median,
    and targets are divided by the spread of all, so one default serves. Published (GoogLeNet, standard split): AwA
    77.2, CUB 59.8, SUN 69.6.

    References
    ----------
    Changpinyo, Chao and Sha, "Predicting visual exemplars of unseen classes for zero-shot learning", ICCV 2017.
    """

    method_key = "exem"

    distance: str = "1nn"
    n_components: int = 500
    C: float = 30.0
    nu: float = 0.5
    width: float = 5.0

    _positive: ClassVar[tuple[str, ...]] = ("n_components", "C", "nu", "width")
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"distance": ("1nn", "standardized")}

    def _learn(self, X: Array, problem: Problem) -> None:
        known, seen, A = ~problem.asked, problem.seen, unit_semantics(problem.semantics)
        self.center_ = X[known].mean(axis=0, dtype=np.float64)
        axes = principal_axes(X[known] - self.center_, self.n_components)
        reduced = (X[known] - self.center_) @ axes
        exemplars = class_means(reduced, problem.labels[known], problem.n_classes)
        if not seen.all():
            width = self.width * median_squared_distance(A[seen])
            kernel = description_kernel(A, A[seen], "rbf", width)
            exemplars[~seen] = regress_exemplars(kernel[seen], kernel[~seen], exemplars[seen], self.C, self.nu)
        spread = np.ones(axes.shape[1])
        if self.distance == "standardized":
            deviations = np.sqrt(class_variances(reduced, problem.labels[known], exemplars))[seen].mean(axis=0)
            spread = np.maximum(deviations, 1e-3 * deviations.max(initial=0.0) + 1e-12)
        self.axes_, self.exemplars_ = axes / spread, exemplars / spread

    def _score(self, X: Array) -> Array:
        return nearest_scores((X - self.center_.astype(X.dtype)) @ self.axes_.astype(X.dtype), self.exemplars_)


def principal_axes(centered: Array, n_components: int) -> Array:
    """(d, p) the directions of largest variance, from the smaller of the two Gram matrices."""
    n_rows, n_columns = centered.shape
    wide = n_rows < n_columns
    matrix = np.asarray(centered @ centered.T if wide else centered.T @ centered, dtype=np.float64)
    size = len(matrix)
    first = max(size - n_components, 0)
    values, vectors = linalg.eigh(matrix, subset_by_index=(first, size - 1), check_finite=False)
    kept = values > 1e-9 * max(float(values[-1]), np.finfo(np.float64).tiny)
    if not kept.any():
        return np.eye(n_columns, 1)
    vectors = vectors[:, kept]
    return np.asarray(centered.T @ vectors / np.sqrt(values[kept]) if wide else vectors)


def regress_exemplars(seen_kernel: Array, cross_kernel: Array, exemplars: Array, C: float, nu: float) -> Array:
    """(n, p) ν-SVR from descriptions to each coordinate of the exemplars; the mean where there is one seen class."""
    from sklearn.svm import NuSVR

    scale = float(exemplars.std()) if len(exemplars) > 1 else 0.0
    if scale == 0:
        return np.repeat(exemplars.mean(axis=0, keepdims=True), len(cross_kernel), axis=0)
    predicted = np.empty((len(cross_kernel), exemplars.shape[1]))
    machine = NuSVR(kernel="precomputed", C=C, nu=nu, cache_size=50)
    for column, targets in enumerate((exemplars / scale).T):
        predicted[:, column] = machine.fit(seen_kernel, targets).predict(cross_kernel)
    return predicted * scale
