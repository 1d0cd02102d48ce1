"""SHARE: linear maps between features and descriptions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.decomposition import PCA

from superproto.samples.chunks import Array


def gram(X: Array) -> Array:
    """XᵀX, summed in the precision of X and returned in float64."""
    return np.asarray(X.T @ X, dtype=np.float64)


class GramSpectrum(NamedTuple):
    """RᵀR = basis diag(values) basisᵀ of some rows R; directions that no row has may be missing."""

    values: Array
    basis: Array


def spectrum(rows: Array) -> GramSpectrum:
    """By the smaller of the two Gram matrices' ways: thin SVD of few rows, eigenvectors of RᵀR for many."""
    if len(rows) < rows.shape[1]:
        _, singular, basis = linalg.svd(rows, full_matrices=False, check_finite=False)
        return GramSpectrum(np.asarray(singular, dtype=np.float64) ** 2, basis.T)
    values, basis = linalg.eigh(gram(rows), check_finite=False)
    return GramSpectrum(np.maximum(values, 0), basis)


def invariant_map(described: GramSpectrum, seen_from: GramSpectrum, cross: Array, alpha: float) -> Array:
    """The (k, d) W of (1 − α) AᵀA W + α W XᵀX = AᵀX: minimum of (1 − α)||X − A W||² + α||X Wᵀ − A||².

    W = U [(Uᵀ AᵀX V) / ((1 − α) u + α v)] Vᵀ, (u, U), (v, V) the spectra of A and X; 0 where W is free.
    """
    (u, U), (v, V) = described, seen_from
    sums = (1 - alpha) * u[:, None] + alpha * v
    sums[sums <= 1e-10 * sums.max(initial=0.0)] = np.inf
    return np.asarray(U @ ((U.T @ cross @ V) / sums) @ V.T)


def principal_map(X: Array, n_components: int, random_state: Any) -> tuple[Array, Array]:
    """The mean (d,) and the first principal directions (d, q) of all rows; the identity where that is not fewer."""
    center = X.mean(axis=0, dtype=np.float64)
    if n_components >= min(X.shape):
        return center, np.eye(X.shape[1])
    found = PCA(n_components, svd_solver="randomized", iterated_power=2, random_state=random_state).fit(X)
    return center, np.asarray(found.components_.T, dtype=np.float64)
