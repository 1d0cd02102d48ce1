"""Unit prototypes: with |p_j| = 1 the objective is linear in p_j, and the update is a normalized sum."""

from __future__ import annotations

import numpy as np

from superproto.rows import Array
from superproto.solver.blocks import Spectrum


def normalized(rows: Array, fallback: Array) -> Array:
    """Rows at length 1; where a row is zero, the fallback's row."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    tiny = np.finfo(np.float64).tiny
    return np.where(lengths > tiny, rows / np.maximum(lengths, tiny), fallback)


def update_prototypes(sums: Array, target: Array, beta: float, kappa: Array, P_old: Array) -> Array:
    """p_j = normalize(beta sums_j + kappa_j z_j D_v): the exact minimizer, J being linear on the sphere."""
    return normalized(pulls(sums, target, beta, kappa), P_old)


def pulls(sums: Array, target: Array, beta: float, kappa: Array) -> Array:
    """(n, d) beta sums_j + kappa_j z_j D_v: all that pulls on a prototype."""
    return np.asarray(beta * sums + kappa[:, None] * target)


def own_votes(pulled: Array, beta: float) -> Array:
    """(n,) beta / |pull|: what a sample adds to <x, p_j> by being part of p_j."""
    return np.asarray(beta / np.maximum(np.linalg.norm(pulled, axis=1), np.finfo(np.float64).tiny))


def update_discriminative(
    spectrum: Spectrum, sums: Array, target: Array, beta: float, kappa: Array, eta: float, P_old: Array
) -> Array:
    """min eta beta p'X'Xp - <y, p> on |p| = 1, y = (1 + 2 eta) beta sums + kappa z D_v: p = V (V'y / (e + mu)).

    e = 2 eta beta w. The secular equation |p(mu)| = 1 has one root above every pole;
    bisection finds it for all classes at once.
    """
    right = (1 + 2 * eta) * beta * sums + kappa[:, None] * target
    coordinates = right @ spectrum.basis
    outside = right - coordinates @ spectrum.basis.T
    rest = np.linalg.norm(outside, axis=1)
    curvature = 2 * eta * beta * spectrum.eigenvalues
    mu = _secular_root(coordinates, rest, curvature, complete=spectrum.basis.shape[0] == spectrum.basis.shape[1])
    inside = coordinates / (curvature + mu[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.where(rest[:, None] > 0, outside / mu[:, None], 0.0)
    return normalized(inside @ spectrum.basis.T + beyond, P_old)


def _secular_root(coordinates: Array, rest: Array, curvature: Array, complete: bool) -> Array:
    """mu_j with sum_i (y_i / (e_i + mu))^2 + (rest / mu)^2 = 1, mu above every pole."""
    if complete:
        rest = np.zeros_like(rest)
    floor = -float(curvature.min()) if complete else 0.0
    length = np.sqrt((coordinates**2).sum(axis=1) + rest**2)
    low = np.full(len(length), floor)
    # At mu = floor + |y| every denominator is at least |y|, so |p| <= 1: the root lies between floor and there.
    high = floor + np.maximum(length, np.finfo(np.float64).tiny)
    for _ in range(200):
        mu = (low + high) / 2
        value = ((coordinates / (curvature + mu[:, None])) ** 2).sum(axis=1)
        if not complete:
            value = value + (rest / mu) ** 2
        low, high = np.where(value > 1, mu, low), np.where(value > 1, high, mu)
        if np.all(high - low <= 1e-15 * np.maximum(1.0, np.abs(high))):
            break
    return high
