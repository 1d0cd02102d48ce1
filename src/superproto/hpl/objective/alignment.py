"""Alignment: codes and super-prototypes that explain prototypes and descriptions, in one direction or both (HPL1)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from superproto.estimator.conjugate_gradient import conjugate_gradient
from superproto.hpl.objective.dictionary import dictionary_by_blocks, dictionary_by_gradient, two_way_dictionary
from superproto.hpl.objective.least_squares import least_squares_prototypes
from superproto.hpl.objective.state import Given, Spectrum, State
from superproto.samples.chunks import Array


@dataclass(frozen=True)
class OneWayAlignment:
    """sum_j share kappa_j ( ||p_j - z_j D_v||^2 + lam ||a_j - z_j D_c||^2 + ridge ||z_j||^2 ), the paper's alignment.

    ``share`` is 1 in the paper and 1/2 with unit prototypes.
    """

    given: Given
    share: float = 1.0

    def update_codes(self, state: State, classes: Array) -> State:
        """The Z block of some classes; a hollow class's code comes from its description, its prototype from that."""
        given, Z, P = self.given, state.Z.copy(), state.P
        hollow = classes[given.hollow[classes]]
        filled = classes[~given.hollow[classes]]
        Z[filled] = one_way_codes(P[filled], given.A[filled], Z[filled], state.D_v, state.D_c, given.lam, given.ridge)
        if len(hollow):
            Z[hollow] = one_way_codes_of_descriptions(given.A[hollow], state.D_c, given.ridge / max(given.lam, 1e-300))
            P = P.copy()
            P[hollow] = Z[hollow] @ state.D_v
        return state._replace(Z=Z, P=P)

    def update_super_prototypes(self, state: State, tol: float, max_sweeps: int) -> State:
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

    def free_prototypes(self, state: State, classes: Array, spectrum: Spectrum, counts: Array, sums: Array) -> Array:
        """The P block of the least-squares encoding."""
        given, target = self.given, state.Z[classes] @ state.D_v
        t = given.discriminative
        return least_squares_prototypes(spectrum, counts, sums, target, given.beta, given.kappa[classes], t)

    def cost(self, state: State) -> float:
        """This part of the objective, seen classes plus gamma times unseen ones."""
        weight = self.given.kappa * self.given.domain_weight
        return float(weight @ (one_way_misalignment(self.given, state) * self.share))

    def with_given(self, given: Given) -> OneWayAlignment:
        """The same with other fixed quantities."""
        return replace(self, given=given)


@dataclass(frozen=True)
class TwoWayAlignment:
    """HPL1: the alignment in both directions, one-way + kappa_j ( ||p_j D_v' - z_j||^2 + lam ||a_j D_c' - z_j||^2 )."""

    given: Given

    def update_codes(self, state: State, classes: Array) -> State:
        """The Z block of some classes; a hollow class's code comes from its description, its prototype from that."""
        given, Z, P = self.given, state.Z.copy(), state.P.copy()
        hollow = classes[given.hollow[classes]]
        filled = classes[~given.hollow[classes]]
        Z[filled] = two_way_codes(P[filled], given.A[filled], state.D_v, state.D_c, given.lam)
        if len(hollow):
            Z[hollow] = two_way_codes_of_descriptions(given.A[hollow], state.D_v, state.D_c, given.lam)
            P[hollow] = prototypes_of_codes(Z[hollow], state.D_v)
        return state._replace(Z=Z, P=P)

    def update_super_prototypes(self, state: State, tol: float, max_sweeps: int) -> State:
        """The D_v and D_c blocks, in closed form."""
        root = np.sqrt(self.given.kappa * self.given.domain_weight)[:, None]
        D_v = two_way_dictionary(root * state.Z, root * state.P)
        D_c = two_way_dictionary(root * state.Z, root * self.given.A) if self.given.lam > 0 else state.D_c
        return state._replace(D_v=D_v, D_c=D_c)

    def free_prototypes(self, state: State, classes: Array, spectrum: Spectrum, counts: Array, sums: Array) -> Array:
        """The P block of the least-squares encoding."""
        given = self.given
        return two_way_prototypes(
            state.P[classes], spectrum, counts, sums, state.Z[classes], state.D_v,
            given.beta, given.kappa[classes], given.discriminative,
        )  # fmt: skip

    def cost(self, state: State) -> float:
        """This part of the objective, seen classes plus gamma times unseen ones."""
        given = self.given
        visual = ((state.P @ state.D_v.T - state.Z) ** 2).sum(axis=1)
        semantic = ((given.A @ state.D_c.T - state.Z) ** 2).sum(axis=1)
        both = np.asarray(one_way_misalignment(given, state) + visual + given.lam * semantic)
        return float((given.kappa * given.domain_weight) @ both)

    def with_given(self, given: Given) -> TwoWayAlignment:
        """The same with other fixed quantities."""
        return replace(self, given=given)


