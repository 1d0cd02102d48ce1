"""SCORE: test whether a gain over the default, measured on the same folds, is significant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

# One-sided level of the paired t-test.
_CONFIDENCE = 0.95


class PairedGain(NamedTuple):
    """Mean and standard error of the differences over folds. The gain is clear if the mean exceeds the threshold."""

    mean: float
    standard_error: float
    threshold: float

    @property
    def is_clear(self) -> bool:
        """Whether the gain is significant."""
        return self.mean > self.threshold


def paired_gain(scores: Sequence[float], default_scores: Sequence[float]) -> PairedGain:
    """Return the gain of one set of scores over another, fold by fold, with a one-sided paired t-test at 5 %.

    With few folds only a large gain is clear: with three, it must exceed 2.9 times its standard error.

    >>> paired_gain([0.52, 0.63, 0.72], [0.5, 0.6, 0.7]).is_clear
    True
    >>> paired_gain([0.6, 0.6, 0.7], [0.5, 0.6, 0.7]).is_clear
    False
    """
    gains = np.subtract(scores, default_scores)
    error = float(gains.std(ddof=1) / np.sqrt(len(gains)))
    return PairedGain(float(gains.mean()), error, float(student.ppf(_CONFIDENCE, len(gains) - 1)) * error)
