"""Classifiers and exemplars synthesized from those of similar classes: SynC and EXEM."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from scipy.special import softmax

from superproto.baselines.base import Baseline, LinearBaseline
from superproto.baselines.gaussians import nearest_scores
from superproto.baselines.losses import (
    minimize_linear,
    squared_hinge,
    structured_hinge,
    with_constant,
    without_constant,
)
from superproto.baselines.start import (
    class_means,
    class_variances,
    description_kernel,
    median_squared_distance,
    squared_distances,
    unit_semantics,
)
from superproto.inputs import Problem
from superproto.rows import Array
from superproto.whitening import unit_rows


def similarities(A: Array, A_seen: Array, sharpness: float) -> Array:
    """(C, m) row softmax of −sharpness ||a − a'||² / median: how each class is mixed from the phantom classes."""
    distances = squared_distances(A, A_seen) / median_squared_distance(A_seen)
    return np.asarray(softmax(-sharpness * distances, axis=1))


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
        As everywhere in the zoo; nothing here is random.
    """

    _positive: ClassVar[tuple[str, ...]] = ("sharpness", "max_iter")
    _nonnegative: ClassVar[tuple[str, ...]] = ("ridge",)
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": ("one-vs-all", "struct")}

    def __init__(
        self,
        loss: str = "struct",
        ridge: float = 3e-4,
        sharpness: float = 0.3,
        normalize: bool = True,
        max_iter: int = 100,
        *,
        candidates: Any = "unseen",
        whiten: bool | float = False,
        random_state: Any = None,
        seen_bias: float = 0.0,
    ) -> None:
        self.loss = loss
        self.ridge = ridge
        self.sharpness = sharpness
        self.normalize = normalize
        self.max_iter = max_iter
        self.candidates = candidates
        self.whiten = whiten
        self.random_state = random_state
        self.seen_bias = seen_bias

    def _learn(self, X: Array, problem: Problem) -> None:
        known, seen, A = ~problem.asked, problem.seen, unit_semantics(problem.semantics)
        mean = X[known].mean(axis=0, dtype=np.float64)
        columns = (np.cumsum(seen) - 1)[problem.labels[known]]
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


class EXEM(Baseline):
    """Predicted exemplars: support vector regression from descriptions to the class means of PCA features.

    One ν-SVR with the kernel ``exp(−||a − a'||² / (width · median))`` for each principal direction predicts the
    exemplar of an unseen class; a sample goes to the nearest exemplar, by Euclidean distance ("1nn") or with every
    direction divided by its mean standard deviation within seen classes ("standardized").

    Left open in the source, which tunes C, γ and ν for each data set: distances of descriptions are in units of their
    median, each direction's targets are divided by the spread of all, and one default serves.

    Reference: Changpinyo, Chao and Sha, "Predicting visual exemplars of unseen classes for zero-shot learning", ICCV
    2017. Published (GoogLeNet, standard split): AwA 77.2, CUB 59.8, SUN 69.6.

    Parameters
    ----------
    distance : {"1nn", "standardized"}, default="1nn"
        How samples and exemplars are compared.
    n_components : int, default=500
        Principal directions kept, at most as many as there are.
    C : float, default=30.0
        Of the SVR. Grows: seen class means are met more closely.
    nu : float, default=0.5
        In (0, 1]. Grows: a narrower tube and more support vectors.
    width : float, default=5.0
        Of the kernel. Grows: more seen classes take part.
    candidates, whiten, random_state, seen_bias
        As everywhere in the zoo; nothing here is random.

    Attributes
    ----------
    axes_ : array of shape (d, p)
        Principal directions, divided by standard deviations when ``distance="standardized"``.
    exemplars_ : array of shape (C, p)
    """

    _positive: ClassVar[tuple[str, ...]] = ("n_components", "C", "nu", "width")
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"distance": ("1nn", "standardized")}

    def __init__(
        self,
        distance: str = "1nn",
        n_components: int = 500,
        C: float = 30.0,
        nu: float = 0.5,
        width: float = 5.0,
        *,
        candidates: Any = "unseen",
        whiten: bool | float = False,
        random_state: Any = None,
        seen_bias: float = 0.0,
    ) -> None:
        self.distance = distance
        self.n_components = n_components
        self.C = C
        self.nu = nu
        self.width = width
        self.candidates = candidates
        self.whiten = whiten
        self.random_state = random_state
        self.seen_bias = seen_bias

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
