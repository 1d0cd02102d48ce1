"""The objective of a fit: an encoding and an alignment, with the weights that were chosen.

HPL()            = SphereEncoding       + OneWayAlignment
as_published()   = LeastSquaresEncoding + OneWayAlignment
variant="hpl1"   = LeastSquaresEncoding + TwoWayAlignment
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from superproto.hpl.fit_data import FitData
from superproto.hpl.generalized import first_offset, settle_unseen_share
from superproto.hpl.objective.alignment import OneWayAlignment, TwoWayAlignment, scaled_code_ridge
from superproto.hpl.objective.least_squares import LeastSquaresEncoding, spectrum_of_samples
from superproto.hpl.objective.sphere import SphereEncoding
from superproto.hpl.objective.state import Given, Objective, Spectrum, State
from superproto.hpl.parameters import Parameters
from superproto.hpl.seen_classes import SeenClasses
from superproto.hpl.texts import Votes
from superproto.hpl.weights import Weights, alignment_weights
from superproto.samples.chunks import Array
from superproto.samples.whitened import WhitenedSamples


def build_objective(
    data: FitData, seen: SeenClasses, start: State, weights: Weights, params: Parameters
) -> tuple[Objective, State]:
    """The objective and where its iterations start; in the generalized setting with the share of unseen classes."""
    kappa = alignment_weights(data, seen, start, weights, params)
    offset = first_offset(data, seen, start.P, params.soft)
    objective = compose(
        _given(data, start, seen.votes, weights, kappa, offset, params), data, seen.temperature, weights, params
    )
    return settle_unseen_share(objective, start, data, weights, seen.compactness)


def compose(given: Given, data: FitData, temperature: float, weights: Weights, params: Parameters) -> Objective:
    """An encoding and an alignment, as the parameters ask for."""
    if params.two_way:
        return Objective(LeastSquaresEncoding(given), TwoWayAlignment(given))
    if not params.unit:
        return Objective(LeastSquaresEncoding(given), OneWayAlignment(given))
    encoding = SphereEncoding(
        given, temperature, weights.relaxation, params.estimates_prior,
        levels=np.unique(data.seen[data.allowed], return_inverse=True)[1],
        pseudo_count=params.constants.share_pseudo_count,
        relaxes=params.estimates_prior and weights.relaxation > 0 and not data.generalized,
        own=weights.own, most_own=weights.most_own, sizes=weights.sizes,
        settled=params.constants.settled, relaxed=params.constants.relaxed, confirmed=params.constants.confirmed,
    )  # fmt: skip
    return Objective(encoding, OneWayAlignment(given, share=0.5))


def _given(
    data: FitData, start: State, votes: Votes | None, weights: Weights, kappa: Array, offset: Array, params: Parameters
) -> Given:
    spectra, constant = gram_spectra(data, weights.gamma, params)
    nothing = Votes(np.zeros_like(start.P), np.zeros(data.n_classes))
    votes = nothing if votes is None else votes
    return Given(
        A=data.descriptions, seen=data.seen, allowed=data.allowed, counts=data.counts, sums=data.sums, pool=data.pool,
        unit=params.unit, kappa=kappa, beta=params.beta, lam=params.lam, gamma=weights.gamma,
        discriminative=params.discriminative, dictionary_solver=params.dictionary_solver,
        ridge=scaled_code_ridge(start.D_v, start.D_c, params.lam, params.code_ridge),
        spectra=spectra, constant=constant, offset=offset, votes=votes.vectors,
        vote_bias=votes.biases,
        held=data.seen & data.allowed & (params.soft and data.generalized),
    )  # fmt: skip


def gram_spectra(data: FitData, gamma: float, params: Parameters) -> tuple[dict[tuple[bool, bool], Spectrum], float]:
    """Eigenpairs of the Gram matrices that classes depend on, by (seen, reached by unlabeled samples).

    None for unit prototypes without a discriminative term. The constant is t N + |X|^2 of both domains, which the
    published objective carries along.
    """
    t, pool = params.discriminative, data.pool
    if params.unit and t == 0:
        return {}, 0.0
    allowed = data.allowed & (pool is not None)
    constant = (t + 1) * (data.labeled.n + gamma * (0 if pool is None else pool.n))
    kinds = {(bool(s), bool(r)) for s, r in zip(data.seen, allowed)} - {(False, False)}
    if not params.alternate:
        kinds.add((True, False))
    return {kind: _spectrum(data, gamma, *kind) for kind in sorted(kinds)}, constant


def _spectrum(data: FitData, gamma: float, seen: bool, pooled: bool) -> Spectrum:
    """Of X_s'X_s + gamma X_u'X_u for a seen class that unlabeled samples reach; of one of them otherwise."""
    parts = [(data.labeled, 1.0 if seen else 0.0)]
    if data.pool is not None:
        parts.append((data.pool, 0.0 if not pooled else gamma if seen else 1.0))
    return spectrum_of_samples(parts, data.labeled.dimension)


def scoring(objective: Objective, state: State) -> tuple[Array, Array]:
    """Prototypes and biases with which <x, p_j> + bias_j is largest for the class that a sample is given."""
    given, encoding = objective.given, objective.encoding
    if isinstance(encoding, SphereEncoding):
        bias = given.bias.copy()
        bias[given.allowed] += encoding.temperature * state.log_scaling + encoding.size_bias(state)
        return encoding.scored(state, np.arange(len(state.P))), bias
    return 2 * (1 + given.discriminative) * state.P, -(state.P**2).sum(axis=1)


def scorer(objective: Objective, state: State) -> Callable[[WhitenedSamples], Array]:
    """Gives samples their (N, C) scores."""
    prototypes, bias = scoring(objective, state)
    return lambda samples: samples.scores(prototypes) + bias


def class_shares(state: State, allowed: Array, pooled: bool) -> Array:
    """(C,) the share of the unlabeled samples that each class has, or its prior when there are none."""
    if not pooled:
        prior = np.zeros(len(state.P))
        prior[allowed] = state.prior
        return prior
    return state.masses / state.masses.sum()
