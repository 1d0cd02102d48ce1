"""ASSEMBLE: a first state taken from an earlier model, when rows or classes were added since.

Classes are matched by name. A prototype p lives in the metric of the fit that found it, p = v W, so it is carried over
as p W⁻¹ W': what it points at among the features stays, the metric in which it is seen is the new one. The objective
falls from any start; an earlier model shortens the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.rows import Array
from superproto.solver.formulations import State
from superproto.solver.spherical import normalized
from superproto.whitening import Metric

__all__ = ["continued", "undo"]


def undo(metric: Metric, rows: Array) -> Array:
    """rows W⁻¹, of r I + B diag(g) B' by its eigenvalues."""
    if metric.matrix is not None:
        return np.asarray(np.linalg.solve(metric.matrix.T, rows.T).T)
    if metric.basis is None or metric.gains is None:
        return rows
    change = 1 / (metric.rest + metric.gains) - 1 / metric.rest
    return np.asarray(rows / metric.rest + ((rows @ metric.basis) * change) @ metric.basis.T)


def continued(state: State, previous: Any, names: Array, allowed: Array, metric: Metric, unit: bool) -> State:
    """The state with what the earlier model knows of the classes that are still there."""
    _check(previous, state.P.shape[1])
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


def _check(previous: Any, columns: int) -> None:
    missing = [name for name in ("visual_prototypes_", "metric_", "classes_") if not hasattr(previous, name)]
    if missing:
        raise UserError(f"init is {type(previous).__name__}, which is no fitted HPL. Give a model after its fit.")
    if previous.visual_prototypes_.shape[1] != columns:
        raise UserError(
            f"init was fitted with {previous.visual_prototypes_.shape[1]} features, but X has {columns}. "
            "Leave init at 'means'."
        )
