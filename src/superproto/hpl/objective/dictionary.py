"""Super-prototypes: least squares with every row in the unit ball."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from superproto.samples.chunks import Array

ROWS_AT_ONCE = 24


def project_rows(D: Array) -> Array:
    """Each row into the unit ball: v / max(1, |v|)."""
    return np.asarray(D / np.maximum(1.0, np.linalg.norm(D, axis=1, keepdims=True)))


def dictionary_by_blocks(D: Array, G: Array, B: Array, tol: float, max_sweeps: int) -> Array:
    """min tr(D'GD) - 2 tr(D'B), rows in the unit ball: d_j <- project(d_j + (B_j - G_j D) / G_jj), row by row.

    Gauss-Seidel: a row sees the rows before it already updated, so every step lowers the objective; no step size.
    B - G D is formed for a group of rows in one product and corrected by the steps taken inside the group.
    """
    D = D.copy()
    diagonal = np.diag(G)
    active = np.flatnonzero(diagonal > 1e-12 * max(float(diagonal.max(initial=0.0)), np.finfo(np.float64).tiny))
    for _ in range(max_sweeps):
        moved = 0.0
        for at in range(0, len(active), ROWS_AT_ONCE):
            group = active[at : at + ROWS_AT_ONCE]
            gradient, inner, steps = (
                B[group] - G[group] @ D,
                G[np.ix_(group, group)],
                np.zeros((len(group), D.shape[1])),
            )
            for i, j in enumerate(group):
                row = D[j] + (gradient[i] - inner[i, :i] @ steps[:i]) / diagonal[j]
                row /= max(1.0, float(np.sqrt(row @ row)))
                steps[i] = row - D[j]
                D[j] = row
            moved = max(moved, float((steps**2).sum(axis=1).max()))
        if moved <= tol**2:
            break
    return D


def dictionary_by_gradient(D: Array, G: Array, B: Array, tol: float, max_steps: int) -> Array:
    """The same problem by projected gradient with a backtracking line search, as the paper does it."""
    lipschitz = max(float(linalg.eigvalsh(G, check_finite=False)[-1]), np.finfo(np.float64).tiny)
    step = 2.0 / lipschitz
    value = dictionary_objective(D, G, B)
    for _ in range(max_steps):
        gradient = G @ D - B
        while True:
            trial = project_rows(D - step * gradient)
            move = trial - D
            predicted = 2 * float((gradient * move).sum()) + float((move**2).sum()) / step
            new = dictionary_objective(trial, G, B)
            if new <= value + predicted + 1e-14 * abs(value) or step <= 1.0 / lipschitz:
                break
            step /= 2
        if new >= value:
            break
        D, value = trial, new
        if float(np.abs(move).max()) <= tol:
            break
        step *= 1.5
    return D


def dictionary_objective(D: Array, G: Array, B: Array) -> float:
    """tr(D'GD) - 2 tr(D'B)."""
    return float((D * (G @ D - 2 * B)).sum())


def two_way_dictionary(Z: Array, M: Array) -> Array:
    """G D + D M'M = 2 Z'M, G = Z'Z: D = U [2 (U' Z'M R) / (g + h)] R'. Its rows always lie in the unit ball.

    Z (c, q) and M (c, .) stack the classes of both domains, each row multiplied by the root of its weight.
    """
    g, U = linalg.eigh(Z.T @ Z, check_finite=False)
    _, singular, right = linalg.svd(M, full_matrices=False, check_finite=False)
    numerator = 2 * (U.T @ (Z.T @ M)) @ right.T
    denominator = np.maximum(g, 0)[:, None] + singular**2
    safe = denominator > 1e-14 * max(float(denominator.max(initial=0.0)), np.finfo(np.float64).tiny)
    return np.asarray(U @ np.divide(numerator, denominator, out=np.zeros_like(numerator), where=safe) @ right)
