"""A numbering of the classes that depends on what they are, so that no label hangs on how a user numbers them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from superproto.estimator.validation import Problem
from superproto.samples.chunks import UNLABELED, Array


def class_order(problem: Problem, by_content: bool) -> Array:
    """(C,) the classes in the order of <a_j, sum a>, which no rotation of the descriptions changes.

    Equal ones in the order of |a_j|, then of their numbers. As they come if not ``by_content``.
    """
    if not by_content or not problem.described:
        return np.arange(problem.n_classes)
    A = problem.semantics
    alike, lengths = (_without_rounding(values) for values in (A @ A.sum(axis=0), (A**2).sum(axis=1)))
    return np.lexsort((*A.T[::-1], lengths, alike))


def _without_rounding(values: Array) -> Array:
    """Values that differ by rounding become equal."""
    unit = 1e-9 * max(float(np.abs(values).max()), np.finfo(np.float64).tiny)
    return np.round(values / unit)


def prior_in_class_order(prior: Any, order: Array) -> Any:
    """A user's prior of the classes in this order; anything else as it is."""
    if prior is None or isinstance(prior, str) or np.shape(prior) != order.shape:
        return prior
    return np.asarray(prior)[order]


def in_class_order(problem: Problem, order: Array) -> Problem:
    """The same problem with its classes numbered in this order."""
    number = np.append(np.argsort(order), UNLABELED)
    return replace(
        problem, labels=number[problem.labels], semantics=problem.semantics[order], names=problem.names[order],
        seen=problem.seen[order], allowed=problem.allowed[order],
    )  # fmt: skip
