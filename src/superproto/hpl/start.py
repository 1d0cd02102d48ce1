"""The start: predicted prototypes of classes that have no samples, and the first super-prototypes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from superproto.errors import UserError
from superproto.hpl.objective.dictionary import project_rows
from superproto.hpl.objective.formulations import State
from superproto.hpl.objective.sphere import normalized
from superproto.samples.chunks import Array
from superproto.samples.whitening import Metric


def first_super_prototypes(
    P_s: Array, A_s: Array, P_u: Array, A_u: Array, q: int, lam: float, random_state: int | None
) -> tuple[Array, Array]:
    """(q, d) and (q, k): the seen classes themselves for q = m, joint K-means of them below, plus unseen ones above."""
    m = len(P_s)
    if q == m:
        return project_rows(P_s), project_rows(A_s)
    if q < m:
        return _cluster_super_prototypes(P_s, A_s, q, lam, random_state)
    more_v, more_c = _cluster_super_prototypes(P_u, A_u, q - m, lam, random_state) if q < m + len(P_u) else (P_u, A_u)
    return project_rows(np.concatenate([P_s, more_v])), project_rows(np.concatenate([A_s, more_c]))


def _cluster_super_prototypes(P: Array, A: Array, q: int, lam: float, random_state: int | None) -> tuple[Array, Array]:
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


def undo(metric: Metric, rows: Array) -> Array:
    """rows W⁻¹, of r I + B diag(g) B' by its eigenvalues."""
    if metric.matrix is not None:
        return np.asarray(np.linalg.solve(metric.matrix.T, rows.T).T)
    if metric.basis is None or metric.gains is None:
        return rows
    change = 1 / (metric.rest + metric.gains) - 1 / metric.rest
    return np.asarray(rows / metric.rest + ((rows @ metric.basis) * change) @ metric.basis.T)


def continue_from(state: State, previous: Any, names: Array, allowed: Array, metric: Metric, unit: bool) -> State:
    """The state with what the earlier model knows of the classes that are still there."""
    _check_earlier_model(previous, state.P.shape[1])
    if previous.metric_.root != metric.root:
        return state
    row_of = {name: row for row, name in enumerate(previous.classes_.tolist())}
    pairs = [(row, row_of[name]) for row, name in enumerate(names.tolist()) if name in row_of]
    if not pairs:
        raise UserError("init is a model of other classes: none of its class names occurs here. Leave init at 'means'.")
    here, there = (np.array(column) for column in zip(*pairs))
    if getattr(previous, "hold_", 0.0) > 0 and allowed[here].sum() == allowed.sum():
        state = state._replace(hold=previous.hold_, settled=True)
    P = state.P.copy()
    P[here] = _carried(previous.visual_prototypes_[there], previous.metric_, metric)
    state = state._replace(P=normalized(P, state.P) if unit else P)
    if unit and getattr(previous, "temperature_", 0.0) > 0:
        bias = np.zeros(len(names))
        bias[here] = previous.class_bias_[there] / previous.temperature_
        state = state._replace(log_scaling=bias[allowed])
    D_v, D_c = previous.visual_super_prototypes_, previous.semantic_super_prototypes_
    if D_v.shape != state.D_v.shape or D_c.shape != state.D_c.shape:
        return state
    Z = state.Z.copy()
    Z[here] = previous.codes_[there]
    carried = _carried(D_v, previous.metric_, metric)
    lengths = np.linalg.norm(carried, axis=1, keepdims=True)
    return state._replace(Z=Z, D_v=carried / np.maximum(lengths, 1), D_c=D_c.copy())


def _carried(rows: Array, old: Metric, new: Metric) -> Array:
    same = old.matrix is not None and new.matrix is not None and np.array_equal(old.matrix, new.matrix)
    return np.array(rows if same else new.forward(undo(old, rows)))


def _check_earlier_model(previous: Any, columns: int) -> None:
    missing = [name for name in ("visual_prototypes_", "metric_", "classes_") if not hasattr(previous, name)]
    if missing:
        raise UserError(f"init is {type(previous).__name__}, which is no fitted HPL. Give a model after its fit.")
    if previous.visual_prototypes_.shape[1] != columns:
        raise UserError(
            f"init was fitted with {previous.visual_prototypes_.shape[1]} features, but X has {columns}. "
            "Leave init at 'means'."
        )
