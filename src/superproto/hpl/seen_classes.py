"""FIT: what the seen classes tell about the prototypes of others."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from superproto.samples.chunks import Array

PROTOTYPE_RIDGE = 0.1


def predict_prototypes(A_known: Array, P_known: Array, A_asked: Array, ridge: float = PROTOTYPE_RIDGE) -> Array:
    """Kernel ridge from descriptions to prototypes: A_u A_s' (A_s A_s' + ridge tr(A_s A_s') / m I)^-1 P_s."""
    kernel = A_known @ A_known.T
    kernel[np.diag_indices_from(kernel)] += ridge * np.trace(kernel) / len(kernel)
    return np.asarray((A_asked @ A_known.T) @ linalg.solve(kernel, P_known, assume_a="pos", check_finite=False))


def predict_left_out(A_known: Array, P_known: Array, ridge: float = PROTOTYPE_RIDGE) -> Array:
    """For each known class the same prediction from all the others: P - (K + r I)^-1 P / diag (K + r I)^-1."""
    kernel = A_known @ A_known.T
    kernel[np.diag_indices_from(kernel)] += ridge * np.trace(kernel) / len(kernel)
    inverse = linalg.inv(kernel, check_finite=False)
    return np.asarray(P_known - (inverse @ P_known) / np.diag(inverse)[:, None])
