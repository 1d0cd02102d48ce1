"""Where the iterations begin: first prototypes, codes and super-prototypes, or those of an earlier model (warm start).

Classes of an earlier model are matched by name. A prototype p lives in the metric of the fit that found it, p = v W, so
it is carried over as p W^-1 W': what it points at among the features stays, the metric in which it is seen is the new
one. The objective falls from any start; an earlier model shortens the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from superproto.errors import UserError
from superproto.hpl.fit_data import FitData
from superproto.hpl.objective.alignment import one_way_codes, scaled_code_ridge
from superproto.hpl.objective.dictionary import project_rows
from superproto.hpl.objective.sphere import normalized
from superproto.hpl.objective.state import Continuation, Objective, State
from superproto.hpl.parameters import Parameters, shares_given
from superproto.hpl.weights import Weights
from superproto.samples.chunks import Array
from superproto.samples.whitening import Metric


def first_states(data: FitData, predicted: Array, params: Parameters) -> tuple[State, State]:
    """A first state from the predicted prototypes (C, d), and the start: the same, or where an earlier model ended."""
    fresh = first_state(data, predicted, params)
    return fresh, continue_from(fresh, params.init, data, params.unit)


def first_state(data: FitData, predicted: Array, params: Parameters) -> State:
    """At the predicted prototypes (C, d), or at clusters of the unlabeled samples that are matched to them."""
    seen, A = data.seen, data.descriptions
    P = _start_prototypes(data, predicted, params)
    D_v, D_c = first_super_prototypes(P[seen], A[seen], P[~seen], A[~seen], params.q, params.lam, params.seed)
    columns = len(data.candidates)
    return State(
        P=P, Z=_first_codes(P, A, D_v, D_c, params), D_v=D_v, D_c=D_c, labels=np.zeros(0, dtype=np.int64),
        masses=np.zeros(len(P)), sums=np.zeros_like(P), log_scaling=np.zeros(columns),
        prior=_first_prior(params.prior, data.allowed, columns), confusion=0.0,
        continuation=Continuation(1.0, False, np.zeros(len(P)), np.zeros(len(P))),
    )  # fmt: skip


def possible_starts(objective: Objective, start: State, data: FitData, weights: Weights) -> list[State]:
    """The start; where unseen classes have a few labels, also one that is moved towards these, and one that is there.

    All with the same self-influence to subtract, so that their objectives compare.
    """
    seen, P = data.seen, start.P
    if not data.sums[~seen].any():
        return [start]
    start = objective.encoding.prepare(start)
    moved, weight = P.copy(), weights.of_description(weights.expected)
    moved[~seen] = normalized(weight * P[~seen] + data.sums[~seen], P[~seen])
    there = P.copy()
    there[~seen] = normalized(data.sums[~seen], P[~seen])
    return [start, start._replace(P=moved), start._replace(P=there)]


def _first_codes(P: Array, A: Array, D_v: Array, D_c: Array, params: Parameters) -> Array:
    """Zero in the paper; with unit prototypes those of the start: descriptions count from the first iteration."""
    Z = np.zeros((len(P), params.q))
    if not params.unit:
        return Z
    ridge = scaled_code_ridge(D_v, D_c, params.lam, params.code_ridge)
    return one_way_codes(P, A, Z, D_v, D_c, params.lam, ridge)


def _start_prototypes(data: FitData, predicted: Array, params: Parameters) -> Array:
    targets = data.allowed & ~data.seen
    if params.init not in ("kmeans", "affinity") or data.pool is None or not targets.any():
        return predicted
    P, X = predicted.copy(), data.pool.materialize().astype(np.float64)
    P[targets] = cluster_prototypes(X, P[targets], params.init, params.seed)
    return normalized(P, P) if params.unit else P


def _first_prior(prior: Any, allowed: Array, columns: int) -> Array:
    if prior is None or isinstance(prior, str):
        return np.full(columns, 1 / columns)
    return shares_given(prior, allowed)


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


def continue_from(state: State, init: Any, data: FitData, unit: bool) -> State:
    """The state with what an earlier model knows of the classes that are still there; itself where init is a name."""
    if isinstance(init, str):
        return state
    metric, allowed = data.labeled.metric, data.allowed
    _check_earlier_model(init, state.P.shape[1])
    if init.metric_.root != metric.root:
        return state
    here, there = _common_classes(init, data.names)
    if getattr(init, "hold_", 0.0) > 0 and allowed[here].sum() == allowed.sum():
        settled = state.continuation._replace(prior_strength=init.hold_, settled=True)
        state = state._replace(continuation=settled)
    P = state.P.copy()
    P[here] = _carried(init.visual_prototypes_[there], init.metric_, metric)
    state = state._replace(P=normalized(P, state.P) if unit else P)
    if unit and getattr(init, "temperature_", 0.0) > 0:
        bias = np.zeros(data.n_classes)
        bias[here] = init.class_bias_[there] / init.temperature_
        state = state._replace(log_scaling=bias[allowed])
    D_v, D_c = init.visual_super_prototypes_, init.semantic_super_prototypes_
    if D_v.shape != state.D_v.shape or D_c.shape != state.D_c.shape:
        return state
    Z = state.Z.copy()
    Z[here] = init.codes_[there]
    carried = _carried(D_v, init.metric_, metric)
    lengths = np.linalg.norm(carried, axis=1, keepdims=True)
    return state._replace(Z=Z, D_v=carried / np.maximum(lengths, 1), D_c=D_c.copy())


def _common_classes(previous: Any, names: Array) -> tuple[Array, Array]:
    """Rows of the classes that both fits have: here, and in the earlier model."""
    row_of = {name: row for row, name in enumerate(previous.classes_.tolist())}
    pairs = [(row, row_of[name]) for row, name in enumerate(names.tolist()) if name in row_of]
    if not pairs:
        raise UserError("init is a model of other classes: none of its class names occurs here. Leave init at 'means'.")
    here, there = (np.array(column) for column in zip(*pairs))
    return here, there


def _carried(rows: Array, old: Metric, new: Metric) -> Array:
    same = old.matrix is not None and new.matrix is not None and np.array_equal(old.matrix, new.matrix)
    return np.array(rows if same else new.forward(old.undo(rows)))


def _check_earlier_model(previous: Any, columns: int) -> None:
    missing = [name for name in ("visual_prototypes_", "metric_", "classes_") if not hasattr(previous, name)]
    if missing:
        raise UserError(f"init must be a fitted HPL model, got {type(previous).__name__}. Call fit() on it first.")
    if previous.visual_prototypes_.shape[1] != columns:
        raise UserError(
            f"init was fitted with {previous.visual_prototypes_.shape[1]} features, but X has {columns}. "
            "Leave init at 'means'."
        )
