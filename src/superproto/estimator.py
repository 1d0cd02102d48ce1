"""What every method shares: checking input, preparing features, turning scores into labels and doubt.

A method says how it learns (:meth:`ZeroShotEstimator._learn`) and how it scores (:meth:`ZeroShotEstimator._score`); the
rest is here, so that the same input gets the same preparation, candidates and answers whatever the method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from superproto.errors import UserError
from superproto.inputs import Problem, check_problem, fingerprint
from superproto.rows import Array, ArrayRows
from superproto.stopwatch import span
from superproto.whitening import SHRINKAGE, Metric, apply_metric, learn_metric

FLOATS = [np.float64, np.float32, np.float16]


class ZeroShotEstimator(ClassifierMixin, BaseEstimator):
    """Base of all methods. Subclasses take at least ``candidates``, ``whiten`` and ``random_state``."""

    candidates: Any
    whiten: bool | float
    random_state: Any

    def fit(self, X: Any, y: Any, semantics: Any = None, class_names: Any = None) -> ZeroShotEstimator:
        """Learn from the labeled rows of X and label the others.

        Parameters
        ----------
        X : array of shape (N, d)
            Features, finite numbers.
        y : array of shape (N,)
            Row of ``semantics`` (or class name), -1 (None, NaN) where the label is asked for.
        semantics : array or frame of shape (C, k), default=None
            One description per class, seen or unseen. None: a class describes only itself.
        class_names : sequence of length C, default=None
            Names of the rows of ``semantics`` when it is an array and y holds names.
        """
        X, problem = self._check(X, y, semantics, class_names)
        self._store_classes(problem)
        self.metric_ = self._metric(X, problem)
        prepared = self._prepare(X)
        self._learn(prepared, problem)
        self.sharpness_ = self._fit_sharpness(prepared, problem)
        self._label_pool(prepared, problem)
        return self

    def _learn(self, X: Array, problem: Problem) -> None:
        """Learn from prepared rows X (N, d); store fitted arrays in attributes that end in an underscore."""
        raise NotImplementedError

    def _score(self, X: Array) -> Array:
        """(N, C) the larger the likelier, for prepared rows and all classes."""
        raise NotImplementedError

    def _score_rows(self, X: Array) -> Array:
        """(N, C) scores of rows as the user gave them."""
        return self._score(self._prepare(X))

    def _pool_scores(self, X: Array, problem: Problem) -> Array:
        """Scores of the unlabeled rows; a transductive method that keeps its own returns them here."""
        return self._score(X[problem.asked])

    # -- answers ---------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """(N, C) scores, columns as ``classes_``; -inf for classes that are no candidates.

        With two classes and no semantics it is scikit-learn's one column: positive for ``classes_[1]``.
        """
        check_is_fitted(self)
        scores = self._masked(self._score_rows(self._check_rows(X)))
        return scores[:, 1] - scores[:, 0] if self._is_plain_binary() else scores

    def predict(self, X: Any) -> Array:
        """(N,) a class for each row, among the candidates; on a pool row: its ``transduction_``."""
        check_is_fitted(self)
        scores = self._masked(self._score_rows(self._check_rows(X)))
        return self.classes_[scores.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """(N, C) probabilities, columns as ``classes_``."""
        check_is_fitted(self)
        return self._distributions(self._masked(self._score_rows(self._check_rows(X))))

    def answers(self, X: Any) -> tuple[Array, Array, Array]:
        """In one pass, (N, C) each: scores of all classes, candidates or not; ``decision_function``; probabilities."""
        check_is_fitted(self)
        scores = self._score_rows(self._check_rows(X))
        masked = self._masked(scores)
        return scores, masked, self._distributions(masked)

    def save(self, path: Any, *, pool: bool = False) -> None:
        """Write the fitted model to exactly this path, as safetensors; ``superproto.load_model`` reads it.

        ``label_distributions_`` is left out unless ``pool=True``; so are ``callback`` and ``checkpoint``.
        """
        from superproto.persistence import save_model

        save_model(self, path, pool=pool)

    # -- parts -----------------------------------------------------------------------------------------------------

    def _check(self, X: Any, y: Any, semantics: Any, class_names: Any) -> tuple[Array, Problem]:
        X = self._check_rows(X, reset=True)
        problem = check_problem(y, semantics, class_names, self.candidates)
        if len(problem.labels) != len(X):
            raise UserError(
                f"X has {len(X)} rows, but y has {len(problem.labels)} labels (inconsistent numbers of samples). "
                "Give one label per row."
            )
        if not problem.seen.any():
            raise UserError("No sample is labeled: every class of y is unseen. Label samples of at least one class.")
        self.data_hash_ = fingerprint(X, problem)
        return X, problem

    def _check_rows(self, X: Any, reset: bool = False) -> Array:
        if getattr(X, "dtype", None) == np.dtype(object):
            _refuse_objects(X)
        X = validate_data(self, X, dtype=FLOATS, reset=reset)
        if reset and not X.any():
            raise UserError("All features are zero, so no sample can be told from another. Check how X was read.")
        return X

    def _store_classes(self, problem: Problem) -> None:
        self.classes_ = problem.names
        self.seen_classes_ = problem.seen
        self.allowed_ = problem.allowed
        self.described_ = problem.described

    def _metric(self, X: Array, problem: Problem) -> Metric:
        if self.whiten is False:
            return Metric()
        shrinkage = SHRINKAGE if self.whiten is True else float(self.whiten)
        with span("whiten"):
            return learn_metric(ArrayRows(X), problem.labels, problem.n_classes, shrinkage)

    def _prepare(self, X: Array) -> Array:
        parts = [part for (part,) in ArrayRows(X).visit(lambda chunk: (apply_metric(self.metric_, chunk),))]
        return np.concatenate(parts)

    def _masked(self, scores: Array) -> Array:
        return np.where(self.allowed_, scores, -np.inf)

    def _distributions(self, masked_scores: Array) -> Array:
        return softmax(np.asarray(masked_scores, dtype=np.float64) * self.sharpness_, axis=1)

    def _fit_sharpness(self, X: Array, problem: Problem) -> float:
        """Inverse temperature of the probabilities: the likeliest one on the labeled rows, among the seen classes."""
        known = ~problem.asked
        if problem.seen.sum() < 2:
            return 1.0
        scores = np.asarray(self._score(X[known]), dtype=np.float64)[:, problem.seen]
        columns = np.cumsum(problem.seen)[problem.labels[known]] - 1
        own = scores[np.arange(len(scores)), columns]
        spread = float(scores.std()) or 1.0

        def loss(log_sharpness: float) -> float:
            sharp = np.exp(log_sharpness) / spread
            return float(np.mean(logsumexp(scores * sharp, axis=1) - own * sharp))

        return float(np.exp(minimize_scalar(loss, bounds=(-3, 7), method="bounded").x) / spread)

    def _label_pool(self, X: Array, problem: Problem) -> None:
        distributions = np.zeros((len(X), problem.n_classes))
        known = ~problem.asked
        distributions[known, problem.labels[known]] = 1.0
        labels = problem.labels.copy()
        if problem.asked.any():
            scores = self._masked(self._pool_scores(X, problem))
            distributions[problem.asked] = self._distributions(scores)
            labels[problem.asked] = scores.argmax(axis=1)
        self.transduction_ = self.classes_[labels]
        self.label_distributions_ = distributions

    def _is_plain_binary(self) -> bool:
        return len(self.classes_) == 2 and not self.described_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags.poor_score = False
        return tags


def _refuse_objects(X: Any) -> None:
    try:
        np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        # scikit-learn's convention: a TypeError for what can never be a number.
        kind = TypeError if isinstance(error, TypeError) else UserError
        raise kind(f"X has dtype object and values that are not numbers ({error}). Give a numeric array.") from None
