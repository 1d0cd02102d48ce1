"""SHARE: the inverse temperature at which scores become probabilities, and the uncertainty of a label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array, rows_at

# The inverse temperature is a single number: so many labeled rows, evenly spread, are enough to fit it.
SHARPNESS_ROWS = 20_000
# The uncertainty of a label that was found is never 0: that marks a given label.
LEAST_UNCERTAINTY = float(np.finfo(np.float64).tiny)


def likeliest_sharpness(scores: Array, own: Array, wrong: float = 0.0) -> float:
    """argmax_s of the mean log-probability of the own scores (n,) under softmax(s * scores) (n, m).

    So many samples with a random label are counted in. Without any, s has no maximum where every label is the likeliest
    one.
    """
    spread = float(scores.std()) or 1.0

    def loss(log_sharpness: float) -> float:
        sharp = np.exp(log_sharpness) / spread
        right = (own + wrong / len(own) * scores.mean(axis=1)) * sharp
        return float(np.mean((1 + wrong / len(own)) * logsumexp(scores * sharp, axis=1) - right))

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 7), method="bounded").x) / spread)


def labeled_sharpness(score: Callable[[Array], Array], X: Any, problem: Problem) -> float:
    """The likeliest inverse temperature on the labeled rows of X, among the seen classes; 1 with fewer than two.

    ``score`` returns (n, C) scores of rows of X.
    """
    if problem.seen.sum() < 2:
        return 1.0
    known = np.flatnonzero(~problem.asked)
    known = known[:: -(-len(known) // SHARPNESS_ROWS)]
    scores = np.asarray(score(rows_at(X, known)), dtype=np.float64)[:, problem.seen]
    columns = problem.seen_columns(known)
    return likeliest_sharpness(scores, scores[np.arange(len(scores)), columns])


def label_uncertainty(probability: Array, class_uncertainty: Array) -> Array:
    """(n,) 1 - c P(label) (1 - u): the sample may lie between classes, or its whole cluster may have a wrong label.

    ``probability`` (n,) is that of each sample's label, ``class_uncertainty`` (n,) the u of the label's class. c makes
    the mean that of P(label), because the inverse temperature already accounts for u on average.
    """
    both = probability * (1 - class_uncertainty)
    both *= probability.sum() / max(float(both.sum()), LEAST_UNCERTAINTY)
    return np.clip(1 - both, LEAST_UNCERTAINTY, 1.0)