def one_way_misalignment(given: Given, state: State) -> Array:
    """(C,) ||p_j - z_j D_v||^2 + lam ||a_j - z_j D_c||^2 + ridge ||z_j||^2; a hollow class's visual part is 0."""
    visual = ((state.P - state.Z @ state.D_v) ** 2).sum(axis=1)
    semantic = ((given.A - state.Z @ state.D_c) ** 2).sum(axis=1)
    return np.asarray(visual + given.lam * semantic + given.ridge * (state.Z**2).sum(axis=1))


def scaled_code_ridge(D_v: Array, D_c: Array, lam: float, ridge: float) -> float:
    """The ridge of the codes, given in units of the mean eigenvalue of their normal matrix D_v D_v' + lam D_c D_c'."""
    S = (D_v**2).sum() + lam * (D_c**2).sum()
    return ridge * float(S) / len(D_v)


def one_way_codes(P: Array, A: Array, Z_old: Array, D_v: Array, D_c: Array, lam: float, ridge: float = 0.0) -> Array:
    """Z (S + ridge I + eps I) = P D_v' + lam A D_c' + eps Z_old,  S = D_v D_v' + lam D_c D_c',  eps = 1e-8 tr(S) / q.

    ``eps Z_old`` makes the safeguard a proximal step: the objective cannot rise even where S is singular (q > d + k).
    """
    S = D_v @ D_v.T + lam * (D_c @ D_c.T)
    eps = 1e-8 * float(np.trace(S)) / len(S) + np.finfo(np.float64).tiny
    S[np.diag_indices_from(S)] += ridge + eps
    right = P @ D_v.T + lam * (A @ D_c.T) + eps * Z_old
    # NumPy's solver, not SciPy's: they bring a BLAS each, whose threads wait for each other where calls take turns.
    return np.asarray(np.linalg.solve(S, right.T).T)


def one_way_codes_of_descriptions(A: Array, D_c: Array, ridge: float = 0.0) -> Array:
    """argmin_Z ||A - Z D_c||^2 (+ ridge ||Z||^2): what a class without samples is made of; minimum norm at ridge 0."""
    if ridge == 0:
        return np.asarray(A @ linalg.pinv(D_c, rtol=1e-10))
    S = D_c @ D_c.T
    S[np.diag_indices_from(S)] += ridge
    return linalg.solve(S, D_c @ A.T, assume_a="pos", check_finite=False).T


def two_way_codes(P: Array, A: Array, D_v: Array, D_c: Array, lam: float) -> Array:
    """Z (D_v D_v' + lam D_c D_c' + (1 + lam) I) = 2 (P D_v' + lam A D_c'); never singular."""
    S = D_v @ D_v.T + lam * (D_c @ D_c.T) + (1 + lam) * np.eye(len(D_v))
    right = 2 * (P @ D_v.T + lam * (A @ D_c.T))
    return linalg.solve(S, right.T, assume_a="pos", check_finite=False).T


def two_way_codes_of_descriptions(A: Array, D_v: Array, D_c: Array, lam: float) -> Array:
    """Z [(I - K)^2 (I + K)^-1 + lam (D_c D_c' + I)] = 2 lam A D_c',  K = D_v D_v': a class without samples."""
    eye = np.eye(len(D_v))
    K = D_v @ D_v.T
    visual = linalg.solve(eye + K, (eye - K) @ (eye - K), assume_a="pos", check_finite=False)
    S = (visual + visual.T) / 2 + lam * (D_c @ D_c.T + eye)
    return linalg.solve(S, 2 * lam * (D_c @ A.T), assume_a="pos", check_finite=False).T


def prototypes_of_codes(Z: Array, D_v: Array) -> Array:
    """P = 2 Z (I + K)^-1 D_v: where the alignment alone puts a prototype."""
    K = D_v @ D_v.T + np.eye(len(D_v))
    return 2 * Z @ linalg.solve(K, D_v, assume_a="pos", check_finite=False)


def two_way_prototypes(
    P: Array, spectrum: Spectrum, counts: Array, sums: Array, Z: Array, D_v: Array, beta: float, kappa: Array, t: float
) -> Array:
    """(t beta X'X + (kappa_j + beta counts_j) I + kappa_j D_v' D_v) p_j = (1 + t) beta sums_j + 2 kappa_j z_j D_v.

    Conjugate gradient on all classes at once from the old P; the preconditioner is the same system without D_v' D_v,
    diagonal in the eigenbasis of X'X, so the condition number is at most 2 for kappa = 1.
    """
    shift = (kappa + beta * counts)[:, None]
    stretched = t * beta * spectrum.eigenvalues
    inside = stretched / (stretched + shift)
    right = (1 + t) * beta * sums + 2 * kappa[:, None] * (Z @ D_v)

    def apply(Y: Array) -> Array:
        return (Y @ spectrum.basis * stretched) @ spectrum.basis.T + shift * Y + kappa[:, None] * ((Y @ D_v.T) @ D_v)

    def precondition(R: Array) -> Array:
        return (R - (R @ spectrum.basis * inside) @ spectrum.basis.T) / shift

    return conjugate_gradient(P, right, apply, precondition, 1e-12, 200)
