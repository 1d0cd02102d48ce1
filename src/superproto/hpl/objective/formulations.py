"""Models that share codes, super-prototypes and the loop, and differ in the assignment and prototype blocks.

``Published`` is the paper: hard pseudo-labels, prototypes where the objective puts them. ``Bidirectional`` is its HPL1.
The default is in :mod:`superproto.hpl.objective.sphere`.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from superproto.hpl.objective.alignment import (
    one_way_codes,
    one_way_codes_of_descriptions,
    prototypes_of_codes,
    two_way_codes,
    two_way_codes_of_descriptions,
    two_way_prototypes,
)
from superproto.hpl.objective.dictionary import dictionary_by_blocks, dictionary_by_gradient, two_way_dictionary
from superproto.hpl.objective.least_squares import Spectrum, encoding_cost, least_squares_prototypes, quadratic_form
from superproto.samples.chunks import Array
from superproto.samples.whitened import WhitenedSamples


class State(NamedTuple):
    """The unknowns. Pool quantities are over all C classes, zero where a class is no candidate.

    ``hold`` is how firmly class sizes are held to the prior, 1 as at the start; ``settled`` once that was decided.
    ``own`` is what is taken back of a sample's own vote for each class.
    """

    P: Array
    Z: Array
    D_v: Array
    D_c: Array
    labels: Array
    masses: Array
    sums: Array
    log_scaling: Array
    prior: Array
    confusion: float
    hold: float
    settled: bool
    own: Array


@dataclass(frozen=True)
class Given:
    """What stays fixed during a fit: descriptions, masks, labeled sums, the pool, the weights.

    ``offset`` (C,) is an advantage of each class in the assignment; ``held`` (C,) marks prototypes that do not move.
    """

    A: Array
    seen: Array
    allowed: Array
    counts: Array
    sums: Array
    pool: WhitenedSamples | None
    unit: bool
    kappa: Array
    beta: float
    lam: float
    gamma: float
    discriminative: float
    ridge: float
    dictionary_solver: str
    spectra: dict[tuple[bool, bool], Spectrum]
    constant: float
    offset: Array
    held: Array

    @cached_property
    def hollow(self) -> Array:
        """(C,) classes that no sample can reach: a free prototype then comes from the description alone."""
        if self.unit:
            return np.zeros_like(self.seen)
        return ~self.seen & ~(self.allowed if self.pool is not None else np.zeros_like(self.allowed))

    @cached_property
    def pool_weight(self) -> Array:
        """(C,) how much a pool sample counts in a class's own system (an unseen class's system is divided by gamma)."""
        return np.where(self.seen, self.gamma, 1.0)

    @cached_property
    def domain_weight(self) -> Array:
        """(C,) 1 for seen, gamma for unseen classes: the weight of the class's part of the objective."""
        return np.where(self.seen, 1.0, self.gamma)

    def kind(self, members: Array) -> list[tuple[Spectrum | None, Array]]:
        """Split class numbers by which Gram matrix they feel."""
        reached = self.allowed if self.pool is not None else np.zeros_like(self.allowed)
        kinds = [(bool(s), bool(r)) for s, r in {(s, r) for s, r in zip(self.seen[members], reached[members])}]
        chosen = []
        for seen, pooled in sorted(kinds):
            inside = members[(self.seen[members] == seen) & (reached[members] == pooled)]
            chosen.append((self.spectra.get((seen, pooled)), inside))
        return chosen


class Formulation(ABC):
    """Codes, super-prototypes and alignment as in the paper; subclasses add prototypes, assignment and encoding."""

    def __init__(self, given: Given) -> None:
        self.given = given

    def seen_only(self) -> Formulation:
        """The same model at gamma = 0: no pool, super-prototypes from the seen classes alone."""
        alone = copy.copy(self)
        alone.given = replace(self.given, gamma=0.0, pool=None)
        return alone

    # -- blocks ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def assign(self, state: State) -> State:
        """The pool block: labels, masses and sums for the current prototypes."""

    @abstractmethod
    def prototypes(self, state: State, members: Array) -> State:
        """The P block of some classes."""

    @abstractmethod
    def encoding(self, state: State) -> float:
        """The samples' part of the objective."""

    def codes(self, state: State, members: Array) -> State:
        """The Z block of some classes; a hollow class's code comes from its description, its prototype from that."""
        given, Z, P = self.given, state.Z.copy(), state.P
        hollow = members[given.hollow[members]]
        filled = members[~given.hollow[members]]
        Z[filled] = one_way_codes(P[filled], given.A[filled], Z[filled], state.D_v, state.D_c, given.lam, given.ridge)
        if len(hollow):
            Z[hollow] = one_way_codes_of_descriptions(given.A[hollow], state.D_c, given.ridge / max(given.lam, 1e-300))
            P = P.copy()
            P[hollow] = Z[hollow] @ state.D_v
        return state._replace(Z=Z, P=P)

    def super_prototypes(self, state: State, tol: float, max_sweeps: int) -> State:
        """The D_v and D_c blocks: least squares with every row in the unit ball; descriptions stay if none is seen."""
        given = self.given
        if not given.seen.any():
            return state
        weight = given.kappa * given.domain_weight
        visual = np.where(given.hollow, 0.0, weight)
        solve = dictionary_by_blocks if given.dictionary_solver == "blocks" else dictionary_by_gradient
        Z_v, Z_c = state.Z * visual[:, None], state.Z * weight[:, None]
        D_v = solve(state.D_v, Z_v.T @ state.Z, Z_v.T @ state.P, tol, max_sweeps)
        D_c = state.D_c
        if given.lam > 0:
            D_c = solve(state.D_c, Z_c.T @ state.Z, Z_c.T @ given.A, tol, max_sweeps)
        return state._replace(D_v=D_v, D_c=D_c)

    def with_first_votes(self, state: State) -> State:
        """The state with what is to be taken back of own votes; itself where they count."""
        return state

    def unchanging(self) -> Formulation:
        """The model that keeps what this one gives up on the way, so that objectives of two runs compare."""
        return self

    def let_go(self, state: State, changed: int) -> State:
        """The state with what was needed on the way given up, once so few labels change; itself where nothing is."""
        return state

    # -- objective -------------------------------------------------------------------------------------------------

    def misalignment(self, state: State) -> Array:
        """(C,) ||p_j - z_j D_v||^2 + lam ||a_j - z_j D_c||^2 + ridge ||z_j||^2; a hollow class's visual part is 0."""
        given = self.given
        visual = ((state.P - state.Z @ state.D_v) ** 2).sum(axis=1)
        semantic = ((given.A - state.Z @ state.D_c) ** 2).sum(axis=1)
        return np.asarray(visual + given.lam * semantic + given.ridge * (state.Z**2).sum(axis=1))

    def objective(self, state: State) -> float:
        """Psi on the paper's scale: divided by (1 + beta)(1 + lam)(1 + gamma)."""
        given = self.given
        aligned = float((given.kappa * given.domain_weight) @ self.misalignment(state))
        return (self.encoding(state) + aligned) / ((1 + given.beta) * (1 + given.lam) * (1 + given.gamma))

    def reach(self, state: State) -> tuple[Array, Array]:
        """Effective counts (C,) and sums (C, d) of each class: labeled samples plus its share of the pool."""
        weight = self.given.pool_weight
        return self.given.counts + weight * state.masses, self.given.sums + weight[:, None] * state.sums


