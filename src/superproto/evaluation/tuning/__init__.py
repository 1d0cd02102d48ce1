"""SCORE: choose parameters on held-out seen classes."""

from superproto.evaluation.tuning.spaces import Span
from superproto.evaluation.tuning.tuner import Tuned, tune

__all__ = ["Span", "Tuned", "tune"]
