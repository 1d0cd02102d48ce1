"""Soft assignment towards a class prior: semi-relaxed entropic transport, in the log domain, certified.

    Q = argmin  -<Q, S> + T sum Q log Q + sum v_j Q_ij^2 / 2 + r KL(Q'1 || N pi),  rows of Q sum to 1,   f = r / (r + T)

S_ij = <x_i, p_j> + b_j, b a fixed advantage per class. v_j is what a sample that a class has wholly adds to its own
score there, being part of the prototype: at the minimum Q_ij ~ exp((S_ij - v_j Q_ij) / T + g_j), without that vote.

Only n-vectors travel: g, the log-scaling of the columns. f = 0 is the free softmax, f = 1 a balanced assignment.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, logsumexp, xlogy

from superproto.samples.chunks import Array
from superproto.samples.whitened import Assignment, WhitenedSamples

# The same Q under the same P may be worth so much more, for its size, when its rows are added up in another order.
VALUE_ROUNDING = 1e-12


class Transport(NamedTuple):
    """An assignment and what the objective needs of it: ``confusion``, all but -<Q, X P'>."""

    answer: Assignment
    log_scaling: Array
    confusion: float
    passes: int


class FreeSizes(NamedTuple):
    """Class sizes that are not held to a prior: w sum_j ( looseness log(n_j + anchor) - T log Gamma(n_j + 1) ).

    Few samples place a class mean with a variance of 1 / (n + anchor), so that a small class claims less; and a mixture
    whose weights have a flat prior prefers few large classes. Both terms are concave in the sizes n. The ``bias`` is
    the slope at the last sizes, so that an assignment with it lowers the objective. ``weight`` w is 0 where sizes are
    even; ``anchor`` is the weight of a description, in samples.
    """

    weight: float = 0.0
    looseness: float = 0.0
    anchor: float = 1.0

    def bias(self, sizes: Array, T: float) -> Array:
        """(n,) what is added to the scores of classes of these sizes."""
        return np.asarray(self.weight * (T * digamma(sizes + 1) - self.looseness / (sizes + self.anchor)))

    def cost(self, sizes: Array, before: Array, T: float) -> float:
        """What these sizes cost more than those before."""
        loose = np.log((sizes + self.anchor) / (before + self.anchor))
        return self.weight * float((self.looseness * loose - T * (gammaln(sizes + 1) - gammaln(before + 1))).sum())


EVEN_SIZES = FreeSizes()


def relaxation_weight(T: float, f: float) -> float:
    """r = T f / (1 - f)."""
    return T * f / (1 - f)


def update_assignment(
    samples: WhitenedSamples,
    P: Array,
    offset: Array,
    prior: Array,
    g: Array,
    T: float,
    own: Array,
    f: float,
    ceiling: float,
    max_passes: int,
) -> Transport:
    """Iterate  c = Q'1,  g_j <- f (g_j + log(N pi_j) - log c_j)  from a warm start; ``own`` is v.

    log c_j - g_j falls when any g rises, and by as much when all do: g contracts by f, with own votes or without.

    Stops when the certificate  r N KL(c / N || pi~),  pi~_j ~ pi_j exp(-T g_j / r), is below 1e-4 T N and the value is
    at most ``ceiling``, what the old Q is worth under the new P: then the objective cannot have risen.
    """
    r, n_samples = relaxation_weight(T, f), float(samples.n)
    expected = n_samples * prior
    passes = 0
    g = g if f > 0 else np.zeros_like(g)
    while f > 0:
        passes += 1
        answer = samples.assign(P, T * g + offset, T, own, with_sums=False)
        value = _value(answer, g, T, r, expected)
        if passes == max_passes:
            break
        if _gap(answer.masses, g, prior, T, r) <= 1e-4 * T * n_samples and value <= ceiling + VALUE_ROUNDING * abs(
            value
        ):
            break
        g = f * (g + np.log(expected) - np.log(np.maximum(answer.masses, 1e-300)))
    answer = samples.assign(P, T * g + offset, T, own)
    value = _value(answer, g, T, r, expected)
    return Transport(answer, g, value + float((answer.sums * P).sum()), passes + 1)


def _value(answer: Assignment, g: Array, T: float, r: float, expected: Array) -> float:
    """T <g, c> + r sum c_j log(c_j / (N pi_j)) - what the rows are worth at the bias T g."""
    spread = float((xlogy(answer.masses, answer.masses) - answer.masses * np.log(expected)).sum())
    return -answer.value + T * float(g @ answer.masses) + r * spread


def _gap(masses: Array, g: Array, prior: Array, T: float, r: float) -> float:
    """An upper bound on value - optimum, from n-vectors alone."""
    tilted = np.log(prior) - (T / r) * g
    tilted -= logsumexp(tilted)
    shares = masses / masses.sum()
    return r * float(masses.sum()) * float((xlogy(shares, shares) - shares * tilted).sum())


def two_level_prior(masses: Array, levels: Array, pseudo: float, weights: Array | None = None) -> Array:
    """pi_j = s_l w_j / n_l, s_l = (C_l + a_l) / (N + sum a): the share of a level is free, inside it classes are equal.

    ``weights`` w (n,) share a class among its prototypes; n_l = sum_l w is the number of classes.
    """
    weights = np.ones(len(masses)) if weights is None else weights
    sizes = np.bincount(levels, weights)
    level_mass = np.bincount(levels, masses) + pseudo * sizes / sizes.sum()
    return np.asarray((level_mass / level_mass.sum() / sizes)[levels] * weights)


def agreement(shares: Array, prior: Array) -> float:
    """exp(-KL(shares || prior)): 1 where they are the same, less the further they are apart."""
    return float(np.exp(-(xlogy(shares, shares) - xlogy(shares, prior)).sum()))


def evenness(shares: Array) -> float:
    """exp(entropy) / n, the agreement with equal shares: 1 / n for a single class."""
    return agreement(shares, np.full(len(shares), 1 / len(shares)))
