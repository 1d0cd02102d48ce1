"""The unknowns of a fit, what stays fixed during it, and the objective as the sum of an encoding and an alignment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from superproto.samples.chunks import Array
from superproto.samples.whitened import WhitenedSamples


class Continuation(NamedTuple):
    """What may only fall during a fit, so that the objective never rises.

    ``prior_strength`` is the factor of the strength of the class prior, 1 at the start; ``settled`` is True once it was
    decided, at the class sizes ``settled_masses`` (C,). ``self_influence`` (C,) is what is subtracted of the influence
    of a sample on its own score in each class.
    """

    prior_strength: float
    settled: bool
    settled_masses: Array
    self_influence: Array


class State(NamedTuple):
    """The unknowns. Quantities of unlabeled samples are over all C classes, zero where a class is no candidate."""

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
    continuation: Continuation


class Spectrum(NamedTuple):
    """X'X = V diag(w) V', the only trace that samples leave in the prototype update. V is (d, r), r <= min(N, d)."""

    basis: Array
    eigenvalues: Array


@dataclass(frozen=True)
class Given:
    """What stays fixed during a fit: descriptions, masks, labeled sums, unlabeled samples, weights.

    ``offset`` (C,) is added to the scores of each class in the assignment. Texts add <x, votes_j> + vote_bias_j to
    those of a sample x. ``held`` (C,) marks prototypes that do not move.
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
    votes: Array
    vote_bias: Array
    held: Array

    @cached_property
    def bias(self) -> Array:
        """(C,) what is added to the scores of each class, whatever the sample."""
        return self.offset + self.vote_bias

    @cached_property
    def hollow(self) -> Array:
        """(C,) classes that no sample can reach: a free prototype then comes from the description alone."""
        if self.unit:
            return np.zeros_like(self.seen)
        return ~self.seen & ~(self.allowed if self.pool is not None else np.zeros_like(self.allowed))

    @cached_property
    def pool_weight(self) -> Array:
        """(C,) weight of an unlabeled sample in a class's own system (an unseen class's system is divided by gamma)."""
        return np.where(self.seen, self.gamma, 1.0)

    @cached_property
    def domain_weight(self) -> Array:
        """(C,) 1 for seen, gamma for unseen classes: the weight of the class's part of the objective."""
        return np.where(self.seen, 1.0, self.gamma)

    def by_spectrum(self, classes: Array) -> list[tuple[Spectrum | None, Array]]:
        """Class numbers grouped by the Gram matrix that they depend on."""
        reached = self.allowed if self.pool is not None else np.zeros_like(self.allowed)
        kinds = [(bool(s), bool(r)) for s, r in {(s, r) for s, r in zip(self.seen[classes], reached[classes])}]
        chosen = []
        for seen, pooled in sorted(kinds):
            inside = classes[(self.seen[classes] == seen) & (reached[classes] == pooled)]
            chosen.append((self.spectra.get((seen, pooled)), inside))
        return chosen

    def effective(self, state: State) -> tuple[Array, Array]:
        """Counts (C,) and sums (C, d) of each class: labeled samples plus its share of the unlabeled ones."""
        weight = self.pool_weight
        return self.counts + weight * state.masses, self.sums + weight[:, None] * state.sums


class Alignment(Protocol):
    """What descriptions say about prototypes."""

    @property
    def given(self) -> Given:
        """What stays fixed."""
        ...

    def update_codes(self, state: State, classes: Array) -> State:
        """The Z block of some classes."""
        ...

    def update_super_prototypes(self, state: State, tol: float, max_sweeps: int) -> State:
        """The D_v and D_c blocks."""
        ...

    def free_prototypes(self, state: State, classes: Array, spectrum: Spectrum, counts: Array, sums: Array) -> Array:
        """The prototypes that minimize the least-squares encoding plus this alignment."""
        ...

    def cost(self, state: State) -> float:
        """This part of the objective."""
        ...

    def with_given(self, given: Given) -> Alignment:
        """The same with other fixed quantities."""
        ...


class Encoding(Protocol):
    """What samples say about prototypes."""

    @property
    def given(self) -> Given:
        """What stays fixed."""
        ...

    def assign(self, state: State) -> State:
        """The block of the unlabeled samples: labels, masses and sums for the current prototypes."""
        ...

    def update_prototypes(self, state: State, classes: Array, alignment: Alignment) -> State:
        """The P block of some classes, under the alignment that they share the objective with."""
        ...

    def cost(self, state: State) -> float:
        """This part of the objective."""
        ...

    def prepare(self, state: State) -> State:
        """The state with the self-influence to subtract, measured once before the first assignment."""
        ...

    def relax(self, state: State, changed: int) -> State:
        """The state with a weaker prior, once so few labels change; the same state where nothing is relaxed."""
        ...

    def with_given(self, given: Given) -> Encoding:
        """The same with other fixed quantities."""
        ...

    def without_continuation(self) -> Encoding:
        """The encoding whose weights stay as they are at the start, so that objectives of two runs compare."""
        ...


@dataclass(frozen=True)
class Objective:
    """The sum of an encoding and an alignment that share what is given."""

    encoding: Encoding
    alignment: Alignment

    @property
    def given(self) -> Given:
        """What stays fixed."""
        return self.encoding.given

    def value(self, state: State) -> float:
        """Psi on the paper's scale: divided by (1 + beta)(1 + lam)(1 + gamma)."""
        given = self.given
        total = self.encoding.cost(state) + self.alignment.cost(state)
        return total / ((1 + given.beta) * (1 + given.lam) * (1 + given.gamma))

    def with_given(self, given: Given) -> Objective:
        """The same objective with other fixed quantities."""
        return Objective(self.encoding.with_given(given), self.alignment.with_given(given))

    def seen_only(self) -> Objective:
        """The same objective at gamma = 0: no unlabeled samples, super-prototypes from the seen classes alone."""
        return self.with_given(replace(self.given, gamma=0.0, pool=None))

    def without_continuation(self) -> Objective:
        """The same objective with weights that stay as they are at the start."""
        return Objective(self.encoding.without_continuation(), self.alignment)
