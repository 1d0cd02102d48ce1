"""FIT: what the baselines add to the base class: declared parameter checks, calibrated stacking, linear scores."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from superproto.errors import UserError
from superproto.estimator.base import ZeroShotEstimator
from superproto.estimator.calibration import labeled_sharpness
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array

# Unit rows whose mean deviation from their mean is smaller (a large offset in all features) are told apart by the last
# digits of float32 alone.
_NARROW = 0.03


@dataclass(eq=False, repr=False)
class Baseline(ZeroShotEstimator):
    """Base of all baselines: checks of parameters, preparation of features, calibrated stacking.

    Parameters are fields of a dataclass. A method adds its own; the four below are common to all.

    Parameters
    ----------
    candidates : {"unseen", "all"} or list of classes, default="unseen"
        Classes that an unlabeled sample may receive. "all" is generalized zero-shot recognition.
    whiten : bool or float, default=False
        Whiten the features by the within-class covariance of the labeled samples. A number is the shrinkage of the
        covariance.
    random_state : int or None, default=None
        Seed of what the method draws at random.
    seen_bias : float, default=0.0
        Calibrated stacking (Chao et al., ECCV 2016): subtracted from the scores of seen classes when seen and unseen
        classes compete. Larger: more samples go to unseen classes. It is in the units of the method's own scores, so
        choose it on validation classes.
    """

    # Whether the method is defined on features as they are: `superproto compare` whitens for the others.
    compares_raw_features: ClassVar[bool] = False
    # Declared by a method: numbers that must be positive, at least 0, or in [0, 1); words and what they may be.
    _positive: ClassVar[tuple[str, ...]] = ()
    _nonnegative: ClassVar[tuple[str, ...]] = ()
    _fractions: ClassVar[tuple[str, ...]] = ()
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {}

    _: KW_ONLY
    candidates: Any = "unseen"
    whiten: bool | float = False
    random_state: Any = None
    seen_bias: float = 0.0

    # Not a parameter: 1, or for narrow rows the mean distance of a prepared row from their mean. Older model files have
    # none.
    row_spread_ = 1.0

    def fit(self, X: Any, y: Any, semantics: Any = None, class_names: Any = None) -> Baseline:
        """Learn from the labeled rows and label the others; see :class:`ZeroShotEstimator.fit` for the arguments."""
        X, problem = self._check(X, y, semantics, class_names)
        self._store_classes(problem)
        self.metric_ = self._metric(X, problem)
        self.row_spread_ = 1.0
        prepared = self._prepare(X)
        spread = _spread(prepared)
        if spread < _NARROW:
            self.row_spread_ = max(spread, float(np.finfo(np.float32).eps))
            prepared = self._prepare(X)
        self._learn(prepared, problem)
        self.sharpness_ = self._fit_sharpness(prepared, problem)
        self._label_pool(prepared, problem)
        return self

    @abstractmethod
    def _learn(self, X: Array, problem: Problem) -> None:
        """Learn from prepared rows X (N, d); store fitted arrays in attributes that end in an underscore."""

    @abstractmethod
    def _score(self, X: Array) -> Array:
        """(N, C) the larger the likelier, for prepared rows and all classes."""

    def _score_rows(self, X: Array) -> Array:
        return self._score(self._prepare(X))

    def _pool_scores(self, X: Array, problem: Problem) -> Array:
        """(N_u, C) scores of the unlabeled rows; a method that keeps its own returns them here."""
        return self._score(X[problem.asked])

    def _pool_answers(self, X: Array, problem: Problem, dense: bool) -> tuple[Array, Any]:
        scores = self._masked(self._pool_scores(X, problem))
        probabilities = self._distributions(scores)
        return self._winners(scores), probabilities if dense else sparse.csr_array(probabilities)

    def _needs_double(self) -> bool:
        return self.row_spread_ < 1

    def _fit_sharpness(self, X: Array, problem: Problem) -> float:
        """Inverse temperature of the probabilities: the likeliest one on the labeled rows, among the seen classes."""
        return labeled_sharpness(self._score, X, problem)

    def _check(self, X: Any, y: Any, semantics: Any, class_names: Any) -> tuple[Array, Problem]:
        for name in self._positive:
            if not getattr(self, name) > 0:
                raise UserError(f"{name} is {getattr(self, name)}, but it must be larger than 0.")
        for name in self._nonnegative:
            if not getattr(self, name) >= 0:
                raise UserError(f"{name} is {getattr(self, name)}, but it must be at least 0.")
        for name in self._fractions:
            if not 0 <= getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}, but it must be at least 0 and less than 1.")
        for name, words in self._choices.items():
            if getattr(self, name) not in words:
                raise UserError(f"{name} is {getattr(self, name)!r}. Give one of {', '.join(map(repr, words))}.")
        return super()._check(X, y, semantics, class_names)

    def _masked(self, scores: Array) -> Array:
        seen, allowed = self.seen_classes_, self.allowed_
        if self.seen_bias and (seen & allowed).any() and (~seen & allowed).any():
            scores = np.asarray(scores) - self.seen_bias * seen
        return super()._masked(scores)


def _spread(rows: Array) -> float:
    """The root mean square distance of rows from their mean."""
    mean = rows.mean(axis=0, dtype=np.float64)
    squares = np.einsum("ij,ij->", rows, rows, dtype=np.float64) / max(len(rows), 1)
    return float(np.sqrt(max(squares - mean @ mean, 0.0)))


class LinearBaseline(Baseline):
    """Base of methods whose scores are linear in the prepared sample: ``x · w_c + b_c`` for class c.

    Prepared samples have length 1, so the cosine with unit prototypes has this form too.
    """

    classifiers_: Array
    offsets_: Array

    def _store_linear(self, classifiers: Array, offsets: Array | None = None) -> None:
        self.classifiers_ = np.asarray(classifiers)
        self.offsets_ = np.zeros(len(classifiers)) if offsets is None else np.asarray(offsets)

    def _score(self, X: Array) -> Array:
        return X @ self.classifiers_.T.astype(X.dtype) + self.offsets_.astype(X.dtype)
