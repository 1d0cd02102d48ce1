"""Alignment: codes that explain prototypes and descriptions together, in one direction or in both (HPL1)."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from superproto.hpl.objective.least_squares import Spectrum
from superproto.samples.chunks import Array


def one_way_codes(P: Array, A: Array, Z_old: Array, D_v: Array, D_c: Array, lam: float, ridge: float = 0.0) -> Array:
    """Z (S + ridge I + eps I) = P D_v' + lam A D_c' + eps Z_old,  S = D_v D_v' + lam D_c D_c',  eps = 1e-8 tr(S) / q.

    ``eps Z_old`` makes the safeguard a proximal step: the objective cannot rise even where S is singular (q > d + k).
    """
    S = D_v @ D_v.T + lam * (D_c @ D_c.T)
    eps = 1e-8 * float(np.trace(S)) / len(S) + np.finfo(np.float64).tiny
    S[np.diag_indices_from(S)] += ridge + eps
    right = P @ D_v.T + lam * (A @ D_c.T) + eps * Z_old
    # NumPy's solver, not SciPy's: they bring a BLAS each, whose threads wait for each other where calls take turns.
    return np.asarray(np.linalg.solve(S, right.T).T)


def one_way_codes_of_descriptions(A: Array, D_c: Array, ridge: float = 0.0) -> Array:
    """argmin_Z ||A - Z D_c||^2 (+ ridge ||Z||^2): what a class without samples is made of; minimum norm at ridge 0."""
    if ridge == 0:
        return np.asarray(A @ linalg.pinv(D_c, rtol=1e-10))
    S = D_c @ D_c.T
    S[np.diag_indices_from(S)] += ridge
    return linalg.solve(S, D_c @ A.T, assume_a="pos", check_finite=False).T


def two_way_codes(P: Array, A: Array, D_v: Array, D_c: Array, lam: float) -> Array:
    """Z (D_v D_v' + lam D_c D_c' + (1 + lam) I) = 2 (P D_v' + lam A D_c'); never singular."""
    S = D_v @ D_v.T + lam * (D_c @ D_c.T) + (1 + lam) * np.eye(len(D_v))
    right = 2 * (P @ D_v.T + lam * (A @ D_c.T))
    return linalg.solve(S, right.T, assume_a="pos", check_finite=False).T


def two_way_codes_of_descriptions(A: Array, D_v: Array, D_c: Array, lam: float) -> Array:
    """Z [(I - K)^2 (I + K)^-1 + lam (D_c D_c' + I)] = 2 lam A D_c',  K = D_v D_v': a class without samples."""
    eye = np.eye(len(D_v))
    K = D_v @ D_v.T
    visual = linalg.solve(eye + K, (eye - K) @ (eye - K), assume_a="pos", check_finite=False)
    S = (visual + visual.T) / 2 + lam * (D_c @ D_c.T + eye)
    return linalg.solve(S, 2 * lam * (D_c @ A.T), assume_a="pos", check_finite=False).T


def prototypes_of_codes(Z: Array, D_v: Array) -> Array:
    """P = 2 Z (I + K)^-1 D_v: where the alignment alone puts a prototype."""
    K = D_v @ D_v.T + np.eye(len(D_v))
    return 2 * Z @ linalg.solve(K, D_v, assume_a="pos", check_finite=False)


def two_way_prototypes(
    P: Array, spectrum: Spectrum, counts: Array, sums: Array, Z: Array, D_v: Array, beta: float, kappa: Array, t: float
) -> Array:
    """(t beta X'X + (kappa_j + beta counts_j) I + kappa_j D_v' D_v) p_j = (1 + t) beta sums_j + 2 kappa_j z_j D_v.

    Conjugate gradient on all classes at once from the old P; the preconditioner is the same system without D_v' D_v,
    diagonal in the eigenbasis of X'X, so the condition number is at most 2 for kappa = 1.
    """
    shift = (kappa + beta * counts)[:, None]
    stretched = t * beta * spectrum.eigenvalues
    inside = stretched / (stretched + shift)
    right = (1 + t) * beta * sums + 2 * kappa[:, None] * (Z @ D_v)

    def apply(Y: Array) -> Array:
        return (Y @ spectrum.basis * stretched) @ spectrum.basis.T + shift * Y + kappa[:, None] * ((Y @ D_v.T) @ D_v)

    def precondition(R: Array) -> Array:
        return (R - (R @ spectrum.basis * inside) @ spectrum.basis.T) / shift

    return _conjugate_gradient(P, right, apply, precondition)


def _conjugate_gradient(P, right, apply, precondition, tol: float = 1e-12, max_iter: int = 200) -> Array:  # type: ignore[no-untyped-def]
    """Row-wise preconditioned conjugate gradient: every row is a system of its own, all advance together."""
    residual = right - apply(P)
    scale = np.linalg.norm(right, axis=1, keepdims=True) + np.finfo(np.float64).tiny
    ahead = precondition(residual)
    direction, rho = ahead, (residual * ahead).sum(axis=1, keepdims=True)
    for _ in range(max_iter):
        if (np.linalg.norm(residual, axis=1, keepdims=True) <= tol * scale).all():
            break
        image = apply(direction)
        curvature = (direction * image).sum(axis=1, keepdims=True)
        step = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
        P, residual = P + step * direction, residual - step * image
        ahead = precondition(residual)
        old, rho = rho, (residual * ahead).sum(axis=1, keepdims=True)
        direction = ahead + np.divide(rho, old, out=np.zeros_like(rho), where=old > 0) * direction
    return np.asarray(P)
