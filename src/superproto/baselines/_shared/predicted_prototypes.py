"""What most methods start from: unit descriptions, class means, and prototypes predicted from descriptions.

    P_u = K_us (K_ss + ridge m⁻¹ tr(K_ss) I)⁻¹ P_s        K the linear or RBF kernel of the descriptions, m seen classes

It is here once, so that two methods that are said to start alike do.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from superproto.estimator.kernel_ridge import solve_ridge
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import sums_by_class, unit_rows

RIDGE = 0.1
# Added to every ridge, so that a ridge of 0 leaves no singular system.
LEAST_RIDGE = 1e-10
KERNELS = ("linear", "rbf")


def unit_semantics(semantics: Array) -> Array:
    """(C, k) descriptions at length 1, so that 0..1, 0..100 and signed embeddings mean the same; zero rows stay."""
    return unit_rows(np.asarray(semantics, dtype=np.float64))


def labeled_class_sums(X: Array, labels: Array, n_classes: int) -> tuple[Array, Array]:
    """(C, d) sum of the rows of each class, in float64, and (C,) their number. Label -1 is left out."""
    sums = sums_by_class(X, labels, np.ones(len(X)), n_classes)
    return sums.astype(np.float64, copy=False), np.bincount(labels[labels >= 0], minlength=n_classes)


def class_means(X: Array, labels: Array, n_classes: int) -> Array:
    """(C, d) mean row of each class, in float64; 0 for a class without samples. Label -1 is left out."""
    sums, counts = labeled_class_sums(X, labels, n_classes)
    return sums / np.maximum(counts, 1)[:, None]


def class_variances(X: Array, labels: Array, means: Array) -> Array:
    """(C, d) biased variance of each feature within each class; 0 for a class without samples."""
    known = labels >= 0
    deviations = X[known] - means[labels[known]]
    return class_means(deviations * deviations, labels[known], len(means))


def squared_distances(left: Array, right: Array) -> Array:
    """||l_i − r_j||², never negative."""
    left, right = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    gram = -2 * left @ right.T
    return np.maximum(gram + (left * left).sum(axis=1)[:, None] + (right * right).sum(axis=1), 0)


def median_squared_distance(rows: Array) -> float:
    """Median of ||a_i − a_j||² over pairs of different rows: the width that needs no tuning. 1 where there is none."""
    distances = squared_distances(rows, rows)[np.triu_indices(len(rows), 1)]
    return float(np.median(distances)) or 1.0 if len(distances) else 1.0


def description_kernel(left: Array, right: Array, kernel: str, width: float) -> Array:
    """<a, a'>, or exp(−||a − a'||² / width)."""
    if kernel == "linear":
        return np.asarray(left @ right.T)
    return np.asarray(np.exp(-squared_distances(left, right) / width))


def transfer_weights(A_seen: Array, A_unseen: Array, ridge: float = RIDGE, kernel: str = "linear") -> Array:
    """(n, m) K_us (K_ss + ridge m⁻¹ tr(K_ss) I)⁻¹: how each unseen class is mixed from the seen ones."""
    width = median_squared_distance(A_seen)
    seen = description_kernel(A_seen, A_seen, kernel, width)
    across = description_kernel(A_unseen, A_seen, kernel, width)
    return solve_ridge(seen, across.T, ridge + LEAST_RIDGE).T


def predict_unseen_prototypes(
    means_seen: Array, A_seen: Array, A_unseen: Array, ridge: float = RIDGE, kernel: str = "linear"
) -> Array:
    """(n, d) kernel ridge from descriptions to class means: P_u = K_us (K_ss + ridge m⁻¹ tr(K_ss) I)⁻¹ P_s."""
    return np.asarray(transfer_weights(A_seen, A_unseen, ridge, kernel) @ means_seen)


def start_prototypes(X: Array, problem: Problem, ridge: float = RIDGE, kernel: str = "linear") -> Array:
    """(C, d) the start of a fit: means of the labeled rows for seen classes, predicted prototypes for unseen ones."""
    prototypes = class_means(X, problem.labels, problem.n_classes)
    A, seen = unit_semantics(problem.semantics), problem.seen
    if not seen.all():
        prototypes[~seen] = predict_unseen_prototypes(prototypes[seen], A[seen], A[~seen], ridge, kernel)
    return prototypes


def sparse_weights(A_seen: Array, A_unseen: Array, sparsity: float, max_iter: int = 5000, tol: float = 1e-6) -> Array:
    """(n, m) the c_u of min ½||a_u − c_u A_s||² + sparsity · max|A_s a_u| · |c_u|₁: a few seen classes for each unseen
    one.

    At sparsity 1 nothing is left; the penalty is relative to that for each class, so it means the same on every pack.
    Accelerated proximal gradient, restarted where the objective would rise, for all unseen classes at once.
    """
    gram, cross = A_seen @ A_seen.T, A_unseen @ A_seen.T
    step = 1 / max(float(linalg.eigvalsh(gram, check_finite=False)[-1]), np.finfo(np.float64).tiny ** 0.5)
    penalty = sparsity * np.abs(cross).max(axis=1, keepdims=True)
    weights = ahead = np.zeros_like(cross)
    momentum = 1.0
    for _ in range(max_iter):
        moved = ahead - step * (ahead @ gram - cross)
        new = np.sign(moved) * np.maximum(np.abs(moved) - step * penalty, 0)
        change = new - weights
        if np.abs(change).max(initial=0.0) <= tol:
            return new
        if float(((ahead - new) * change).sum()) > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead, weights, momentum = new + (momentum - 1) / following * change, new, following
    return weights
