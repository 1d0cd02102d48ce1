"""SHARE: conjugate gradients for many linear systems with one symmetric positive definite operator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from superproto.samples.chunks import Array

Operator = Callable[[Array], Array]


def conjugate_gradient(
    start: Array, right: Array, apply: Operator, precondition: Operator, tol: float, max_iter: int
) -> Array:
    """Solve apply(x) = right by preconditioned conjugate gradients. Every row of x is a separate system.

    All rows are updated together, until each residual is at most ``tol`` times the length of its right-hand side or
    ``max_iter`` iterations are done. A smaller ``tol`` is more exact and takes more iterations.
    """
    solution, residual = start, right - apply(start)
    scale = np.linalg.norm(right, axis=1, keepdims=True) + np.finfo(np.float64).tiny
    ahead = precondition(residual)
    direction, rho = ahead, (residual * ahead).sum(axis=1, keepdims=True)
    for _ in range(max_iter):
        if (np.linalg.norm(residual, axis=1, keepdims=True) <= tol * scale).all():
            break
        image = apply(direction)
        curvature = (direction * image).sum(axis=1, keepdims=True)
        step = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
        solution, residual = solution + step * direction, residual - step * image
        ahead = precondition(residual)
        old, rho = rho, (residual * ahead).sum(axis=1, keepdims=True)
        direction = ahead + np.divide(rho, old, out=np.zeros_like(rho), where=old > 0) * direction
    return np.asarray(solution)
