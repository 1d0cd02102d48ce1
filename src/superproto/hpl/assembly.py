"""ASSEMBLE: from checked input to what the solver works on: the fixed :class:`Given`, a first :class:`State`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from superproto.estimator.validation import Problem
from superproto.hpl import generalized, pool_diagnosis
from superproto.hpl.objective.alignment import one_way_codes
from superproto.hpl.objective.formulations import Bidirectional, Formulation, Given, Published, State
from superproto.hpl.objective.least_squares import Spectrum, spectrum_of_gram, spectrum_of_rows
from superproto.hpl.objective.sphere import Softness, Spherical, normalized
from superproto.hpl.parameters import Parameters, shares_given
from superproto.hpl.seen_classes import PROTOTYPE_RIDGE, predict_left_out, predict_prototypes
from superproto.hpl.start import cluster_prototypes, continue_from, first_super_prototypes
from superproto.hpl.weights import effective_counts, measure_compactness
from superproto.samples.centering import center_descriptions
from superproto.samples.chunks import Array, ChunkedRows
from superproto.samples.whitened import WhitenedSamples, labeled_and_pool
from superproto.samples.whitening import Metric

# Set by hand on validation classes of the four packs (docs/decisions.md, 8); none of them is tuned per data set.
SHARE_PSEUDO_COUNT = 20.0
CENTERED_RIDGE = 0.3
# In temperatures: what is taken back must not lift classes that float32's exponentials have lost (they end at 87).
MOST_TAKEN_BACK = 50.0
# As 0 evenness would leave the pool out of the objective, and bound no vote.
LEAST_EVEN = 0.01
# What a label is worth against a sample that the pool is thought to have.
LABEL_WEIGHT = 3.0


class Assembly:
    """One fit's pieces. ``make_rows(X, index)`` is how the backend selects rows."""

    def __init__(
        self,
        choices: Parameters,
        make_rows: Callable[[Any, Array], ChunkedRows],
        X: Any,
        problem: Problem,
        metric: Metric,
    ) -> None:
        self.choices = choices
        self.problem = problem
        known, asked = labeled_and_pool(problem.labels)
        self.labels = problem.labels[known]
        self.labeled = WhitenedSamples(make_rows(X, known), metric)
        self.pool = WhitenedSamples(make_rows(X, asked), metric) if len(asked) else None
        self.counts, self.sums = self.labeled.class_sums(self.labels, problem.n_classes)
        opened = ~problem.seen & (self.counts > 0)
        self.counts[opened] *= LABEL_WEIGHT
        self.sums[opened] *= LABEL_WEIGHT
        self.A = center_descriptions(problem.semantics, centered=choices.unit)
        self.ridge = CENTERED_RIDGE if choices.unit else PROTOTYPE_RIDGE
        self.is_soft = choices.unit and choices.temperature > 0
        self.compactness = measure_compactness(self)
        self.temperature = choices.temperature * self.compactness
        self.predicted = self._predict()
        self.start = self._start()
        self.presence = self._presence()
        self.evidence = effective_counts(self)
        self.gamma = choices.gamma * self._teaching_share()
        self.model = self.formulation(self._given())
        if self.is_soft and self._is_generalized():
            self.model, self.start = generalized.settle(self, self.model)

    def formulation(self, given: Given) -> Formulation:
        if self.choices.bidirectional:
            return Bidirectional(given)
        if not self.choices.unit:
            return Published(given)
        return Spherical(given, self._softness())

    def _is_generalized(self) -> bool:
        allowed, seen = self.problem.allowed, self.problem.seen
        return bool((allowed & seen).any() and (allowed & ~seen).any())

    # -- fixed quantities ------------------------------------------------------------------------------------------

    def _given(self) -> Given:
        choices, problem = self.choices, self.problem
        spectra, constant = self._spectra()
        among_seen = self.is_soft and self._is_generalized()
        offset = np.zeros(problem.n_classes)
        offset[problem.allowed] = self.presence.advantage
        if among_seen:
            offset[~problem.seen] = generalized.estimate_unseen_advantage(self)
        return Given(
            A=self.A, seen=problem.seen, allowed=problem.allowed, counts=self.counts, sums=self.sums, pool=self.pool,
            unit=choices.unit, kappa=self._alignment_weights(), beta=choices.beta, lam=choices.lam,
            gamma=self.gamma, discriminative=choices.discriminative, ridge=self._code_ridge(),
            dictionary_solver=choices.dictionary_solver, spectra=spectra, constant=constant, offset=offset,
            held=problem.seen & problem.allowed & among_seen,
        )  # fmt: skip

    def _alignment_weights(self) -> Array:
        """(C,) kappa_j: the pull of a class's code; 1 for every class as printed in the paper.

        That of the evidence, divided by the length of the first z_j D_v, so that every description pulls alike.
        """
        scale = self.choices.alignment_scale
        if scale is None:
            return np.ones(self.problem.n_classes)
        seen, evidence = self.problem.seen, self.evidence
        labels = self.counts[seen].mean() if seen.any() else 0.0
        pull = np.where(seen, scale * labels * self.compactness, evidence.pull(evidence.expected))
        lengths = np.linalg.norm(self.start.Z @ self.start.D_v, axis=1) if self.choices.unit else np.ones(len(seen))
        return np.maximum(pull / np.maximum(lengths, 1e-3), np.finfo(np.float64).tiny)

    def _teaching_share(self) -> float:
        """How much unseen classes count in the super-prototypes, 0 to 1; fully in the paper, not without a pool.

        Nor where few of them are there: what the others have found is no class.
        """
        if not self.choices.unit:
            return 1.0
        return 0.0 if self.pool is None else self.evidence.share * max(self.presence.evenness, LEAST_EVEN)

    def _code_ridge(self) -> float:
        """The ridge of the codes in units of the mean eigenvalue of their normal matrix at the start."""
        S = (self.start.D_v**2).sum() + self.choices.lam * (self.start.D_c**2).sum()
        return self.choices.code_ridge * float(S) / self.choices.q

    def _spectra(self) -> tuple[dict[tuple[bool, bool], Spectrum], float]:
        """Eigenpairs of the Gram matrices that classes feel, by (seen, reached by the pool); none for unit P at t = 0.

        The constant is t N + |X|^2 of both domains, which the published objective carries along.
        """
        t, gamma = self.choices.discriminative, self.gamma
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
        weights = {"labeled": 1.0 if seen else 0.0, "pool": 0.0 if not pooled else self.gamma if seen else 1.0}
        parts = [(self.labeled, weights["labeled"]), (self.pool, weights["pool"])]
        used = [(samples, weight) for samples, weight in parts if samples is not None and weight > 0]
        if not used:
            return Spectrum(np.zeros((self.labeled.dimension, 1)), np.zeros(1))
        if sum(samples.n for samples, _ in used) < self.labeled.dimension:
            return spectrum_of_rows(np.concatenate([np.sqrt(w) * samples.materialize() for samples, w in used]))
        grams = [weight * samples.gram() for samples, weight in used]
        return spectrum_of_gram(grams[0] if len(grams) == 1 else grams[0] + grams[1])

    def _softness(self) -> Softness:
        """f = relaxation * e / (1 + e) * evenness: class sizes are held to the prior if the pool bears it out."""
        choices, allowed = self.choices, self.problem.allowed
        levels = np.unique(self.problem.seen[allowed], return_inverse=True)[1]
        f = 0.0 if choices.prior is None or choices.temperature == 0 else choices.relaxation
        f *= self.evidence.expected / (1 + self.evidence.expected) * (1 - self.presence.certainty)
        f *= self.presence.evenness if self._estimates_prior else 1.0
        kind = "two-level" if self._estimates_prior else "fixed"
        lets_go = self._estimates_prior and f > 0 and not self._is_generalized()
        own, most = self._own_votes()
        return Softness(self.temperature, f, kind, levels, SHARE_PSEUDO_COUNT, lets_go, own=own, most_own=most)

    def _own_votes(self) -> tuple[float, float]:
        """Which part of own votes is taken back; not among seen classes, where an advantage makes up for it. And what
        at most: in a pool of all classes a small one is one that was predicted badly, and not smaller than the others.
        """
        choices = self.choices
        among_seen = bool((self.problem.allowed & self.problem.seen).any())
        if self.pool is None or not self.is_soft or choices.discriminative > 0 or among_seen:
            return 0.0, 0.0
        part, average = 1 - choices.own_vote, self.evidence.own_vote(choices.beta)
        return part, min(part * average / max(self.presence.evenness, LEAST_EVEN), MOST_TAKEN_BACK * self.temperature)

    @property
    def _estimates_prior(self) -> bool:
        return isinstance(self.choices.prior, str) and self.choices.prior == "estimated"

    def _presence(self) -> pool_diagnosis.PoolDiagnosis:
        """Which candidates the pool has; with a prior that somebody gave all count alike."""
        nothing = pool_diagnosis.PoolDiagnosis(0.0, np.zeros(int(self.problem.allowed.sum())), 1.0)
        if not self.is_soft or self.pool is None:
            return nothing
        found = pool_diagnosis.diagnose_pool(self)
        return found if self._estimates_prior else nothing._replace(evenness=found.evenness)

    # -- the start -------------------------------------------------------------------------------------------------

    def first_states(self) -> list[State]:
        """Where the loop may begin: at the predictions; where unseen classes have labels, also at these.

        Both with the same own votes to take back, so that their objectives compare.
        """
        seen, P = self.problem.seen, self.start.P
        if not self.sums[~seen].any():
            return [self.start]
        start = self.model.with_first_votes(self.start)
        moved = P.copy()
        moved[~seen] = normalized(self.evidence.pull(self.evidence.expected) * P[~seen] + self.sums[~seen], P[~seen])
        return [start, start._replace(P=moved)]

    def _predict(self) -> Array:
        """(C, d) seen prototypes are class means; unseen ones are predicted from descriptions, or these."""
        choices, seen = self.choices, self.problem.seen
        P = np.zeros_like(self.sums)
        P[seen] = self.sums[seen] / self.counts[seen, None]
        if choices.unit:
            P = normalized(P, P)
        if seen.any():
            P[~seen] = predict_prototypes(self.A[seen], P[seen], self.A[~seen], self.ridge)
        else:
            P = self.A.copy()
        return normalized(P, P) if choices.unit else P

    @cached_property
    def seen_prototypes(self) -> Array:
        """(m, d) unit means of the seen classes."""
        seen = self.problem.seen
        return normalized(self.sums[seen], self.sums[seen])

    @cached_property
    def predicted_left_out(self) -> Array:
        """(m, d) the seen classes' unit prototypes, each predicted from its description and all the other classes."""
        P = self.seen_prototypes
        return normalized(predict_left_out(self.A[self.problem.seen], P, self.ridge), P)

    def _start(self) -> State:
        """At the predictions, at clusters that are matched to them, or where an earlier model ended.

        ``fresh`` is what it would be without an earlier model.
        """
        choices, seen = self.choices, self.problem.seen
        P = self._clustered(self.predicted)
        D_v, D_c = first_super_prototypes(
            P[seen], self.A[seen], P[~seen], self.A[~seen], choices.q, choices.lam, choices.seed
        )
        columns = int(self.problem.allowed.sum())
        first = State(
            P=P, Z=self._first_codes(P, D_v, D_c), D_v=D_v, D_c=D_c, labels=np.zeros(0, dtype=np.int64),
            masses=np.zeros(len(P)), sums=np.zeros_like(P), log_scaling=np.zeros(columns),
            prior=self._first_prior(columns), confusion=0.0, hold=1.0, settled=False,
            own=np.zeros(len(P)),
        )  # fmt: skip
        self.fresh = first
        if isinstance(choices.init, str):
            return first
        problem = self.problem
        return continue_from(first, choices.init, problem.names, problem.allowed, self.labeled.metric, choices.unit)

    def _first_codes(self, P: Array, D_v: Array, D_c: Array) -> Array:
        """Zero in the paper; with unit prototypes those of the start: descriptions pull from the first sweep."""
        Z = np.zeros((len(P), self.choices.q))
        if not self.choices.unit:
            return Z
        lam, q = self.choices.lam, self.choices.q
        ridge = self.choices.code_ridge * float((D_v**2).sum() + lam * (D_c**2).sum()) / q
        return one_way_codes(P, self.A, Z, D_v, D_c, lam, ridge)

    def _clustered(self, P: Array) -> Array:
        targets = self.problem.allowed & ~self.problem.seen
        if self.choices.init not in ("kmeans", "affinity") or self.pool is None or not targets.any():
            return P
        P = P.copy()
        P[targets] = cluster_prototypes(
            self.pool.materialize().astype(np.float64), P[targets], self.choices.init, self.choices.seed
        )
        return normalized(P, P) if self.choices.unit else P

    def _first_prior(self, columns: int) -> Array:
        given = self.choices.prior
        if given is None or isinstance(given, str):
            return np.full(columns, 1 / columns)
        return shares_given(given, self.problem.allowed)

    # -- what a fitted estimator keeps -------------------------------------------------------------------------------

    def scoring(self, state: State, parents: Array) -> tuple[Array, Array]:
        """Prototypes and biases with which <x, p_j> + bias_j is largest for the class that a sample is given.

        ``parents`` (C',) is the class of each row of the state.
        """
        if self.choices.unit:
            bias = self.model.given.offset[parents]
            bias[self.problem.allowed[parents]] += self.temperature * state.log_scaling
            return (1 + 2 * self.choices.discriminative) * state.P, bias
        return 2 * (1 + self.choices.discriminative) * state.P, -(state.P**2).sum(axis=1)

    def class_prior(self, state: State) -> Array:
        """(C,) the share of the pool that each class holds, or its prior when there is no pool."""
        if self.pool is None:
            prior = np.zeros(len(state.P))
            prior[self.problem.allowed] = state.prior
            return prior
        return state.masses / state.masses.sum()
