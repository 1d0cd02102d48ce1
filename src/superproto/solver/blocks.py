"""The blocks of the published model, each an exact minimizer: codes Z, prototypes P, super-prototypes D."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from superproto.rows import Array

ROWS_AT_ONCE = 24


class Spectrum(NamedTuple):
    """X'X = V diag(w) V', the only trace that samples leave in the prototype update. V is (d, r), r <= min(N, d)."""

    basis: Array
    eigenvalues: Array


def spectrum_of_gram(gram: Array) -> Spectrum:
    """All d eigenpairs of a (d, d) Gram matrix."""
    eigenvalues, basis = linalg.eigh(gram, check_finite=False, driver="evd")
    return Spectrum(basis, np.maximum(eigenvalues, 0))


def spectrum_of_rows(rows: Array) -> Spectrum:
    """The r = min(N, d) eigenpairs of X'X from X itself, for N < d: nothing of size (d, d) is formed."""
    _, singular, basis = linalg.svd(np.asarray(rows, dtype=np.float64), full_matrices=False, check_finite=False)
    return Spectrum(basis.T, singular**2)


def update_codes(P: Array, A: Array, Z_old: Array, D_v: Array, D_c: Array, lam: float, ridge: float = 0.0) -> Array:
    """Z (S + ridge I + eps I) = P D_v' + lam A D_c' + eps Z_old,  S = D_v D_v' + lam D_c D_c',  eps = 1e-8 tr(S) / q.

    ``eps Z_old`` makes the safeguard a proximal step: the objective cannot rise even where S is singular (q > d + k).
    """
    S = D_v @ D_v.T + lam * (D_c @ D_c.T)
    eps = 1e-8 * float(np.trace(S)) / len(S) + np.finfo(np.float64).tiny
    S[np.diag_indices_from(S)] += ridge + eps
    right = P @ D_v.T + lam * (A @ D_c.T) + eps * Z_old
    # NumPy's solver, not SciPy's: they bring a BLAS each, whose threads wait for each other where calls take turns.
    return np.asarray(np.linalg.solve(S, right.T).T)


def codes_of_descriptions(A: Array, D_c: Array, ridge: float = 0.0) -> Array:
    """argmin_Z ||A - Z D_c||^2 (+ ridge ||Z||^2): what a class without samples is made of; minimum norm at ridge 0."""
    if ridge == 0:
        return np.asarray(A @ linalg.pinv(D_c, rtol=1e-10))
    S = D_c @ D_c.T
    S[np.diag_indices_from(S)] += ridge
    return linalg.solve(S, D_c @ A.T, assume_a="pos", check_finite=False).T


def update_prototypes(
    spectrum: Spectrum, counts: Array, sums: Array, target: Array, beta: float, kappa: Array, t: float
) -> Array:
    """(t beta X'X + (kappa_j + beta counts_j) I) p_j = (1 + t) beta sums_j + kappa_j target_j,  target = Z D_v.

    C'C is diagonal, so one eigenbasis of X'X serves every class; exact for a thin basis too. t = kappa = 1: the paper.
    """
    right = (1 + t) * beta * sums + kappa[:, None] * target
    shift = (kappa + beta * counts)[:, None]
    shift = np.maximum(shift, np.finfo(np.float64).tiny)
    stretched = t * beta * spectrum.eigenvalues
    inside = stretched / (stretched + shift)
    return (right - (right @ spectrum.basis * inside) @ spectrum.basis.T) / shift


def encoding_cost(P: Array, counts: Array, sums: Array, stretched: float, t: float) -> float:
    """t ||X P' - C||^2 + ||X - C P||^2 up to t N + ||X||^2, from counts, sums and ``stretched`` = tr(P X'X P')."""
    quadratic = t * stretched + float(counts @ (P**2).sum(axis=1))
    return quadratic - 2 * (1 + t) * float((sums * P).sum())


def quadratic_form(P: Array, spectrum: Spectrum) -> float:
    """tr(P X'X P')."""
    return float((((P @ spectrum.basis) ** 2) @ spectrum.eigenvalues).sum())


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
