"""SHARE: the inverse temperature at which scores become probabilities, and the uncertainty of a label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array, rows_at

# Number of evenly spread labeled rows from which the inverse temperature, a single number, is fitted.
SHARPNESS_ROWS = 20_000
# Least uncertainty of a predicted label. Exactly 0 marks a label given by the user.
LEAST_UNCERTAINTY = float(np.finfo(np.float64).tiny)


def likeliest_sharpness(scores: Array, own: Array, wrong: float = 0.0) -> float:
    """Return the inverse temperature s that maximizes the mean log-probability of the labels under softmax(s * scores).

    Parameters
    ----------
    scores : (n, m)
        The scores of each sample for each class.
    own : (n,)
        The score of each sample for the class of its label.
    wrong : float, default=0
        How many samples with a random label are added. Larger: a lower inverse temperature. If all labels have the
        highest score, no finite maximum exists without them.
    """
    spread = float(scores.std()) or 1.0

    def loss(log_sharpness: float) -> float:
        sharp = np.exp(log_sharpness) / spread
        of_labels = (own + wrong / len(own) * scores.mean(axis=1)) * sharp
        return float(np.mean((1 + wrong / len(own)) * logsumexp(scores * sharp, axis=1) - of_labels))

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 7), method="bounded").x) / spread)


def labeled_sharpness(score: Callable[[Array], Array], X: Any, problem: Problem) -> float:
    """Fit the inverse temperature to the labeled rows of X and the seen classes; 1 with fewer than two seen classes.

    ``score`` maps rows of X to scores (n, C).
    """
    if problem.seen.sum() < 2:
        return 1.0
    known = np.flatnonzero(~problem.asked)
    known = known[:: -(-len(known) // SHARPNESS_ROWS)]
    scores = np.asarray(score(rows_at(X, known)), dtype=np.float64)[:, problem.seen]
    columns = problem.seen_columns(known)
    return likeliest_sharpness(scores, scores[np.arange(len(scores)), columns])


def label_uncertainty(probability: Array, class_uncertainty: Array) -> Array:
    """Return the uncertainty (n,) of each label: 1 - c P(label) (1 - u).

    A label can be wrong because the sample lies between classes (P), or because its whole cluster got a wrong class
    (u). ``probability`` (n,) is P of each label, and ``class_uncertainty`` (n,) is u of the label's class. The factor
    c keeps the mean of P(label), because the inverse temperature already accounts for u on average.
    """
    both = probability * (1 - class_uncertainty)
    both *= probability.sum() / max(float(both.sum()), LEAST_UNCERTAINTY)
    return np.clip(1 - both, LEAST_UNCERTAINTY, 1.0)
