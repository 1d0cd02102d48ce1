"""The estimator HPL: parameters, a fit that calls one function after the other, stored attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from superproto.errors import UserError
from superproto.estimator.base import NEGLIGIBLE, ZeroShotEstimator, ask_chunk
from superproto.estimator.calibration import label_uncertainty, labeled_sharpness
from superproto.estimator.forecast import NO_FORECAST
from superproto.estimator.validation import Problem
from superproto.hpl.checkpoint import Checkpoint, signature
from superproto.hpl.class_order import class_order, in_class_order
from superproto.hpl.cluster_matching import contradicted_labels
from superproto.hpl.composition import build_objective, class_shares, scorer, scoring
from superproto.hpl.constants import Constants
from superproto.hpl.fit_data import FitData
from superproto.hpl.forecast import LeftOutFits, left_out_fits
from superproto.hpl.objective.state import Objective, State
from superproto.hpl.parameters import check_parameters, is_unit, with_few_labels_as_unseen
from superproto.hpl.pool_diagnosis import measure_evenness
from superproto.hpl.refinement import refine
from superproto.hpl.seen_classes import SeenClasses
from superproto.hpl.solver import Iteration, Outcome, Schedule, best_start, in_users_order, minimize, progress_callback
from superproto.hpl.start import first_states, possible_starts
from superproto.hpl.texts import TextFit, fit_pool
from superproto.hpl.uncertainty import Uncertainty, choose_informative, measure_uncertainty, trust_in_labels
from superproto.hpl.user_warnings import warn_user
from superproto.hpl.weights import choose_weights
from superproto.samples.centering import GAP_ROWS, match_own_descriptions
from superproto.samples.chunks import Array, ArrayRows, gather, rows_at, rows_of
from superproto.samples.progress import print_line, with_progress
from superproto.samples.threads import threads_for
from superproto.samples.whitened import WhitenedSamples, evenly_spread_rows, fold
from superproto.samples.whitening import Metric

PUBLISHED: dict[str, Any] = {
    "omega": 0.5,
    "max_iter": 100,
    "tol": 1e-4,
    "prototypes": "free",
    "whiten": False,
    "discriminative_weight": 1.0,
    "alignment_scale": None,
    "prior": None,
    "temperature": 0.0,
}


class HPL(ZeroShotEstimator):
    """Label the classes that nobody labeled: hierarchical prototype learning for zero-shot recognition.

    Every class has a visual prototype p_j, made of super-prototypes D_v with the code z_j that makes its description
    a_j out of D_c. Labeled samples place the prototypes of seen classes, the pool those of unseen ones; codes and
    super-prototypes carry knowledge between them. With the defaults the objective is

        J = - sum_labeled <x_i, p_y>
            + gamma [ - sum_pool Q_ij (<x_i, p_j> + vote_ij) + T sum Q log Q + sum v_j Q_ij^2 / 2 + r KL(Q'1 || N pi) ]
            + sum_j kappa_j ( |p_j - z_j D_v|^2 + lam |a_j - z_j D_c|^2 ) / 2,        |p_j| = 1,

    minimized block by block, each block exactly, so it never rises. :meth:`as_published` is the paper to the letter.

    Parameters
    ----------
    rho : float in [0, 1), default=0.6
        Samples against structure. Larger: prototypes follow the samples; smaller: their descriptions.
    omega : float in [0, 1), default=0.99
        Semantic against visual space in the codes. Larger: codes explain the descriptions first.
    alpha : float in [0, 1), default=0.6
        Unseen against seen part. Larger: super-prototypes follow the unseen classes more.
    theta : float in (0, 1] or None, default=None
        Super-prototypes per class, q / (m + n). None: q = m, the paper's best.
    max_iter : int, default=25
        Outer iterations at most.
    tol : float, default=1e-3
        Stop when this share of the labels or less changes and super-prototypes, or the objective, rest.
    random_state : int or None, default=None
        Seed of the K-means that starts super-prototypes when q != m, and of clustering starts.
    candidates : "unseen", "all" or list of classes, default="unseen"
        What an unlabeled sample may be. "all" is generalized zero-shot recognition.
    whiten : bool or float, default=True
        Whiten by the within-class covariance of the labeled samples; a number is its shrinkage, True
        chooses it from the numbers of features and labeled samples.
    variant : "hpl" or "hpl1", default="hpl"
        "hpl1" aligns in both directions (the paper's ablation); it always has free prototypes.
    init : "means", "kmeans", "affinity" or fitted HPL, default="means"
        Start of the unseen prototypes: predicted from descriptions, or pool clusters matched to these predictions;
        or an earlier model to go on from when rows or classes were added (classes are matched by name).
    order : "unseen" or "seen", default="unseen"
        Which part an outer iteration does first.
    alternate : bool, default=True
        False: super-prototypes from the seen classes alone, then the unseen part once.
    dictionary_solver : "blocks" or "gradient", default="blocks"
        Exact block coordinates, or the paper's projected gradient with line search.
    discriminative_weight : float, default=0.0
        Weight of |X P' - C|^2, a regression onto pseudo-labels (1 in the paper). Larger: guesses confirm themselves.
    alignment_scale : float or None, default=0.75
        Weight of a description, in average classes of samples; more where class sizes look uneven. None: 1, as printed.
    prior : "estimated", "uniform", array of shape (C,) or None, default="estimated"
        How many pool samples each class is expected to have. None: no expectation.
    prototypes : "unit" or "free", default="unit"
        On the sphere, or where the objective puts them (the paper).
    temperature : float, default=0.03
        Softness of the assignment of pool samples, in units of how compact the seen classes are; 0 is a hard one.
    verbose : int, default=0
        1: lines on standard error about long passes and each outer iteration, with the time that is left.
    callback : callable or None, default=None
        Called with an ``Iteration`` (iteration, objective, labels_changed, state) after each outer iteration.
    checkpoint : path or None, default=None
        File that keeps the last outer iteration: an interrupted fit, run again, goes on from there and ends as if
        nothing had interrupted it. It is removed when the fit is over.

    Attributes
    ----------
    transduction_ : array of shape (N,)
        A class for every sample: given labels kept, the others found.
    label_distributions_ : array of shape (N, C)
        The same with doubt; rows sum to 1.
    visual_prototypes_ : array of shape (C, d)
        In the whitened space.
    codes_ : array of shape (C, q)
    visual_super_prototypes_, semantic_super_prototypes_ : arrays of shape (q, d) and (q, k)
    objective_ : array of shape (n_iter_,)
        After each outer iteration; never rises.
    class_prior_ : array of shape (C,)
        Share of the pool found for each class.
    doubt_ : array of shape (N,)
        The chance that a found label is wrong; 0 only where the label was given.
    class_doubt_ : array of shape (C,)
        The same for a class's name: 1 for a description that no cluster of the pool fits.
    missing_ : array of shape (C,), True for candidates that seem not to be in the pool.
    evenness_ : float
        0 to 1: how probable it is that the pool holds all candidates in similar numbers.
    forecast_ : named tuple (accuracy, chance)
        Per-class accuracy to expect on unseen classes, from left-out seen ones, and that of guessing; or NaN.
    classes_ : array of shape (C,)
    n_iter_ : int
    hold_ : float
        How firmly class sizes were held to an estimated prior at the end, 1 as at the start; 0: that was not decided.

    Examples
    --------
    >>> from superproto import HPL
    >>> from superproto.datasets import digits
    >>> task = digits(unseen=(3, 6, 7))
    >>> model = HPL().fit(task.X, task.y, semantics=task.semantics)
    >>> bool((model.transduction_ == task.truth)[task.y == -1].mean() > 0.9)
    True

    References
    ----------
    Zhang, Gui, Zhu, Zhao, Liu: Hierarchical Prototype Learning for Zero-Shot Recognition. IEEE TMM, 2020.
    """

    method_key = "hpl"
    constants: ClassVar[Constants] = Constants()

    def __init__(
        self,
        rho: float = 0.6,
        omega: float = 0.99,
        alpha: float = 0.6,
        theta: float | None = None,
        max_iter: int = 25,
        tol: float = 1e-3,
        random_state: Any = None,
        candidates: Any = "unseen",
        whiten: bool | float = True,
        variant: str = "hpl",
        init: Any = "means",
        order: str = "unseen",
        alternate: bool = True,
        dictionary_solver: str = "blocks",
        discriminative_weight: float = 0.0,
        alignment_scale: float | None = 0.75,
        prior: Any = "estimated",
        prototypes: str = "unit",
        temperature: float = 0.03,
        verbose: int = 0,
        callback: Callable[[Iteration], None] | None = None,
        checkpoint: Any = None,
    ) -> None:
        self.rho = rho
        self.omega = omega
        self.alpha = alpha
        self.theta = theta
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.candidates = candidates
        self.whiten = whiten
        self.variant = variant
        self.init = init
        self.order = order
        self.alternate = alternate
        self.dictionary_solver = dictionary_solver
        self.discriminative_weight = discriminative_weight
        self.alignment_scale = alignment_scale
        self.prior = prior
        self.prototypes = prototypes
        self.temperature = temperature
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint

    @classmethod
    def with_constants(cls, **changes: Any) -> type[HPL]:
        """The class with other hand-set numbers of :class:`Constants`, for an ablation; its models cannot be saved."""
        return type(cls.__name__, (cls,), {"constants": replace(cls.constants, **changes)})

    @classmethod
    def as_published(cls, **overrides: Any) -> HPL:
        """The paper to the letter: unit features, no whitening, hard labels, free prototypes, its peak parameters."""
        return cls(**{**PUBLISHED, **overrides})

    def fit(self, X: Any, y: Any, semantics: Any = None, class_names: Any = None, init: Any = None) -> HPL:
        """Learn from the labeled rows and label the others; see :class:`ZeroShotEstimator.fit` for the arguments.

        ``init``, if given, is used for this fit in place of the parameter: an earlier model to go on from.
        """
        X, problem = self._check(X, y, semantics, class_names)
        with threads_for(len(problem.labels) * float(self.n_features_in_) ** 2):
            left_out = self._fit(X, problem, self.init if init is None else init)
        warn_user(self, problem, left_out)
        return self

    def _fit(self, X: Any, problem: Problem, init: Any) -> LeftOutFits | None:
        """All steps, from checked input to stored attributes; what fits with left-out classes found."""
        order = class_order(problem, is_unit(self))
        task, in_one_space = self._task(X, in_class_order(problem, order))
        params = check_parameters(self, task, init, order)
        checkpoint = Checkpoint(self.checkpoint, signature(self, params.init))
        texts = fit_pool(X, task, self.constants) if in_one_space and params.soft and self.whiten else None
        self.metric_ = self._metric_with_texts(X, task, texts, in_one_space)
        data = FitData.of(X, task, self.metric_, params.unit, self.constants.label_weight, in_one_space)
        seen = SeenClasses.of(data, params.unit, params.temperature, self.constants, texts)
        fresh, start = first_states(data, seen.predicted, params)
        evenness = measure_evenness(data, seen, params)
        weights = choose_weights(data, seen, evenness, params)
        objective, start = build_objective(data, seen, start, weights, params)
        contradicted = partial(contradicted_labels, data, objective)
        start = best_start(objective, possible_starts(objective, start, data, weights), self._schedule(), contradicted)
        reporter = self._reporter(order)
        outcome = minimize(objective, start, self._schedule(), reporter, checkpoint.keep, checkpoint.progress)
        objective, outcome = refine(objective, outcome, data, seen, fresh, evenness, weights, params, self._refit)
        self._store(objective, outcome, data, evenness, seen.temperature, order)
        forecasts = params.soft and self.constants.forecast
        left_out = left_out_fits(self, X, task, params.seed or 0) if forecasts else None
        self.forecast_ = NO_FORECAST if left_out is None else left_out.forecast()
        trust = trust_in_labels(left_out, None if task.seen.any() else texts)
        found = measure_uncertainty(data, seen, outcome.state, scorer(objective, outcome.state), trust)
        self._store_answers(X, problem, None if found is None else found.in_order(order))
        checkpoint.remove()
        return left_out

    def _check(self, X: Any, y: Any, semantics: Any, class_names: Any) -> tuple[Any, Problem]:
        """Checked input, with progress on standard error if that was asked for."""
        X, problem = super()._check(X, y, semantics, class_names)
        self._store_classes(problem)
        return with_progress(X) if self.verbose else X, problem

    def _metric_with_texts(self, X: Any, task: Problem, texts: TextFit | None, in_one_space: bool) -> Metric:
        """That of the texts where no class is seen; none without unlabeled samples: then there are no clusters."""
        if in_one_space and not task.asked.any() and is_unit(self):
            return Metric()
        return self._metric(X, task) if texts is None or task.seen.any() else texts.metric

    def _task(self, X: Any, problem: Problem) -> tuple[Problem, bool]:
        """The problem with hardly labeled classes counted as unseen; whether descriptions live in the feature space."""
        in_one_space = self._in_one_space(X, problem)
        return with_few_labels_as_unseen(problem, in_one_space, is_unit(self), self.constants), in_one_space

    def _refit(self, objective: Objective, state: State) -> Outcome:
        """A further fit, of which a callback is not told: not all of them are kept."""
        if self.verbose:
            print_line("another fit, to refine the matching and division of clusters")
        report = progress_callback(self.max_iter, None) if self.verbose else None
        return minimize(objective, state, self._schedule(), report)

    def most_informative(self, n: int) -> Array:
        """(n,) rows of the fitted X whose labels would help most: typical samples of the most doubtful clusters.

        A cluster that is likely to carry a wrong name is put right by one label, and each further label in it is worth
        less. Give the labels in y, name these classes in ``candidates``, and fit again.
        """
        check_is_fitted(self)
        asked = np.flatnonzero(self.doubt_ > 0)
        if not isinstance(n, Integral) or not 0 <= n <= len(asked):
            raise UserError(f"n is {n!r}, but {len(asked)} samples are unlabeled. Ask for at most so many.")
        row_of = {name: row for row, name in enumerate(self.classes_.tolist())}
        rows = [row_of[name] for name in self.transduction_[asked].tolist()]
        return asked[choose_informative(np.unique(rows, return_inverse=True)[1], self.doubt_[asked], n)]

    def _score_rows(self, X: Array) -> Array:
        """(N, C) <x, p_j>, stretched, plus each class's advantage; in float64, so that no chunking changes a label."""
        return self._class_scores(WhitenedSamples(ArrayRows(X, dtype=np.float64), self.metric_))

    def _class_scores(self, samples: WhitenedSamples) -> Array:
        return samples.scores(self.scoring_prototypes_, getattr(self, "_folded", None)) + self.class_bias_

    def _portable(self) -> HPL:
        """With the metric folded into the prototypes, once for all chunks."""
        light: Any = super()._portable()
        light._folded = fold(self.metric_, self.scoring_prototypes_)
        return light  # type: ignore[no-any-return]

    def _takes_texts(self) -> bool:
        return is_unit(self)

    def _in_one_space(self, X: Any, problem: Problem) -> bool:
        """Descriptions have as many numbers as features, and labeled samples are like their own."""
        known = np.flatnonzero(~problem.asked)
        known = known[evenly_spread_rows(len(known), GAP_ROWS)]
        return self._is_shared(problem) and match_own_descriptions(
            rows_at(X, known), problem.labels[known], problem.semantics
        )

    def _store_answers(self, X: Any, problem: Problem, found: Uncertainty | None) -> None:
        """Labels, probabilities and uncertainty; ``found`` is None where the assignment is hard."""
        if found is None:
            sharpness = labeled_sharpness(self._score_rows, X, problem)
            found = Uncertainty(sharpness, np.zeros(problem.n_classes), sharpness)
        self.sharpness_, self.class_doubt_, self.labeled_sharpness_ = found
        labels = self._label_pool(X, problem)
        self.doubt_ = self._doubt_of_samples(problem, labels)

    def _doubt_of_samples(self, problem: Problem, labels: Array) -> Array:
        """(N,) ``label_uncertainty``; 0 where the label was given."""
        likely = self.label_distributions_.max(axis=1)
        likely = likely.toarray().ravel() if sparse.issparse(likely) else likely
        doubt, asked = np.zeros(len(labels)), problem.asked
        doubt[asked] = label_uncertainty(likely[asked], self.class_doubt_[labels[asked]])
        return doubt

    def _pool_answers(self, X: Any, problem: Problem, dense: bool) -> tuple[Array, Any]:
        """Chunk by chunk, so that no (N, C) array but the answer itself is formed."""
        pool = rows_of(X, np.flatnonzero(problem.asked), dtype=np.float64)
        ask = partial(
            ask_chunk, model=self._portable(), answer=type(self)._doubt if dense else type(self)._sparse_doubt
        )
        (labels, *doubt), _ = gather(pool.visit(ask), concatenated=2 if dense else 4)
        if dense:
            return labels, doubt[0]
        counts, columns, values = doubt
        starts = np.concatenate([[0], np.cumsum(counts)])
        return labels, sparse.csr_array((values, columns, starts), shape=(len(labels), problem.n_classes))

    def _doubt(self, X: Array) -> tuple[Array, Array]:
        scores = self._masked(self._score_rows(X))
        return self._winners(scores), self._distributions(scores)

    def _sparse_doubt(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Labels; how many classes are left in each row; these classes; their probabilities, which sum to 1."""
        labels, doubt = self._doubt(X)
        doubt[doubt < NEGLIGIBLE] = 0.0
        doubt /= doubt.sum(axis=1, keepdims=True)
        rows, columns = doubt.nonzero()
        return labels, (doubt > 0).sum(axis=1), columns.astype(np.int32), doubt[rows, columns]

    def _schedule(self) -> Schedule:
        unit = is_unit(self)
        return Schedule(
            max_iter=self.max_iter,
            tol=self.tol,
            unseen_first=self.order == "unseen",
            alternate=self.alternate,
            inner_iter=1 if unit else 20,
            dictionary_sweeps=2 if unit else 20,
        )

    def _reporter(self, order: Array) -> Callable[[Iteration], None] | None:
        told = None if self.callback is None else in_users_order(self.callback, order)
        return progress_callback(self.max_iter, told) if self.verbose else told

    def _store(
        self, objective: Objective, outcome: Outcome, data: FitData, evenness: float, temperature: float, order: Array
    ) -> None:
        whole, continuation, back = outcome.state, outcome.state.continuation, np.argsort(order)
        self.visual_prototypes_ = whole.P[back]
        self.codes_ = whole.Z[back]
        self.visual_super_prototypes_ = whole.D_v
        self.semantic_super_prototypes_ = whole.D_c
        self.objective_ = np.array(outcome.objective)
        self.n_iter_ = len(outcome.objective)
        self.scoring_prototypes_, self.class_bias_ = (values[back] for values in scoring(objective, outcome.state))
        self.class_prior_ = class_shares(whole, data.allowed, data.pool is not None)[back]
        self.temperature_ = temperature
        self.hold_ = continuation.prior_strength if continuation.settled else 0.0
        self.missing_ = (objective.given.held & ~data.seen)[back]
        self.evenness_ = evenness
