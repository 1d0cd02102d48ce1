"""Free prototypes: the encoding of the published model, with hard labels and an exact solution for each class."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from superproto.hpl.objective.state import Alignment, Given, Spectrum, State
from superproto.samples.chunks import Array
from superproto.samples.whitened import WhitenedSamples


@dataclass(frozen=True)
class LeastSquaresEncoding:
    """Hard labels and free prototypes: Algorithm 1's own blocks (t = discriminative weight, 1 in the paper)."""

    given: Given

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

    def update_prototypes(self, state: State, classes: Array, alignment: Alignment) -> State:
        """The P block: one linear system for each class, whose right-hand side the alignment completes."""
        counts, sums = self.given.effective(state)
        P = state.P.copy()
        for spectrum, inside in self.given.by_spectrum(classes):
            if spectrum is not None:
                P[inside] = alignment.free_prototypes(state, inside, spectrum, counts[inside], sums[inside])
        return state._replace(P=P)

    def cost(self, state: State) -> float:
        """beta (t ||X P' - C||^2 + ||X - C P||^2), seen classes plus gamma times unseen ones."""
        given, cost = self.given, self.given.constant
        counts, sums = given.effective(state)
        for spectrum, inside in given.by_spectrum(np.arange(len(state.P))):
            if spectrum is None:
                continue
            P, weight = state.P[inside], float(given.domain_weight[inside][0])
            stretched = quadratic_form(P, spectrum)
            cost += weight * encoding_cost(P, counts[inside], sums[inside], stretched, given.discriminative)
        return given.beta * cost

    def prepare(self, state: State) -> State:
        """The same state: hard assignments have no self-influence to subtract."""
        return state

    def relax(self, state: State, changed: int) -> State:
        """The same state: there is no prior to relax."""
        return state

    def with_given(self, given: Given) -> LeastSquaresEncoding:
        """The same with other fixed quantities."""
        return replace(self, given=given)

    def without_continuation(self) -> LeastSquaresEncoding:
        """The same encoding."""
        return self


def least_squares_prototypes(
    spectrum: Spectrum, counts: Array, sums: Array, target: Array, beta: float, kappa: Array, t: float
) -> Array:
    """(t beta X'X + (kappa_j + beta counts_j) I) p_j = (1 + t) beta sums_j + kappa_j target_j,  target = Z D_v.

    C'C is diagonal, so one eigenbasis of X'X serves every class; exact for a thin basis too. t = kappa = 1: the paper.
    """
    right = (1 + t) * beta * sums + kappa[:, None] * target
    shift = (kappa + beta * counts)[:, None]
    shift = np.maximum(shift, np.finfo(np.float64).tiny)
    stretched = t * beta * spectrum.eigenvalues
    inside = stretched / (stretched + shift)
    return (right - (right @ spectrum.basis * inside) @ spectrum.basis.T) / shift


def encoding_cost(P: Array, counts: Array, sums: Array, stretched: float, t: float) -> float:
    """t ||X P' - C||^2 + ||X - C P||^2 up to t N + ||X||^2, from counts, sums and ``stretched`` = tr(P X'X P')."""
    quadratic = t * stretched + float(counts @ (P**2).sum(axis=1))
    return quadratic - 2 * (1 + t) * float((sums * P).sum())


def quadratic_form(P: Array, spectrum: Spectrum) -> float:
    """tr(P X'X P')."""
    return float((((P @ spectrum.basis) ** 2) @ spectrum.eigenvalues).sum())


def spectrum_of_gram(gram: Array) -> Spectrum:
    """All d eigenpairs of a (d, d) Gram matrix."""
    eigenvalues, basis = linalg.eigh(gram, check_finite=False, driver="evd")
    return Spectrum(basis, np.maximum(eigenvalues, 0))


def spectrum_of_rows(rows: Array) -> Spectrum:
    """The r = min(N, d) eigenpairs of X'X from X itself, for N < d: nothing of size (d, d) is formed."""
    _, singular, basis = linalg.svd(np.asarray(rows, dtype=np.float64), full_matrices=False, check_finite=False)
    return Spectrum(basis.T, singular**2)


def spectrum_of_samples(parts: list[tuple[WhitenedSamples, float]], dimension: int) -> Spectrum:
    """Of the weighted sum of the Gram matrices of some samples."""
    used = [(samples, weight) for samples, weight in parts if weight > 0]
    if not used:
        return Spectrum(np.zeros((dimension, 1)), np.zeros(1))
    if sum(samples.n for samples, _ in used) < dimension:
        return spectrum_of_rows(np.concatenate([np.sqrt(w) * samples.materialize() for samples, w in used]))
    grams = [weight * samples.gram() for samples, weight in used]
    return spectrum_of_gram(grams[0] if len(grams) == 1 else grams[0] + grams[1])
