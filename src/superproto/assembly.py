"""ASSEMBLE: from checked input to what the solver works on: the fixed :class:`Given`, a first :class:`State`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.inputs import Problem
from superproto.rows import Array, Rows
from superproto.samples import Samples, labeled_and_pool
from superproto.solver import start
from superproto.solver.blocks import Spectrum, spectrum_of_gram, spectrum_of_rows
from superproto.solver.formulations import Bidirectional, Formulation, Given, Published, Softness, Spherical, State
from superproto.solver.spherical import normalized
from superproto.warm import continued
from superproto.whitening import Metric, unit_rows


@dataclass(frozen=True)
class Choices:
    """The estimator's parameters in the solver's terms."""

    beta: float
    lam: float
    gamma: float
    q: int
    bidirectional: bool
    unit: bool
    init: Any
    alternate: bool
    dictionary_solver: str
    discriminative: float
    alignment_scale: float | None
    prior: Any
    temperature: float
    relaxation: float
    code_ridge: float
    seed: int | None


class Assembly:
    """One fit's pieces. ``make_rows(X, index)`` is how the backend selects rows."""

    def __init__(
        self, choices: Choices, make_rows: Callable[[Any, Array], Rows], X: Any, problem: Problem, metric: Metric
    ) -> None:
        self.choices = choices
        self.problem = problem
        known, asked = labeled_and_pool(problem.labels)
        self.labeled = Samples(make_rows(X, known), metric)
        self.pool = Samples(make_rows(X, asked), metric) if len(asked) else None
        self.counts, self.sums = self.labeled.class_sums(problem.labels[known], problem.n_classes)
        self.A = unit_rows(problem.semantics)
        self.is_soft = choices.unit and choices.temperature > 0
        self.given = self._given()
        self.model = self._model()

    def _model(self) -> Formulation:
        if self.choices.bidirectional:
            return Bidirectional(self.given)
        if not self.choices.unit:
            return Published(self.given)
        return Spherical(self.given, self._softness())

    # -- fixed quantities ------------------------------------------------------------------------------------------

    def _given(self) -> Given:
        choices, problem = self.choices, self.problem
        spectra, constant = self._spectra()
        return Given(
            A=self.A, seen=problem.seen, allowed=problem.allowed, counts=self.counts, sums=self.sums, pool=self.pool,
            unit=choices.unit, kappa=self._alignment_weights(), beta=choices.beta, lam=choices.lam, gamma=choices.gamma,
            discriminative=choices.discriminative, ridge=choices.code_ridge,
            dictionary_solver=choices.dictionary_solver, spectra=spectra, constant=constant,
        )  # fmt: skip

    def _alignment_weights(self) -> Array:
        """(C,) kappa_j: the pull of a class's code, in samples; 1 for every class as printed in the paper.

        A class of c unit rows pulls with c times the length of its mean, so the scale is the same on every data set.
        """
        scale = self.choices.alignment_scale
        if scale is None:
            return np.ones(self.problem.n_classes)
        seen, allowed = self.problem.seen, self.problem.allowed
        compactness = np.median(np.linalg.norm(self.sums[seen], axis=1) / self.counts[seen])
        typical = self.counts[seen].mean()
        pool = typical if self.pool is None else self.pool.n / allowed.sum()
        return np.maximum(scale * compactness * np.where(seen, typical, pool), np.finfo(np.float64).tiny)

    def _spectra(self) -> tuple[dict[tuple[bool, bool], Spectrum], float]:
        """Eigenpairs of the Gram matrices that classes feel, by (seen, reached by the pool); none for unit P at t = 0.

        The constant is t N + |X|^2 of both domains, which the published objective carries along.
        """
        t, gamma = self.choices.discriminative, self.choices.gamma
        if self.choices.unit and t == 0:
            return {}, 0.0
        allowed, seen = self.problem.allowed & (self.pool is not None), self.problem.seen
        pool_n = 0 if self.pool is None else self.pool.n
        constant = (t + 1) * (self.labeled.n + gamma * pool_n)
        kinds = {(bool(s), bool(r)) for s, r in zip(seen, allowed)} - {(False, False)}
        if not self.choices.alternate:
            kinds.add((True, False))
        return {kind: self._spectrum(*kind) for kind in sorted(kinds)}, constant

    def _spectrum(self, seen: bool, pooled: bool) -> Spectrum:
        """Of X_s'X_s + gamma X_u'X_u for a seen class that the pool reaches; of one of them otherwise."""
        weights = {"labeled": 1.0 if seen else 0.0, "pool": 0.0 if not pooled else self.choices.gamma if seen else 1.0}
        parts = [(self.labeled, weights["labeled"]), (self.pool, weights["pool"])]
        used = [(samples, weight) for samples, weight in parts if samples is not None and weight > 0]
        if not used:
            return Spectrum(np.zeros((self.labeled.dimension, 1)), np.zeros(1))
        if sum(samples.n for samples, _ in used) < self.labeled.dimension:
            return spectrum_of_rows(np.concatenate([np.sqrt(w) * samples.materialize() for samples, w in used]))
        grams = [weight * samples.gram() for samples, weight in used]
        return spectrum_of_gram(grams[0] if len(grams) == 1 else grams[0] + grams[1])

    def _softness(self) -> Softness:
        choices, allowed = self.choices, self.problem.allowed
        levels = self.problem.seen[allowed].astype(np.int64)
        kind = "fixed"
        if isinstance(choices.prior, str) and choices.prior == "estimated":
            kind = "two-level" if 0 < levels.sum() < len(levels) else "smoothed"
        if kind == "two-level":
            levels = np.unique(levels, return_inverse=True)[1]
        pool_n = 0 if self.pool is None else self.pool.n
        relaxation = 0.0 if choices.prior is None or choices.temperature == 0 else choices.relaxation
        return Softness(choices.temperature, relaxation, kind, levels, pool_n / max(1, len(levels)))

    # -- the start -------------------------------------------------------------------------------------------------

    def first_state(self) -> State:
        """Seen prototypes are class means; unseen ones are predicted from descriptions."""
        choices, seen = self.choices, self.problem.seen
        P = np.zeros_like(self.sums)
        P[seen] = self.sums[seen] / self.counts[seen, None]
        if choices.unit:
            P[seen] = normalized(P[seen], P[seen])
        P[~seen] = start.predict_prototypes(self.A[seen], P[seen], self.A[~seen])
        if choices.unit:
            P[~seen] = normalized(P[~seen], P[~seen])
        P = self._clustered(P)
        D_v, D_c = start.first_super_prototypes(
            P[seen], self.A[seen], P[~seen], self.A[~seen], choices.q, choices.lam, choices.seed
        )
        columns = int(self.problem.allowed.sum())
        first = State(
            P=P, Z=np.zeros((len(P), choices.q)), D_v=D_v, D_c=D_c, labels=np.zeros(0, dtype=np.int64),
            masses=np.zeros(len(P)), sums=np.zeros_like(P), log_scaling=np.zeros(columns),
            prior=self._first_prior(columns), confusion=0.0,
        )  # fmt: skip
        if isinstance(choices.init, str):
            return first
        problem = self.problem
        return continued(first, choices.init, problem.names, problem.allowed, self.labeled.metric, choices.unit)

    def _clustered(self, P: Array) -> Array:
        targets = self.problem.allowed & ~self.problem.seen
        if self.choices.init not in ("kmeans", "affinity") or self.pool is None or not targets.any():
            return P
        P = P.copy()
        P[targets] = start.cluster_prototypes(
            self.pool.materialize().astype(np.float64), P[targets], self.choices.init, self.choices.seed
        )
        return normalized(P, P) if self.choices.unit else P

    def _first_prior(self, columns: int) -> Array:
        given = self.choices.prior
        if given is None or isinstance(given, str):
            return np.full(columns, 1 / columns)
        prior = np.asarray(given, dtype=np.float64)
        if prior.shape != (self.problem.n_classes,) or not np.isfinite(prior).all() or (prior < 0).any():
            raise UserError(
                f"prior has shape {prior.shape}, but it must be {self.problem.n_classes} finite numbers, at least 0."
            )
        chosen = np.maximum(prior[self.problem.allowed], 1e-12)
        return chosen / chosen.sum()

    # -- what a fitted estimator keeps -------------------------------------------------------------------------------

    def scoring(self, state: State) -> tuple[Array, Array]:
        """Prototypes and biases with which <x, p_j> + bias_j is largest for the class that a sample is given."""
        if self.choices.unit:
            bias = np.zeros(len(state.P))
            bias[self.problem.allowed] = self.choices.temperature * state.log_scaling
            return (1 + 2 * self.choices.discriminative) * state.P, bias
        return 2 * (1 + self.choices.discriminative) * state.P, -(state.P**2).sum(axis=1)

    def class_prior(self, state: State) -> Array:
        """(C,) the share of the pool that each class holds, or its prior when there is no pool."""
        if self.pool is None:
            prior = np.zeros(len(state.P))
            prior[self.problem.allowed] = state.prior
            return prior
        return state.masses / state.masses.sum()
