"""SHARE: the inverse temperature at which scores become probabilities."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from superproto.samples.chunks import Array


def likeliest_sharpness(scores: Array, own: Array) -> float:
    """argmax_s of the mean log-probability of the own scores (n,) under softmax(s * scores) (n, m)."""
    spread = float(scores.std()) or 1.0

    def loss(log_sharpness: float) -> float:
        sharp = np.exp(log_sharpness) / spread
        return float(np.mean(logsumexp(scores * sharp, axis=1) - own * sharp))

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 7), method="bounded").x) / spread)
