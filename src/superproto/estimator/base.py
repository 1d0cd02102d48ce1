"""SHARE: the base class of all methods: input checks, preparation of features, labels and probabilities from scores.

A method defines how it learns (:meth:`ZeroShotEstimator.fit`), how it scores raw rows
(:meth:`ZeroShotEstimator._score_rows`) and how it labels the unlabeled rows of a fit
(:meth:`ZeroShotEstimator._pool_answers`). The base class does the rest, in the same way for every method. The *pool*
is the set of unlabeled samples of a fit; *candidates* are the classes that such a sample may get.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted, validate_data

from superproto.errors import UserError
from superproto.estimator.input_mistakes import check_alignment, check_samples
from superproto.estimator.model_file import save_model
from superproto.estimator.notebook import fit_as_html
from superproto.estimator.validation import Problem, check_problem, fingerprint, read_named_vectors
from superproto.samples import kernels
from superproto.samples.centering import center_metric
from superproto.samples.chunks import (
    LARGEST,
    UNLABELED,
    Array,
    ChunkedRows,
    add_up,
    chunk_length,
    gather,
    rows_at,
    rows_of,
)
from superproto.samples.readers import as_rows
from superproto.samples.readers.device import back
from superproto.samples.row_seal import inspect_and_seal, seal_of_rows, seal_text
from superproto.samples.timing import span
from superproto.samples.whitening import Metric, apply_metric, is_nonnegative, learn_metric

FLOATS = [np.float64, np.float32, np.float16]
# Above this size label_distributions_ is a sparse matrix, without probabilities below NEGLIGIBLE.
DENSE_BYTES = 512 * 2**20
NEGLIGIBLE = 1e-6

# The scores of a row differ by rounding between batches. Scores within this many units of rounding count as equal.
_ROUNDING = 8


class ZeroShotEstimator(ClassifierMixin, BaseEstimator, ABC):
    """Base class of all methods. Subclasses take at least ``candidates``, ``whiten`` and ``random_state``."""

    candidates: Any
    whiten: bool | float
    random_state: Any

    @abstractmethod
    def fit(self, X: Any, y: Any, semantics: Any = None, class_names: Any = None) -> ZeroShotEstimator:
        """Learn from the labeled rows of X and label the others.

        Parameters
        ----------
        X : array of shape (N, d)
            Features, finite numbers. X is an array or frame in memory; a memory-mapped, Zarr, HDF5 or Dask array; a
            Parquet data set; a torch or CuPy array; a list of chunks (or another iterable that can be read many
            times); or the name of a file of one of these kinds.
        y : array of shape (N,) or None
            The class of each sample: a row number of ``semantics``, or a class name. -1, None and NaN mark unlabeled
            samples. With ``y=None`` no sample is labeled.
        semantics : array or frame of shape (C, k), or mapping from class name to vector, default=None
            One description (attributes or a text embedding) for each class, seen or unseen. With None, classes have
            no descriptions, and only classes that occur in y can be predicted.
        class_names : sequence of length C, default=None
            Names of the rows of ``semantics``, needed if it is an array and y holds names.
        """

    @abstractmethod
    def _score_rows(self, X: Array) -> Array:
        """Return (N, C) scores of raw rows for all classes; a higher score means a more probable class."""

    @abstractmethod
    def _pool_answers(self, X: Any, problem: Problem, dense: bool) -> tuple[Array, Any]:
        """Return class numbers (N_u,) of the unlabeled rows and their distributions (N_u, C), sparse unless ``dense``.

        X is the argument that the method passed to :meth:`_label_pool`.
        """

    def fit_predict(self, X: Any, y: Any = None, semantics: Any = None, class_names: Any = None) -> Array:
        """Fit the model and return ``transduction_``, a class for every row of X. Parameters are those of ``fit``."""
        self.fit(X, y, semantics=semantics, class_names=class_names)
        return self.transduction_

    # -- answers ---------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Return (N, C) scores. Columns are ordered as ``classes_``; classes that are not candidates have -inf.

        With two classes and no semantics the result is (N,), as in scikit-learn: positive for ``classes_[1]``.
        """
        check_is_fitted(self)
        scores = self._masked(self._ask(type(self)._score_rows, X))
        return scores[:, 1] - scores[:, 0] if self._is_plain_binary() else scores

    def predict(self, X: Any) -> Array:
        """Predict a class for each row, among the candidates: (N,). Unlabeled rows of the fit get ``transduction_``."""
        check_is_fitted(self)
        return self.classes_[self._ask(type(self)._best, X)]

    def predict_proba(self, X: Any) -> Array:
        """Return (N, C) probabilities that sum to 1 over the candidates. Columns are ordered as ``classes_``."""
        check_is_fitted(self)
        return self._distributions(self._masked(self._ask(type(self)._score_rows, X)))

    def answers(self, X: Any) -> tuple[Array, Array, Array]:
        """Return (N, C) scores of all classes (candidates or not), ``decision_function`` and probabilities at once."""
        check_is_fitted(self)
        scores = self._ask(type(self)._score_rows, X)
        masked = self._masked(scores)
        return scores, masked, self._distributions(masked)

    def save(self, path: Any, *, pool: bool = False) -> None:
        """Write the fitted model to exactly this path, as safetensors; ``superproto.load_model`` reads it.

        ``pool=True`` also writes ``label_distributions_``, which can make the file much larger. The parameters
        ``callback`` and ``checkpoint`` are not written.
        """
        save_model(self, path, pool=pool)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a summary of the fit, or scikit-learn's diagram of an unfitted model."""
        return fit_as_html(self) if hasattr(self, "classes_") else estimator_html_repr(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Override scikit-learn's method, which a notebook prefers to ``_repr_html_``."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    # -- parts -----------------------------------------------------------------------------------------------------

    def _ask(self, answer: Callable[[Any, Array], Array], X: Any) -> Array:
        """Apply a method of the class to rows: at once for an array, else chunk by chunk, on the rows' device.

        ``answer`` is the class's function and not a bound method, because workers get a smaller copy of the model.
        """
        X = self._check_rows(X)
        if isinstance(X, np.ndarray):
            return answer(self, X)
        return gather(X.visit(partial(ask_chunk, model=self._portable(), answer=answer)), concatenated=1)[0][0]

    def _best(self, X: Array) -> Array:
        """Return (N,) the position in ``classes_`` of the best candidate."""
        return self._winners(self._masked(self._score_rows(X)))

    def _winners(self, masked_scores: Array) -> Array:
        """Return (N,) the class with the largest score; among scores equal up to rounding, the first in ``classes_``.

        Without this rule, the number of rows in a batch would decide between classes with the same description.
        """
        scores = np.asarray(masked_scores)
        size = np.where(np.isfinite(scores), np.abs(scores), 0).max(axis=1, keepdims=True)
        best = scores.max(axis=1, keepdims=True)
        return (scores >= best - _ROUNDING * np.finfo(scores.dtype).eps * size).argmax(axis=1)

    def _portable(self) -> ZeroShotEstimator:
        """Return a copy for workers, without what grows with the samples or is bound to this process."""
        light = copy.copy(self)
        for name in ("label_distributions_", "transduction_", "_asked", "callback", "init"):
            if hasattr(light, name):
                setattr(light, name, None)
        return light

    def _check(self, X: Any, y: Any, semantics: Any, class_names: Any) -> tuple[Any, Problem]:
        if isinstance(semantics, Mapping):
            semantics, class_names = read_named_vectors(semantics, class_names)
        check_alignment(X, y, semantics)
        X = self._check_rows(X, reset=True)
        n_rows = rows_of(X).n_rows
        if y is None and semantics is not None:
            y = np.full(n_rows, UNLABELED)
        problem = check_problem(y, semantics, class_names, self.candidates)
        if len(problem.labels) != n_rows:
            raise UserError(
                f"X has {n_rows} rows, but y has {len(problem.labels)} labels (inconsistent numbers of samples). "
                "Give one label per row."
            )
        if not problem.seen.any():
            self._check_texts_without_labels(problem)
        self.data_hash_ = fingerprint(X if isinstance(X, np.ndarray) else _evenly_spread(X), problem)
        return X, problem

    def _takes_texts(self) -> bool:
        """Tell whether the method can fit without seen classes, on descriptions in the space of the features.

        CLIP's text vectors are such descriptions.
        """
        return False

    def _is_shared(self, problem: Problem) -> bool:
        """Tell whether descriptions have as many columns as the features, and the method can compare the two."""
        return self._takes_texts() and problem.described and problem.semantics.shape[1] == self.n_features_in_

    def _check_texts_without_labels(self, problem: Problem) -> None:
        """Raise if no sample is labeled and the method cannot compare descriptions with features."""
        if not self._takes_texts():
            raise UserError(
                f"No sample is labeled: every class of y is unseen, but {type(self).__name__} learns from labeled "
                "samples. Label samples of at least one class, or use HPL or 'transclip' with text embeddings."
            )
        if not self._is_shared(problem):
            raise UserError(
                f"No sample is labeled, and descriptions of {problem.semantics.shape[1]} numbers cannot be compared "
                f"with {self.n_features_in_} features. Label samples of at least one class, or give descriptions in "
                "the space of the features, such as CLIP's text vectors."
            )

    def _check_rows(self, X: Any, reset: bool = False) -> Any:
        rows = as_rows(X)
        if rows is not None:
            return self._check_chunks(rows, reset)
        if getattr(X, "dtype", None) == np.dtype(object):
            _check_objects(X)
        check_samples(X)
        X = validate_data(self, X, dtype=FLOATS, reset=reset)
        if reset and self._is_kept():
            self._row_seal = seal_of_rows(rows_of(X))
        size = kernels.extent(X)
        _check_size(size <= LARGEST, not reset or size > kernels.SMALLEST)
        return X

    def _is_kept(self) -> bool:
        """Tell whether the fit writes a checkpoint, which needs a fingerprint of all samples."""
        return getattr(self, "checkpoint", None) is not None

    def _check_chunks(self, rows: ChunkedRows, reset: bool) -> ChunkedRows:
        """Check rows that are not in memory in one pass, as ``validate_data`` checks arrays."""
        if reset:
            self.n_features_in_ = rows.n_columns
        if rows.n_columns != self.n_features_in_:
            raise UserError(
                f"X has {rows.n_columns} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input."
            )
        if rows.n_rows == 0:
            raise UserError("Found array with 0 sample(s), while a minimum of 1 is required.")
        if reset and self._is_kept():
            found = add_up(rows.visit(inspect_and_seal, np.arange(rows.n_rows)))
            self._row_seal = seal_text(rows, found[3:])
        else:
            found = add_up(rows.visit(kernels.inspect))
        wrong, useful, huge = found[:3]
        if wrong:
            raise UserError(f"Input X contains NaN or infinity ({int(wrong)} values). Drop or correct these rows.")
        _check_size(not huge, not reset or bool(useful))
        return rows

    def _store_classes(self, problem: Problem) -> None:
        self.classes_ = problem.names
        self.seen_classes_ = problem.seen
        self.allowed_ = problem.allowed
        self.described_ = problem.described

    def _metric(self, X: Any, problem: Problem) -> Metric:
        if isinstance(self.whiten, (bool, np.bool_)) and not self.whiten:
            return Metric()
        if not isinstance(self.whiten, (Real, np.bool_)) or not 0 <= self.whiten < np.inf:
            raise UserError(f"whiten is {self.whiten!r}, but must be True, False, or a shrinkage of at least 0.")
        shrinkage = None if isinstance(self.whiten, (bool, np.bool_)) else float(self.whiten)
        rows = rows_of(X)
        with span("whiten"):
            if not problem.seen.any():
                return center_metric(rows, problem.semantics, problem.allowed)
            return learn_metric(rows, problem.labels, problem.n_classes, shrinkage, root=is_nonnegative(rows))

    def _prepare(self, X: Any) -> Array:
        apply = partial(_apply, metric=self.metric_, double=self._needs_double())
        (rows,), _ = gather(rows_of(X).visit(apply), concatenated=1)
        return rows

    def _needs_double(self) -> bool:
        """Tell whether rows are prepared in double precision, whatever their own precision is."""
        return False

    def _masked(self, scores: Array) -> Array:
        return np.where(self.allowed_, scores, -np.inf)

    def _distributions(self, masked_scores: Array) -> Array:
        return softmax(np.asarray(masked_scores, dtype=np.float64) * self.sharpness_, axis=1)

    def _label_pool(self, X: Any, problem: Problem) -> Array:
        """Label the unlabeled rows. Return the class numbers (N,), and store the names in ``transduction_``."""
        labels, n_classes = problem.labels.copy(), problem.n_classes
        dense = len(labels) * n_classes * 8 <= DENSE_BYTES
        pool: Any = np.zeros((0, n_classes)) if dense else sparse.csr_array((0, n_classes))
        if problem.asked.any():
            labels[problem.asked], pool = self._pool_answers(X, problem, dense)
        self.transduction_ = self.classes_[labels]
        self._asked = problem.asked
        self.label_distributions_ = _with_given_labels(problem, pool)
        return labels

    def _is_plain_binary(self) -> bool:
        return len(self.classes_) == 2 and not self.described_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags.poor_score = False
        return tags


@kernels.progress_label("labels")
def ask_chunk(chunk: Array, *, model: ZeroShotEstimator, answer: Callable[[Any, Array], Any]) -> tuple[Array, ...]:
    """Apply ``answer`` to one chunk, in blocks small enough for the scores of all classes.

    ``answer(model, rows)`` returns an array with an entry for each row, or a tuple of such arrays.
    """
    rows = back(chunk)
    step = chunk_length(rows.shape[1] + 5 * len(model.classes_), 8)
    blocks = [answer(model, rows[start : start + step]) for start in range(0, max(len(rows), 1), step)]
    parts = zip(*(block if isinstance(block, tuple) else (block,) for block in blocks))
    return tuple(np.concatenate(part) for part in parts)


def _apply(chunk: Array, *, metric: Metric, double: bool) -> tuple[Array]:
    return (apply_metric(metric, back(chunk).astype(np.float64) if double else chunk),)


def _check_size(computable: bool, useful: bool) -> None:
    if not computable:
        raise UserError(f"Features are larger than {LARGEST:.0e}, too large to compute with. Divide X by a number.")
    if not useful:
        raise UserError(
            f"All features are zero (below {kernels.SMALLEST:.0e}), so all samples are equal. Check how X was read."
        )


def _with_given_labels(problem: Problem, pool: Any) -> Any:
    """Return (N, C) distributions of all rows: those of unlabeled rows from ``pool``, and 1 for each given label.

    The result is sparse if ``pool`` is.
    """
    known, asked = np.flatnonzero(~problem.asked), np.flatnonzero(problem.asked)
    shape = (len(problem.labels), problem.n_classes)
    if isinstance(pool, np.ndarray):
        whole = np.zeros(shape)
        whole[asked] = pool
        whole[known, problem.labels[known]] = 1.0
        return whole
    # Fill the arrays in place. The rows are ordered already, and a copy would double the memory.
    counts = np.ones(len(problem.labels), dtype=np.int64)
    counts[asked] = np.diff(pool.indptr)
    starts = np.concatenate([[0], np.cumsum(counts)])
    of_pool = np.ones(int(starts[-1]), dtype=bool)
    of_pool[starts[known]] = False
    columns, values = np.empty(len(of_pool), dtype=np.int32), np.ones(len(of_pool))
    columns[starts[known]] = problem.labels[known]
    columns[of_pool], values[of_pool] = pool.indices, pool.data
    return sparse.csr_array((values, columns, starts), shape=shape)


def _evenly_spread(rows: ChunkedRows) -> Array:
    """Return about a thousand evenly spread rows, enough to identify a data set."""
    return rows_at(rows, np.arange(0, rows.n_rows, max(1, rows.n_rows // 1000)))


def _check_objects(X: Any) -> None:
    try:
        np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        # scikit-learn's convention: a TypeError for values that can never be numbers.
        kind = TypeError if isinstance(error, TypeError) else UserError
        raise kind(f"X has dtype object and values that are not numbers ({error}). Give a numeric array.") from None


def confidence(model: Any, scores: Array) -> Array:
    """Return (N,) the log-probability of each row's label among all classes: max_{j candidate} s_j - log sum_j exp s_j.

    ``scores`` (N, C) are the model's scores of all classes. s is ``scores`` times the inverse temperature that was
    fitted to labeled samples, if the model has one. The inverse temperature of its probabilities also depends on the
    unlabeled samples and on the accuracy forecast, so it is not used here.
    """
    sharp = np.asarray(scores, dtype=np.float64) * getattr(model, "labeled_sharpness_", model.sharpness_)
    return np.asarray(sharp[:, model.allowed_].max(axis=1) - logsumexp(sharp, axis=1))