class Published(Formulation):
    """Hard labels and free prototypes: Algorithm 1's own blocks (t = discriminative weight, 1 in the paper)."""

    def assign(self, state: State) -> State:
        """label_i = argmin_j ||p_j||^2 - 2 (1 + t) <p_j, x_i>."""
        given = self.given
        if given.pool is None:
            return state
        columns = np.flatnonzero(given.allowed)
        P = state.P[columns]
        answer = given.pool.assign(2 * (1 + given.discriminative) * P, -(P**2).sum(axis=1), 0.0)
        masses, sums = np.zeros(len(state.P)), np.zeros_like(state.P)
        masses[columns], sums[columns] = answer.masses, answer.sums
        return state._replace(labels=columns[answer.labels], masses=masses, sums=sums)

    def prototypes(self, state: State, members: Array) -> State:
        counts, sums = self.reach(state)
        P = state.P.copy()
        for spectrum, inside in self.given.kind(members):
            if spectrum is not None:
                P[inside] = self._solve(state, spectrum, inside, counts[inside], sums[inside])
        return state._replace(P=P)

    def _solve(self, state: State, spectrum: Spectrum, inside: Array, counts: Array, sums: Array) -> Array:
        given = self.given
        target = state.Z[inside] @ state.D_v
        return least_squares_prototypes(
            spectrum, counts, sums, target, given.beta, given.kappa[inside], given.discriminative
        )

    def encoding(self, state: State) -> float:
        given, cost = self.given, self.given.constant
        counts, sums = self.reach(state)
        for spectrum, inside in given.kind(np.arange(len(state.P))):
            if spectrum is None:
                continue
            P, weight = state.P[inside], float(given.domain_weight[inside][0])
            stretched = quadratic_form(P, spectrum)
            cost += weight * encoding_cost(P, counts[inside], sums[inside], stretched, given.discriminative)
        return given.beta * cost


class Bidirectional(Published):
    """HPL1: the alignment in both directions."""

    def _solve(self, state: State, spectrum: Spectrum, inside: Array, counts: Array, sums: Array) -> Array:
        given = self.given
        return two_way_prototypes(
            state.P[inside], spectrum, counts, sums, state.Z[inside], state.D_v,
            given.beta, given.kappa[inside], given.discriminative,
        )  # fmt: skip

    def codes(self, state: State, members: Array) -> State:
        given, Z, P = self.given, state.Z.copy(), state.P.copy()
        hollow = members[given.hollow[members]]
        filled = members[~given.hollow[members]]
        Z[filled] = two_way_codes(P[filled], given.A[filled], state.D_v, state.D_c, given.lam)
        if len(hollow):
            Z[hollow] = two_way_codes_of_descriptions(given.A[hollow], state.D_v, state.D_c, given.lam)
            P[hollow] = prototypes_of_codes(Z[hollow], state.D_v)
        return state._replace(Z=Z, P=P)

    def super_prototypes(self, state: State, tol: float, max_sweeps: int) -> State:
        root = np.sqrt(self.given.kappa * self.given.domain_weight)[:, None]
        D_v = two_way_dictionary(root * state.Z, root * state.P)
        D_c = two_way_dictionary(root * state.Z, root * self.given.A) if self.given.lam > 0 else state.D_c
        return state._replace(D_v=D_v, D_c=D_c)

    def misalignment(self, state: State) -> Array:
        given = self.given
        visual = ((state.P @ state.D_v.T - state.Z) ** 2).sum(axis=1)
        semantic = ((given.A @ state.D_c.T - state.Z) ** 2).sum(axis=1)
        return np.asarray(super().misalignment(state) + visual + given.lam * semantic)
