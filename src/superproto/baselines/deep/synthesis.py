"""FIT with torch: methods that generate features of unseen classes, and the classifiers that learn from them."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from superproto.baselines._shared.predicted_prototypes import class_means
from superproto.baselines.deep.base import DeepBaseline
from superproto.baselines.deep.networks import import_torch
from superproto.baselines.deep.training import Process, TrainingData
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array

CLASSIFIERS = ("softmax", "nearest-mean")
# The softmax's inverse ridge, and its largest number of iterations.
INVERSE_RIDGE = 0.01
SOFTMAX_ITERATIONS = 60


class GeneratingProcess(Process):
    """A training run whose networks generate features from descriptions."""

    def __init__(self, data: TrainingData, batch_size: int, classifier: str, n_synthetic: int) -> None:
        torch = import_torch()
        self.data, self.classifier, self.n_synthetic = data, classifier, n_synthetic
        self.rows, self.labels = torch.from_numpy(data.rows), torch.from_numpy(data.labels)
        self.semantics = torch.from_numpy(data.semantics)
        self.batch_size = min(batch_size, len(data.rows))

    @abstractmethod
    def generate(self, descriptions: Any) -> Any:
        """(n, r) features, one for each row of descriptions."""

    def batch(self) -> tuple[Any, Any, Any]:
        """Random labeled rows, their descriptions and their classes."""
        index = import_torch().randint(len(self.rows), (self.batch_size,))
        return self.rows[index], self.semantics[self.labels[index]], self.labels[index]

    def real(self) -> tuple[Array, Array]:
        """What the classifier learns the seen classes from, and its labels: the labeled rows, unless overridden."""
        return self.data.rows, self.data.labels

    def learned(self) -> dict[str, Any]:
        """Weights (C, r) and offsets (C,) of a linear classifier of real seen and generated unseen features."""
        rows, labels = self.real()
        unseen = np.flatnonzero(self.data.unseen)
        if len(unseen):
            made = np.repeat(unseen, self.n_synthetic)
            with import_torch().no_grad():
                rows = np.concatenate([rows, self.generate(self.semantics[made]).numpy()])
            labels = np.concatenate([labels, made])
        chosen = self._needed(labels)
        weights, offsets = fit_classifier(self.classifier, rows[chosen], labels[chosen], len(self.semantics))
        return {"weights": weights, "offsets": offsets}

    def _needed(self, labels: Array) -> Array:
        """Rows of the candidates: a softmax among unseen classes learns from these alone, as the papers do."""
        if self.classifier == "nearest-mean" or not (self.data.candidates & self.data.unseen).any():
            return np.ones(len(labels), dtype=bool)
        return self.data.candidates[labels]


@dataclass(eq=False, repr=False)
class GenerativeBaseline(DeepBaseline):
    """Base of the methods that classify by generated features: the scores are linear in the reduced row."""

    _positive: ClassVar[tuple[str, ...]] = (*DeepBaseline._positive, "n_synthetic")
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"classifier": CLASSIFIERS}

    classifier: str = "softmax"
    n_synthetic: int = 200
    batch_size: int = 64

    def _n_steps(self, problem: Problem) -> int:
        """A single one where no class is unseen: there is nothing to generate."""
        return 1 if problem.seen.all() else self.max_iter

    def _score_features(self, learned: dict[str, Any], features: Array) -> Array:
        return features @ learned["weights"].T.astype(features.dtype) + learned["offsets"].astype(features.dtype)


def fit_classifier(kind: str, rows: Array, labels: Array, n_classes: int) -> tuple[Array, Array]:
    """(C, r) weights and (C,) offsets; a class without rows scores lower than any other.

    ``"nearest-mean"``: −‖x − m_c‖² up to what all classes share. ``"softmax"``: a multinomial regression with a ridge.
    """
    present = np.unique(labels)
    weights, offsets = np.zeros((n_classes, rows.shape[1])), np.full(n_classes, -1e6)
    if kind == "nearest-mean" or len(present) == 1:
        means = class_means(rows, labels, n_classes)
        weights[present], offsets[present] = 2 * means[present], -(means[present] ** 2).sum(axis=1)
        return weights, offsets
    softmax = LogisticRegression(C=INVERSE_RIDGE, max_iter=SOFTMAX_ITERATIONS, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        softmax.fit(rows.astype(np.float64), labels)
    two = len(present) == 2
    weights[present] = np.concatenate([-softmax.coef_ / 2, softmax.coef_ / 2]) if two else softmax.coef_
    offsets[present] = np.r_[-softmax.intercept_ / 2, softmax.intercept_ / 2] if two else softmax.intercept_
    return weights, offsets
