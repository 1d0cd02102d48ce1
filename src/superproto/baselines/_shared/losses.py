"""Losses of linear scores F = X W, and their minimization by L-BFGS: what SynC, CAPD and ConSE train with.

A loss takes F (N, c) and returns its value and gradient (N, c); products with X stay in the precision of X.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from superproto.samples.chunks import Array

Loss = Callable[[Array], tuple[float, Array]]


def with_constant(X: Array, mean: Array) -> Array:
    """[x − mean, 1]: centered rows and a constant feature, so that a linear score has an offset."""
    return np.hstack([X - mean.astype(X.dtype), np.ones((len(X), 1), dtype=X.dtype)])


def without_constant(weights: Array, mean: Array) -> tuple[Array, Array]:
    """(c, d + 1) weights of [x − mean, 1] as classifiers (c, d) and offsets (c,) of x itself."""
    classifiers = weights[:, :-1]
    return classifiers, weights[:, -1] - classifiers @ mean


def squared_hinge(signs: Array) -> Loss:
    """1/(N c) Σ [1 − s_ic F_ic]₊²: one classifier against the rest for each column."""

    def loss(F: Array) -> tuple[float, Array]:
        slack = np.maximum(1 - signs * F, 0)
        return float(np.mean(slack**2)), -2 * signs * slack / F.size

    return loss


def structured_hinge(labels: Array, costs: Array) -> Loss:
    """1/N Σ_i max_c [costs_{y_i,c} + F_ic − F_{i,y_i}]₊²: squared, so that L-BFGS has a gradient everywhere."""
    rows = np.arange(len(labels))

    def loss(F: Array) -> tuple[float, Array]:
        margins = costs[labels] + F - F[rows, labels][:, None]
        margins[rows, labels] = 0
        worst = margins.argmax(axis=1)
        slack = np.maximum(margins[rows, worst], 0)
        gradient = np.zeros_like(F)
        gradient[rows, worst] = 2 * slack / len(F)
        gradient[rows, labels] -= 2 * slack / len(F)
        return float(np.mean(slack**2)), gradient

    return loss


def cross_entropy(labels: Array) -> Loss:
    """−1/N Σ log softmax(F_i)_{y_i}."""
    rows = np.arange(len(labels))

    def loss(F: Array) -> tuple[float, Array]:
        logs = log_softmax(F, axis=1)
        gradient = np.exp(logs)
        gradient[rows, labels] -= 1
        return -float(np.mean(logs[rows, labels])), gradient / len(F)

    return loss


def logistic(slopes: Array, weights: Array) -> Loss:
    """Σ_ic weights_ic log(1 + exp(Σ_t slopes_ict F_ict)), F seen as (N, c, t): t linear functions enter each term."""

    def loss(F: Array) -> tuple[float, Array]:
        terms = (slopes * F.reshape(slopes.shape)).sum(axis=2)
        gradient = (weights * expit(terms))[:, :, None] * slopes
        return float((weights * np.logaddexp(0, terms)).sum()), gradient.reshape(F.shape)

    return loss


def minimize_linear(X: Array, loss: Loss, n_columns: int, ridge: float, max_iter: int) -> tuple[Array, int]:
    """(c, d) the Wᵀ of min loss(X W) + ridge/2 ||W||², from 0, and the steps taken (at least 1)."""
    shape = (X.shape[1], n_columns)

    def objective(flat: Array) -> tuple[float, Array]:
        W = flat.reshape(shape)
        value, slope = loss(X @ W.astype(X.dtype))
        gradient = (X.T @ slope.astype(X.dtype)).astype(np.float64) + ridge * W
        return value + 0.5 * ridge * float(flat @ flat), gradient.ravel()

    options = {"maxiter": max_iter, "maxcor": 10}
    found = minimize(objective, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x.reshape(shape).T), max(int(found.nit), 1)
