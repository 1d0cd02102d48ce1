"""The start: predicted prototypes of classes that have no samples, and the first super-prototypes."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.optimize import linear_sum_assignment

from superproto.rows import Array
from superproto.solver.blocks import project_rows

RIDGE = 0.1


def predict_prototypes(A_known: Array, P_known: Array, A_asked: Array, ridge: float = RIDGE) -> Array:
    """Kernel ridge from descriptions to prototypes: A_u A_s' (A_s A_s' + ridge tr(A_s A_s') / m I)^-1 P_s."""
    kernel = A_known @ A_known.T
    kernel[np.diag_indices_from(kernel)] += ridge * np.trace(kernel) / len(kernel)
    return np.asarray((A_asked @ A_known.T) @ linalg.solve(kernel, P_known, assume_a="pos", check_finite=False))


def predict_left_out(A_known: Array, P_known: Array, ridge: float = RIDGE) -> Array:
    """For each known class the same prediction from all the others: P - (K + r I)^-1 P / diag (K + r I)^-1."""
    kernel = A_known @ A_known.T
    kernel[np.diag_indices_from(kernel)] += ridge * np.trace(kernel) / len(kernel)
    inverse = linalg.inv(kernel, check_finite=False)
    return np.asarray(P_known - (inverse @ P_known) / np.diag(inverse)[:, None])


def first_super_prototypes(
    P_s: Array, A_s: Array, P_u: Array, A_u: Array, q: int, lam: float, random_state: int | None
) -> tuple[Array, Array]:
    """(q, d) and (q, k): the seen classes themselves for q = m, joint K-means of them below, plus unseen ones above."""
    m = len(P_s)
    if q == m:
        return project_rows(P_s), project_rows(A_s)
    if q < m:
        return _clustered(P_s, A_s, q, lam, random_state)
    more_v, more_c = _clustered(P_u, A_u, q - m, lam, random_state) if q < m + len(P_u) else (P_u, A_u)
    return project_rows(np.concatenate([P_s, more_v])), project_rows(np.concatenate([A_s, more_c]))


def _clustered(P: Array, A: Array, q: int, lam: float, random_state: int | None) -> tuple[Array, Array]:
    """K-means of the rows [P, sqrt(lam) A] jointly: the same clusters averaged in both spaces."""
    from sklearn.cluster import KMeans

    joint = np.concatenate([P, np.sqrt(lam) * A], axis=1)
    clusters = KMeans(n_clusters=q, n_init=10, random_state=random_state).fit_predict(joint)
    member = np.eye(q)[clusters]
    member /= member.sum(axis=0)
    return project_rows(member.T @ P), project_rows(member.T @ A)


def cluster_prototypes(X: Array, predicted: Array, method: str, random_state: int | None) -> Array:
    """Cluster centers of the pool, matched one to one to the predicted prototypes; unmatched classes keep theirs."""
    from sklearn.cluster import AffinityPropagation, KMeans

    if method == "kmeans":
        n = min(len(predicted), len(X))
        centers = KMeans(n_clusters=n, n_init=10, random_state=random_state).fit(X).cluster_centers_
    else:
        rows = X if len(X) <= 4000 else X[np.random.default_rng(random_state).choice(len(X), 4000, replace=False)]
        found = AffinityPropagation(damping=0.9, max_iter=400, random_state=random_state).fit(rows)
        groups = found.labels_
        if groups.min() < 0:
            return predicted
        member = np.eye(groups.max() + 1)[groups]
        centers = (member.T @ rows) / member.sum(axis=0)[:, None]
    distance = ((predicted[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    classes, clusters = linear_sum_assignment(distance)
    start = predicted.copy()
    start[classes] = centers[clusters]
    return start
