"""The default's own blocks: unit prototypes, and a soft assignment of the pool towards a class prior."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from superproto.hpl.objective import assignment, sphere
from superproto.hpl.objective.formulations import Formulation, Given, State
from superproto.hpl.objective.least_squares import Spectrum, quadratic_form
from superproto.samples.chunks import Array

# Once an outer iteration changes at most a share SETTLED of the labels, class sizes are held LOOSE as firmly if they
# agree with the prior less than BORNE_OUT[0], and as before at BORNE_OUT[1] (docs/decisions.md, 19).
SETTLED, LOOSE, BORNE_OUT = 0.03, 0.3, (0.97, 1.0)


@dataclass(frozen=True)
class Softness:
    """Temperature T, relaxation f, and the family in which the class prior is found.

    ``own``: how much of a sample's own vote for a class is taken back, 0 to 1, and ``most_own`` what is at most;
    ``votes_fall``: less and less, as classes grow.
    ``lets_go``: class sizes are held firmly only until classes have found their samples. ``weights`` (n,) share a
    class's prior among its prototypes; None: each class has one.
    """

    temperature: float
    relaxation: float
    prior: str
    levels: Array
    pseudo_count: float
    lets_go: bool = False
    own: float = 0.0
    most_own: float | Array = 0.0
    votes_fall: bool = True
    max_passes: int = 60
    weights: Array | None = None


class Spherical(Formulation):
    """Unit prototypes, soft assignment towards a prior; the discriminative term has weight eta (0: means)."""

    def __init__(self, given: Given, softness: Softness) -> None:
        super().__init__(given)
        self.softness = softness
        self.stretch = 1 + 2 * given.discriminative

    def assign(self, state: State) -> State:
        given, soft = self.given, self.softness
        if given.pool is None:
            return state
        columns = np.flatnonzero(given.allowed)
        state = self.with_first_votes(state)
        P = self.stretch * state.P[columns]
        ceiling = state.confusion - float((state.sums[columns] * P).sum()) if len(state.labels) else np.inf
        found = assignment.update_assignment(
            given.pool,
            P,
            given.offset[columns],
            state.prior,
            state.log_scaling,
            soft.temperature,
            state.own[columns],
            self._relaxation(state),
            ceiling,
            soft.max_passes,
        )
        masses, sums = np.zeros(len(state.P)), np.zeros_like(state.P)
        masses[columns], sums[columns] = found.answer.masses, found.answer.sums
        moved = state._replace(
            labels=columns[found.answer.labels], masses=masses, sums=sums,
            log_scaling=found.log_scaling, confusion=found.confusion,
        )  # fmt: skip
        return self._with_prior(moved, columns)

    def unchanging(self) -> Spherical:
        return Spherical(self.given, replace(self.softness, lets_go=False, votes_fall=False))

    def plain_objective(self, state: State, hold: float) -> float:
        """Of the state's prototypes and codes, the pool shared out anew: own votes count, sizes are held so firmly.

        So states that gave up different things on the way compare.
        """
        plain = Spherical(self.given, replace(self.softness, own=0.0, lets_go=False))
        bare = state._replace(labels=np.zeros(0, dtype=np.int64), own=np.zeros_like(state.own), hold=hold)
        return plain.objective(plain.assign(bare))

    @property
    def score_weight(self) -> float:
        """What <x, p_j> of a pool sample counts in the objective."""
        given = self.given
        return given.beta * given.gamma / ((1 + given.beta) * (1 + given.lam) * (1 + given.gamma))

    def let_go(self, state: State, changed: int) -> State:
        """f is smaller from here on if classes differ in size without the prior; KL >= 0, so the objective cannot rise.

        The prior makes every class find samples; once they have, it would only take some from the large classes.
        """
        given, soft = self.given, self.softness
        if given.pool is None or state.settled or not soft.lets_go or changed > SETTLED * given.pool.n:
            return state
        columns = np.flatnonzero(given.allowed)
        P = self.stretch * state.P[columns]
        free = given.pool.assign(P, given.offset[columns], soft.temperature, state.own[columns], with_sums=False).masses
        low, high = BORNE_OUT
        borne_out = np.clip((assignment.agreement(free / free.sum(), state.prior) - low) / (high - low), 0.0, 1.0)
        return state._replace(hold=float(LOOSE + (1 - LOOSE) * borne_out), settled=True)

    def with_first_votes(self, state: State) -> State:
        """v_j for classes as large as they look at the start, where no prototype holds a vote yet."""
        given, soft = self.given, self.softness
        if given.pool is None or soft.own == 0 or len(state.labels) or state.own.any():
            return state
        columns = np.flatnonzero(given.allowed)
        bias = given.offset[columns] + soft.temperature * state.log_scaling
        first = given.pool.assign(self.stretch * state.P[columns], bias, soft.temperature)
        own = np.zeros(len(state.P))
        own[columns] = np.minimum(self._votes(first.sums, state, columns), soft.most_own)
        return state._replace(own=own)

    def _with_fewer_votes(self, state: State, members: Array) -> State:
        """v_j as the class has grown; it only falls, so the objective cannot rise."""
        if self.softness.own == 0 or not self.softness.votes_fall:
            return state
        own = state.own.copy()
        own[members] = np.minimum(own[members], self._votes(state.sums[members], state, members))
        return state._replace(own=own)

    def _votes(self, sums: Array, state: State, members: Array) -> Array:
        target, given = state.Z[members] @ state.D_v, self.given
        reached = given.sums[members] + given.pool_weight[members, None] * sums
        pulled = sphere.total_pull(reached, target, given.beta, given.kappa[members])
        return self.softness.own * sphere.self_influence(pulled, given.beta)

    def _relaxation(self, state: State) -> float:
        return self.softness.relaxation * state.hold

    def _weight(self, state: State) -> float:
        return assignment.relaxation_weight(self.softness.temperature, self._relaxation(state))

    def _with_prior(self, state: State, columns: Array) -> State:
        """The pi block, exact for the current masses; the objective's KL term moves with it."""
        soft = self.softness
        masses = state.masses[columns]
        if soft.prior == "smoothed":
            prior = assignment.smoothed_prior(masses, soft.pseudo_count)
        elif soft.prior == "two-level":
            prior = assignment.two_level_prior(masses, soft.levels, soft.pseudo_count, soft.weights)
        else:
            return state
        r = self._weight(state)
        change = -float(masses @ (np.log(prior) - np.log(state.prior)))
        return state._replace(prior=prior, confusion=state.confusion + r * change)

    def _prior_cost(self, state: State) -> float:
        """What the pseudo-counts add: -r a sum_j log pi_j (smoothed), -r sum_l a_l log s_l (two-level)."""
        soft = self.softness
        if soft.prior not in {"smoothed", "two-level"} or soft.pseudo_count == 0:
            return 0.0
        r = self._weight(state)
        if soft.prior == "smoothed":
            return -r * soft.pseudo_count * float(np.log(state.prior).sum())
        sizes = np.bincount(soft.levels, soft.weights)
        shares = np.bincount(soft.levels, state.prior)
        return -r * soft.pseudo_count * float((sizes / sizes.sum()) @ np.log(shares))

    def prototypes(self, state: State, members: Array) -> State:
        given = self.given
        _, sums = self.reach(state)
        P = state.P.copy()
        target = state.Z @ state.D_v
        kappa = given.kappa
        for spectrum, inside in given.kind(members[~given.held[members]]):
            if given.discriminative == 0 or spectrum is None:
                P[inside] = sphere.sphere_prototypes(sums[inside], target[inside], given.beta, kappa[inside], P[inside])
            else:
                P[inside] = sphere.discriminative_sphere_prototypes(
                    spectrum, sums[inside], target[inside], given.beta, kappa[inside], given.discriminative, P[inside]
                )
        return self._with_fewer_votes(state._replace(P=P), members)

    def misalignment(self, state: State) -> Array:
        return super().misalignment(state) / 2

    def encoding(self, state: State) -> float:
        given = self.given
        labeled = -self.stretch * float(given.domain_weight @ (given.sums * state.P).sum(axis=1))
        pool = 0.0
        if given.pool is not None and len(state.labels):
            pool = state.confusion + self._prior_cost(state) - self.stretch * float((state.sums * state.P).sum())
        bent = 0.0
        if given.discriminative > 0:
            for spectrum, inside in given.kind(np.arange(len(state.P))):
                if spectrum is not None:
                    weight = float(given.domain_weight[inside][0])
                    bent += weight * given.discriminative * quadratic_form(state.P[inside], spectrum)
        return given.beta * (labeled + given.gamma * pool + bent)


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
