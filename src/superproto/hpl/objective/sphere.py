"""Unit prototypes: a soft assignment towards a class prior, and prototypes that are normalized sums.

With |p_j| = 1 the objective is linear in p_j, so that the update of a prototype is a sum divided by its length.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from superproto.hpl.objective.assignment import (
    EVEN_SIZES,
    FreeSizes,
    agreement,
    relaxation_weight,
    two_level_prior,
    update_assignment,
)
from superproto.hpl.objective.least_squares import quadratic_form
from superproto.hpl.objective.state import Alignment, Given, Spectrum, State
from superproto.samples.chunks import Array


@dataclass(frozen=True)
class SphereEncoding:
    """Unit prototypes, soft assignment towards a prior; the discriminative term has weight eta (0: means).

    ``temperature`` T and ``relaxation`` f shape the assignment; ``estimates_prior``: the class prior is found too, with
    one share for each level; ``levels`` (n,) is that of each candidate. ``own``: how much of the self-influence of a
    sample is subtracted, 0 to 1, and ``most_own`` the most that is; ``influence_falls``: less and less, as classes
    grow. ``weights`` (n,) share a class's prior among its prototypes; None: each class has one.

    ``relaxes``: the prior is relaxed once classes have found their samples, that is, once an outer iteration changes at
    most a share ``settled`` of the labels. Its strength is then ``relaxed`` if class sizes agree with it less than
    ``confirmed``, and 1 if they agree wholly. From then on the terms of free ``sizes`` count.
    """

    given: Given
    temperature: float
    relaxation: float
    estimates_prior: bool
    levels: Array
    pseudo_count: float
    relaxes: bool = False
    own: float = 0.0
    most_own: float | Array = 0.0
    influence_falls: bool = True
    max_passes: int = 60
    weights: Array | None = None
    sizes: FreeSizes = EVEN_SIZES
    settled: float = 0.0
    relaxed: float = 1.0
    confirmed: float = 0.0

    @property
    def stretch(self) -> float:
        """What <x, p_j> is multiplied by in the scores."""
        return 1 + 2 * self.given.discriminative

    def scored(self, state: State, classes: Array) -> Array:
        """(n, d) what samples are compared with: prototypes and the votes of descriptions."""
        return np.asarray(self.stretch * state.P[classes] + self.given.votes[classes])

    def assign(self, state: State) -> State:
        """The Q block: semi-relaxed entropic transport of the unlabeled samples to the candidates."""
        given = self.given
        if given.pool is None:
            return state
        columns = np.flatnonzero(given.allowed)
        state = self.prepare(state)
        P, bias = self.scored(state, columns), self.size_bias(state)
        worth = float((state.sums[columns] * P).sum()) + float(bias @ state.masses[columns])
        ceiling = state.confusion - worth if len(state.labels) else np.inf
        own = state.continuation.self_influence[columns]
        found = update_assignment(
            given.pool, P, given.bias[columns] + bias, state.prior, state.log_scaling, self.temperature, own,
            self._relaxation(state), ceiling, self.max_passes,
        )  # fmt: skip
        masses, sums = np.zeros(len(state.P)), np.zeros_like(state.P)
        masses[columns], sums[columns] = found.answer.masses, found.answer.sums
        moved = state._replace(
            labels=columns[found.answer.labels], masses=masses, sums=sums,
            log_scaling=found.log_scaling, confusion=found.confusion + float(bias @ found.answer.masses),
        )  # fmt: skip
        return self._with_prior(moved, columns)

    def size_bias(self, state: State) -> Array:
        """(n,) what the sizes of the candidates add to their scores; nothing before the prior was relaxed."""
        columns = np.flatnonzero(self.given.allowed)
        if self.sizes.weight == 0 or not state.continuation.settled:
            return np.zeros(len(columns))
        return self.sizes.bias(state.masses[columns], self.temperature)

    def update_prototypes(self, state: State, classes: Array, alignment: Alignment) -> State:
        """The P block: p_j = normalize(beta sums_j + kappa_j z_j D_v) for classes that are not held."""
        given, eta = self.given, self.given.discriminative
        sums = given.sums + given.pool_weight[:, None] * state.sums
        P, target, kappa = state.P.copy(), state.Z @ state.D_v, given.kappa
        moving = classes[~given.held[classes]]
        for spectrum, inside in [(None, moving)] if eta == 0 else given.by_spectrum(moving):
            if spectrum is None:
                P[inside] = sphere_prototypes(sums[inside], target[inside], given.beta, kappa[inside], P[inside])
            else:
                P[inside] = discriminative_sphere_prototypes(
                    spectrum, sums[inside], target[inside], given.beta, kappa[inside], eta, P[inside]
                )
        return self._with_less_influence(state._replace(P=P), classes)

    def cost(self, state: State) -> float:
        """beta ( - sum_labeled <x, p> + gamma (transport cost of the unlabeled samples) + eta tr(P X'X P') )."""
        given = self.given
        labeled = -self.stretch * float(given.domain_weight @ (given.sums * state.P).sum(axis=1))
        pool = 0.0
        if given.pool is not None and len(state.labels):
            pool = (
                state.confusion
                + self._prior_cost(state)
                + self._size_cost(state)
                - float((state.sums * self.scored(state, np.arange(len(state.P)))).sum())
            )
        bent = 0.0
        if given.discriminative > 0:
            for spectrum, inside in given.by_spectrum(np.arange(len(state.P))):
                if spectrum is not None:
                    weight = float(given.domain_weight[inside][0])
                    bent += weight * given.discriminative * quadratic_form(state.P[inside], spectrum)
        return given.beta * (labeled + given.gamma * pool + bent)

    # -- what may only fall ----------------------------------------------------------------------------------------

    def prepare(self, state: State) -> State:
        """The state with v_j for classes as large as they look at the start, where none is known yet."""
        given, known = self.given, state.continuation.self_influence
        if given.pool is None or self.own == 0 or len(state.labels) or known.any():
            return state
        columns = np.flatnonzero(given.allowed)
        bias = given.bias[columns] + self.temperature * state.log_scaling
        first = given.pool.assign(self.scored(state, columns), bias, self.temperature)
        own = np.zeros(len(state.P))
        own[columns] = np.minimum(self._influence(first.sums, state, columns), self.most_own)
        return state._replace(continuation=state.continuation._replace(self_influence=own))

    def _with_less_influence(self, state: State, classes: Array) -> State:
        """v_j as the class has grown; it only falls, so the objective cannot rise."""
        if self.own == 0 or not self.influence_falls:
            return state
        own = state.continuation.self_influence.copy()
        own[classes] = np.minimum(own[classes], self._influence(state.sums[classes], state, classes))
        return state._replace(continuation=state.continuation._replace(self_influence=own))

    def _influence(self, sums: Array, state: State, classes: Array) -> Array:
        target, given = state.Z[classes] @ state.D_v, self.given
        reached = given.sums[classes] + given.pool_weight[classes, None] * sums
        pulled = total_pull(reached, target, given.beta, given.kappa[classes])
        return self.own * self_influence(pulled, given.beta)

    def relax(self, state: State, changed: int) -> State:
        """The prior is weaker from here on if classes differ in size without it; KL >= 0, so the objective cannot rise.

        The prior makes every class find samples; once they have, it would only take some from the large classes. From
        here on free sizes count, which cost nothing at first.
        """
        given, continuation = self.given, state.continuation
        if given.pool is None or continuation.settled or changed > self.settled * given.pool.n:
            return state
        if not self.relaxes and self.sizes.weight == 0:
            return state
        strength = self._confirmed(state) if self.relaxes else continuation.prior_strength
        settled = continuation._replace(prior_strength=strength, settled=True, settled_masses=state.masses)
        return state._replace(continuation=settled)

    def _confirmed(self, state: State) -> float:
        """The strength of the prior that class sizes without it bear out."""
        given, columns = self.given, np.flatnonzero(self.given.allowed)
        assert given.pool is not None
        P, own = self.scored(state, columns), state.continuation.self_influence[columns]
        free = given.pool.assign(P, given.bias[columns], self.temperature, own, with_sums=False).masses
        agreed = agreement(free / free.sum(), state.prior)
        borne_out = max(0.0, (agreed - self.confirmed) / (1 - self.confirmed))
        return float(self.relaxed + (1 - self.relaxed) * borne_out)

    def with_given(self, given: Given) -> SphereEncoding:
        """The same with other fixed quantities."""
        return replace(self, given=given)

    def without_continuation(self) -> SphereEncoding:
        """The encoding whose prior is not relaxed and whose self-influence does not fall."""
        return replace(self, relaxes=False, influence_falls=False, sizes=EVEN_SIZES)

    # -- the class prior -------------------------------------------------------------------------------------------

    def _relaxation(self, state: State) -> float:
        return self.relaxation * state.continuation.prior_strength

    def _prior_weight(self, state: State) -> float:
        return relaxation_weight(self.temperature, self._relaxation(state))

    def _with_prior(self, state: State, columns: Array) -> State:
        """The pi block, exact for the current masses; the objective's KL term moves with it."""
        if not self.estimates_prior:
            return state
        masses = state.masses[columns]
        prior = two_level_prior(masses, self.levels, self.pseudo_count, self.weights)
        r = self._prior_weight(state)
        change = -float(masses @ (np.log(prior) - np.log(state.prior)))
        return state._replace(prior=prior, confusion=state.confusion + r * change)

    def _prior_cost(self, state: State) -> float:
        """What the pseudo-counts of the levels add: -r sum_l a_l log s_l."""
        if not self.estimates_prior or self.pseudo_count == 0:
            return 0.0
        r = self._prior_weight(state)
        sizes = np.bincount(self.levels, self.weights)
        shares = np.bincount(self.levels, state.prior)
        return -r * self.pseudo_count * float((sizes / sizes.sum()) @ np.log(shares))

    def _size_cost(self, state: State) -> float:
        """What free sizes cost more than when the prior was relaxed."""
        if self.sizes.weight == 0 or not state.continuation.settled:
            return 0.0
        columns = np.flatnonzero(self.given.allowed)
        before = state.continuation.settled_masses[columns]
        return self.sizes.cost(state.masses[columns], before, self.temperature)


def normalized(rows: Array, fallback: Array) -> Array:
    """Rows at length 1; where a row is zero, the fallback's row."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    tiny = np.finfo(np.float64).tiny
    return np.where(lengths > tiny, rows / np.maximum(lengths, tiny), fallback)


def sphere_prototypes(sums: Array, target: Array, beta: float, kappa: Array, P_old: Array) -> Array:
    """p_j = normalize(beta sums_j + kappa_j z_j D_v): the exact minimizer, J being linear on the sphere."""
    return normalized(total_pull(sums, target, beta, kappa), P_old)


def total_pull(sums: Array, target: Array, beta: float, kappa: Array) -> Array:
    """(n, d) beta sums_j + kappa_j z_j D_v: all that pulls on a prototype."""
    return np.asarray(beta * sums + kappa[:, None] * target)


def self_influence(pulled: Array, beta: float) -> Array:
    """(n,) beta / |pull|: what a sample adds to <x, p_j> by being part of p_j."""
    return np.asarray(beta / np.maximum(np.linalg.norm(pulled, axis=1), np.finfo(np.float64).tiny))


def discriminative_sphere_prototypes(
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
