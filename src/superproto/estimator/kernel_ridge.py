"""SHARE: ridge systems whose penalty is relative to the mean eigenvalue, so that it is comparable between data sets."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from superproto.samples.chunks import Array

# Added to the diagonal, so that a kernel of zeros is not singular. It is below rounding error for every other kernel.
SMALLEST_SHIFT = float(np.finfo(np.float64).tiny) ** 0.5


def regularized(kernel: Array, ridge: float) -> Array:
    """Return K + ridge tr(K) / m I for a symmetric K (m, m), as a new array."""
    system = np.array(kernel, dtype=np.float64)
    system[np.diag_indices_from(system)] += ridge * np.trace(kernel) / len(kernel) + SMALLEST_SHIFT
    return system


def solve_ridge(kernel: Array, right: Array, ridge: float) -> Array:
    """Return (K + ridge tr(K) / m I)^-1 right, for a symmetric positive semidefinite K (m, m)."""
    return np.asarray(linalg.solve(regularized(kernel, ridge), right, assume_a="pos", check_finite=False))
