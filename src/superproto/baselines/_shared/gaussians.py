"""Classes as diagonal Gaussians: log-likelihoods, and EM from predicted centers on the unlabeled rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from superproto.baselines._shared.predicted_prototypes import class_variances, labeled_class_sums
from superproto.baselines.base import Baseline
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array


class Gaussians(NamedTuple):
    """One diagonal Gaussian for each class: means (C, d), variances (C, d), log_weights (C,)."""

    means: Array
    variances: Array
    log_weights: Array


class Moments(NamedTuple):
    """What labeled rows contribute to each class: their number (C,), sum (C, d) and sum of squares (C, d)."""

    counts: Array
    sums: Array
    squares: Array


def log_joint(X: Array, model: Gaussians) -> Array:
    """(N, C) log π_c + log N(x; μ_c, diag σ²_c), less the constant d/2 log 2π; −½ Σ (x² − 2xμ + μ²)/σ² + log σ²."""
    precision = 1 / model.variances
    constant = (model.means**2 * precision + np.log(model.variances)).sum(axis=1)
    quadratic = (X * X) @ precision.T.astype(X.dtype) - 2 * (X @ (model.means * precision).T.astype(X.dtype))
    return np.asarray(model.log_weights - 0.5 * (quadratic + constant))


def maximize(X: Array, responsibilities: Array, labeled: Moments, floor: float, old: Gaussians) -> Gaussians:
    """The M step: weighted means and variances (plus floor) over pool and labeled rows; weights are the pool's alone.

    A class that holds nothing keeps its old Gaussian, so that it can still win samples later.
    """
    R = responsibilities.astype(X.dtype)
    shares = responsibilities.sum(axis=0) + 10 * np.finfo(np.float64).eps
    mass = (shares + labeled.counts)[:, None]
    means = (R.T @ X + labeled.sums) / mass
    variances = np.maximum((R.T @ (X * X) + labeled.squares) / mass - means**2, 0) + floor
    held = mass > 1e-6
    weights = np.log(shares / shares.sum())
    return Gaussians(np.where(held, means, old.means), np.where(held, variances, old.variances), weights)


def expectation_maximization(
    X: Array, start: Gaussians, labeled: Moments, floor: float, max_iter: int, tol: float
) -> tuple[Gaussians, int]:
    """EM from ``start`` until the mean log-likelihood of the pool rises by less than tol; model and iterations."""
    model, before = start, -np.inf
    for iteration in range(1, max_iter + 1):
        joint = log_joint(X, model)
        now = float(np.mean(logsumexp(joint, axis=1)))
        if now - before < tol:
            return model, iteration
        model, before = maximize(X, softmax(joint, axis=1), labeled, floor, model), now
    return model, max_iter


def lloyd(X: Array, centers: Array, labeled: Moments, max_iter: int) -> tuple[Array, int]:
    """K-means from given centers, labeled rows kept in their class; an empty class keeps its center."""
    labels = np.full(len(X), -1)
    for iteration in range(1, max_iter + 1):
        new = nearest_scores(X, centers).argmax(axis=1)
        if np.array_equal(new, labels):
            return centers, iteration
        labels = new
        members = np.eye(len(centers), dtype=X.dtype)[labels]
        mass = (members.sum(axis=0, dtype=np.float64) + labeled.counts)[:, None]
        centers = np.where(mass > 0, (members.T @ X + labeled.sums) / np.maximum(mass, 1), centers)
    return centers, max_iter


def nearest_scores(X: Array, centers: Array) -> Array:
    """(N, C) <x, c> − ½||c||²: the order of −||x − c||² without the part that all classes share."""
    return X @ centers.T.astype(X.dtype) - 0.5 * (centers**2).sum(axis=1).astype(X.dtype)


def even_weights(n_classes: int) -> Array:
    """(C,) log 1/C."""
    return np.full(n_classes, -np.log(n_classes))


def seen_gaussians(X: Array, problem: Problem, floor: float) -> tuple[Array, Array, float]:
    """Means and variances (plus the floor) of the seen classes, zeros elsewhere, and the floor in feature units."""
    sums, counts = labeled_class_sums(X, problem.labels, problem.n_classes)
    means = sums / np.maximum(counts, 1)[:, None]
    variances = class_variances(X, problem.labels, means)
    within = counts @ variances / counts.sum()
    # Features that never vary within a class, as with one sample each, still need a finite likelihood.
    absolute = floor * float(within.mean()) + 1e-9
    return means, variances + absolute * problem.seen[:, None], absolute


def labeled_moments(X: Array, problem: Problem) -> Moments:
    """Moments of the labeled rows of the candidate classes, summed in the precision of X; 0 for unseen classes."""
    sums, counts = labeled_class_sums(X, problem.labels, problem.n_classes)
    squares, _ = labeled_class_sums(X * X, problem.labels, problem.n_classes)
    return Moments(*(part[problem.allowed] for part in (counts, sums, squares)))


def refine_on_pool(
    X: Array, problem: Problem, start: Gaussians, floor: float, max_iter: int, tol: float
) -> tuple[Gaussians, int]:
    """EM on the pool over the candidate classes; without a pool, the start."""
    open_classes = problem.allowed
    if not problem.asked.any():
        return start, 1
    part = Gaussians(start.means[open_classes], start.variances[open_classes], even_weights(int(open_classes.sum())))
    labeled = labeled_moments(X, problem)
    model, steps = expectation_maximization(X[problem.asked], part, labeled, floor, max_iter, tol)
    whole = Gaussians(start.means.copy(), start.variances.copy(), start.log_weights.copy())
    for target, value in zip(whole, model):
        target[open_classes] = value
    return whole, steps


def cluster_pool(X: Array, problem: Problem, start: Gaussians, max_iter: int) -> tuple[Gaussians, int]:
    """K-means on the pool over the candidate classes; without a pool, the start."""
    if not problem.asked.any():
        return start, 1
    means = start.means.copy()
    centers, steps = lloyd(X[problem.asked], means[problem.allowed], labeled_moments(X, problem), max_iter)
    means[problem.allowed] = centers
    return Gaussians(means, start.variances, start.log_weights), steps


class GaussianClasses(Baseline):
    """Shared by the methods of this file: fitted Gaussians and their scores."""

    means_: Array
    variances_: Array
    log_weights_: Array

    def _store(self, model: Gaussians) -> None:
        self.means_, self.variances_, self.log_weights_ = model

    def _score(self, X: Array) -> Array:
        return log_joint(X, Gaussians(self.means_, self.variances_, self.log_weights_)).astype(X.dtype, copy=False)
