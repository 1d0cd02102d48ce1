"""FIT with torch: the base of the deep methods, from prepared rows to tensors and back."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from superproto.baselines._shared.predicted_prototypes import unit_semantics
from superproto.baselines.base import Baseline
from superproto.baselines.deep.networks import import_torch
from superproto.baselines.deep.training import FEWEST_CLASSES, Loop, Process, TrainingData, choose_length
from superproto.errors import UserError
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows

# Features are scaled to [0, 1] between these quantiles: a few large values must not squeeze the rest.
LOW, HIGH = 0.001, 0.999
# Shorter descriptions take more steps to matter; much longer ones drown the noise of a generator.
DESCRIPTION_LENGTH = 3.0


@dataclass(eq=False, repr=False)
class DeepBaseline(Baseline):
    """Base of the methods that learn networks. Learning needs torch; answers and model files do not.

    Features are reduced to the first principal components of the labeled samples. They are divided by one number, so
    that a component has variance 1 on average. Descriptions have length 1 before they are centered and divided by one
    number. Where at least ten classes are seen, training runs twice. The first run leaves out a fifth of the seen
    classes and finds the number of steps that recognizes these best. The second run takes all classes and this number
    of steps.

    Parameters
    ----------
    learning_rate : float, default=0.001
        Step of Adam. Larger: learns faster, until training diverges.
    n_hidden : int, default=512
        Units of the hidden layers. Larger: more flexible and slower.
    batch_size : int, default=128
        Samples of a step. Larger: slower steps, with less noise.
    n_components : int or None, default=256
        Principal components that replace the features. Larger: closer to the features, slower. None: all features, each
        scaled to [0, 1], as in the papers.
    max_iter : int, default=600
        Largest number of steps. Larger: slower; early stopping chooses among more.
    max_seconds : float or None, default=None
        Largest time of training. Where it ends a run, another machine may give other answers.
    early_stopping : bool, default=True
        Choose the number of steps on held-out seen classes. False: train ``max_iter`` steps.
    verbose : bool, default=False
        Report progress on standard error.

    Attributes
    ----------
    learned_ : dict
        Arrays by name: all that scoring needs.
    n_iter_ : int
        Steps of the last training run.
    validation_scores_ : array of shape (n, 2)
        Step, and accuracy on held-out seen classes.
    """

    _positive: ClassVar[tuple[str, ...]] = ("learning_rate", "max_iter", "batch_size", "n_hidden")

    learning_rate: float = 1e-3
    n_hidden: int = 512
    batch_size: int = 128
    n_components: int | None = 256
    max_iter: int = 600
    max_seconds: float | None = None
    early_stopping: bool = True
    verbose: bool = False

    @abstractmethod
    def _begin(self, data: TrainingData) -> Process:
        """A training run at its start."""

    @abstractmethod
    def _score_features(self, learned: dict[str, Any], features: Array) -> Array:
        """(N, C) scores of reduced features, by NumPy alone."""

    def _learn(self, X: Array, problem: Problem) -> None:
        import_torch()
        self._check_budget()
        known = ~problem.asked
        self._learn_scale(X[known])
        data = TrainingData(
            rows=self._reduce(X[known]).astype(np.float32),
            labels=problem.labels[known],
            pool=self._reduce(X[problem.asked]).astype(np.float32),
            semantics=scaled_descriptions(problem).astype(np.float32),
            seen=problem.seen,
            candidates=problem.allowed,
        )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        n_steps, seconds = self._n_steps(problem), self.max_seconds
        self.validation_scores_ = np.zeros((0, 2))
        if self.early_stopping and problem.seen.sum() >= FEWEST_CLASSES and not problem.seen.all():
            seconds = None if seconds is None else seconds / 2
            rehearsal = Loop(n_steps, seconds, seed, self.verbose)
            n_steps, self.validation_scores_ = choose_length(rehearsal, data, self._begin, self._score_features)
        self.learned_, self.n_iter_ = Loop(n_steps, seconds, seed, self.verbose).run(lambda: self._begin(data))

    def _score(self, X: Array) -> Array:
        return self._score_features(self.learned_, self._reduce(X))

    def _n_steps(self, problem: Problem) -> int:
        """Steps that this problem needs at most."""
        return self.max_iter

    def _check_budget(self) -> None:
        for name in ("n_components", "max_seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UserError(f"{name} is {value}, but it must be larger than 0, or None.")

    def _learn_scale(self, rows: Array) -> None:
        """Components of the labeled rows, or the range of each feature; ``_reduce`` applies them."""
        rows = rows.astype(np.float64)
        if self.n_components is None:
            low, high = np.quantile(rows, [LOW, HIGH], axis=0)
            self.center_, self.basis_ = low, np.diag(1 / np.maximum(high - low, 1e-6))
            return
        self.center_ = rows.mean(axis=0)
        basis, variances = principal_components(rows - self.center_, self.n_components)
        self.basis_ = basis / np.sqrt(max(float(variances.mean()), 1e-12))

    def _reduce(self, X: Array) -> Array:
        rows = (X - self.center_.astype(X.dtype)) @ self.basis_.astype(X.dtype)
        return rows if self.n_components is not None else rows.clip(0, 1)


def principal_components(centered: Array, n_components: int) -> tuple[Array, Array]:
    """(d, r) the first eigenvectors of the covariance, and (r,) their variances; r is at most the rank."""
    n, d = centered.shape
    r = max(1, min(n_components, d, n - 1))
    variances, basis = linalg.eigh(centered.T @ centered / n, subset_by_index=[d - r, d - 1])
    # The sign of an eigenvector is free: the largest entry is made positive.
    signs = np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(r)])
    return (basis * signs)[:, ::-1], np.maximum(variances[::-1], 0)


def cosine_scores(rows: Array, classes: Array) -> Array:
    """(N, C) cosines of rows with class vectors of length 1."""
    return np.asarray(unit_rows(rows) @ classes.T.astype(rows.dtype))


def scaled_descriptions(problem: Problem) -> Array:
    """(C, q) unit descriptions, less the mean of the seen ones, at a mean square length of 3².

    Where a description has more numbers than there are classes, all are rotated into the span of the descriptions:
    networks gain nothing from numbers that are the same for all classes.
    """
    unit = unit_semantics(problem.semantics)
    centered = unit - unit[problem.seen].mean(axis=0)
    if len(centered) < centered.shape[1]:
        centered = centered @ linalg.svd(centered, full_matrices=False)[2].T
    return DESCRIPTION_LENGTH * centered / max(float(np.sqrt((centered**2).sum(axis=1).mean())), 1e-12)
