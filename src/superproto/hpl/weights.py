"""How strongly samples, descriptions and the class prior count. All of it is fixed before the first iteration.

c samples of a class whose mean has length R pull on its prototype with c R, their effective number. Everything that is
weighed is given in these units, so that one scale serves every data set.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superproto.hpl.constants import Constants
from superproto.hpl.fit_data import FitData
from superproto.hpl.objective.assignment import EVEN_SIZES, FreeSizes
from superproto.hpl.objective.state import State
from superproto.hpl.parameters import Parameters
from superproto.hpl.seen_classes import SeenClasses
from superproto.samples.chunks import Array

SMALLEST_COUNT = 1e-6
# Lower bound of what a description leaves unexplained of a class mean, squared.
LEAST_UNEXPLAINED = 0.05
# Upper bound of the self-influence correction, in units of the temperature. exp() underflows in float32 below -87; a
# larger correction could revive classes that have underflowed.
MOST_TAKEN_BACK = 50.0
# Lower bound of the evenness: 0 would leave the unlabeled samples out of the objective, and bound no self-influence.
LEAST_EVEN = 0.01


class Weights(NamedTuple):
    """The weights of one fit.

    ``expected`` is the effective number of samples of an average class. A description weighs ``scale`` times the
    effective number of samples of its class, plus ``minimum``. In a pool of all classes the minimum vanishes with the
    pool's size: a handful of samples must not draw a prototype to themselves. Elsewhere descriptions keep their
    reliability. ``gamma`` is the weight of unseen classes in the super-prototypes, ``relaxation`` the strength f of the
    prior; ``own`` is the part of the self-influence that is subtracted, and ``most_own`` the most that is; ``sizes``
    are the terms of class sizes that are free.
    """

    expected: float
    scale: float
    minimum: float
    gamma: float
    relaxation: float
    own: float
    most_own: float
    sizes: FreeSizes = EVEN_SIZES

    def of_description(self, effective: float) -> float:
        """Weight of the description of a class with so many effective samples."""
        return self.scale * effective + self.minimum

    @property
    def sample_share(self) -> float:
        """0 to 1: how much of what places an unseen class is samples, and so can teach the super-prototypes.

        The rest is its description's own prediction, made from these super-prototypes.
        """
        return self.expected / (self.expected + self.minimum)


def choose_weights(data: FitData, seen: SeenClasses, evenness: float, params: Parameters) -> Weights:
    """From the labeled samples, the number of unlabeled ones, and how even the pool looks."""
    rows = data.counts[data.seen].mean() if data.pool is None else data.pool.n / len(data.candidates)
    expected, scale = float(rows) * seen.compactness, params.alignment_scale or 0.0
    reliability = description_reliability(data.described, seen) if params.unit else 0.0
    minimum = minimum_weight(expected, scale, evenness, reliability, params.constants) if params.unit else 0.0
    weights = Weights(expected, scale, minimum, 0.0, 0.0, 0.0, 0.0)
    own, most_own = _self_influence(data, evenness, params, weights, seen.temperature)
    return weights._replace(
        gamma=params.gamma * _teaching_share(data, evenness, params.unit, weights.sample_share),
        relaxation=prior_relaxation(params, evenness, expected),
        own=own,
        most_own=most_own,
        sizes=_free_sizes(data, seen, evenness, params, weights),
    )


def _free_sizes(data: FitData, seen: SeenClasses, evenness: float, params: Parameters, weights: Weights) -> FreeSizes:
    """The terms of free class sizes, by how improbable even ones are; none where labeled samples tell nothing of R.

    A mean of length R has the variance (1 - R^2) / n per direction of n samples; half of it, in units of the score R.
    """
    R = seen.compactness
    known = params.soft and params.estimates_prior and data.pool is not None and len(seen.prototypes) > 0
    if not known or data.seen_compete or not params.constants.free_sizes:
        return EVEN_SIZES
    anchor = weights.of_description(weights.expected) / max(params.beta * R, SMALLEST_COUNT)
    return FreeSizes(1 - evenness, (1 - R**2) / (2 * R), max(anchor, SMALLEST_COUNT))


def minimum_weight(expected: float, scale: float, evenness: float, reliability: float, constants: Constants) -> float:
    """a / (1 + e)^(3 - u) + c scale u w, u = 1 - evenness, w the reliability of descriptions, e expected samples."""
    uneven = 1 - evenness
    known = constants.uneven_weight * scale * uneven * reliability
    return float(constants.small_pool_weight / (1 + expected) ** (3 - uneven) + known)


def description_reliability(described: bool, seen: SeenClasses) -> float:
    """The weight of a description by Bayes' rule: s / ((1 - s^2) R), in samples.

    A class mean of length R is predicted with a cosine of s. Per direction, what the prediction s R leaves open has the
    variance (1 - s^2) R^2 where one sample has 1. s is the median over seen classes, each predicted without itself.
    """
    if not described or len(seen.prototypes) < 2:
        return 0.0
    skill = max(0.0, seen.skill)
    return skill / (max(1 - skill**2, LEAST_UNEXPLAINED) * seen.compactness)


def prior_relaxation(params: Parameters, evenness: float, expected: float) -> float:
    """f = relaxation e / (1 + e) evenness: how strongly class sizes follow the prior, e expected samples."""
    f = 0.0 if params.prior is None or params.temperature == 0 else params.constants.relaxation
    return f * expected / (1 + expected) * (evenness if params.estimates_prior else 1.0)


def alignment_weights(data: FitData, seen: SeenClasses, start: State, weights: Weights, params: Parameters) -> Array:
    """(C,) kappa_j: the weight of a class's code; 1 for every class as printed in the paper.

    That of its description, divided by the length of the first z_j D_v, so that every description weighs alike.
    """
    scale = params.alignment_scale
    if scale is None:
        return np.ones(data.n_classes)
    mask = data.seen
    labels = data.counts[mask].mean() if mask.any() else 0.0
    pull = np.where(mask, scale * labels * seen.compactness, weights.of_description(weights.expected))
    lengths = np.linalg.norm(start.Z @ start.D_v, axis=1) if params.unit else np.ones(len(mask))
    return np.maximum(pull / np.maximum(lengths, 1e-3), np.finfo(np.float64).tiny)


def _teaching_share(data: FitData, evenness: float, unit: bool, sample_share: float) -> float:
    """How much unseen classes count in the super-prototypes, 0 to 1; fully in the paper, not without a pool.

    Nor where few of them are there: what the others have found is no class.
    """
    if not unit:
        return 1.0
    return 0.0 if data.pool is None else sample_share * max(evenness, LEAST_EVEN)


def _self_influence(
    data: FitData, evenness: float, params: Parameters, weights: Weights, temperature: float
) -> tuple[float, float]:
    """Which part of the self-influence is subtracted, and how much at most.

    None among seen classes, where the advantage of unseen ones makes up for it. In a pool of all classes a small one is
    one that was predicted badly, and not smaller than the others: hence the upper bound.
    """
    if data.pool is None or not params.soft or params.discriminative > 0 or data.seen_compete:
        return 0.0, 0.0
    part, beta = 1 - params.constants.own_vote, params.beta
    average = beta / max(beta * weights.expected + weights.of_description(weights.expected), SMALLEST_COUNT)
    return part, min(part * average / max(evenness, LEAST_EVEN), MOST_TAKEN_BACK * temperature)
