"""Free prototypes: the encoding of the published model, an exact least-squares solution for each class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from superproto.samples.chunks import Array


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


def least_squares_prototypes(
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
