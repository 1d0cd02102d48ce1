"""FIT with torch: methods that generate features of unseen classes, and the classifiers that learn from them."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from superproto.baselines._shared.predicted_prototypes import class_means
from superproto.baselines.deep.base import DeepBaseline
from superproto.baselines.deep.networks import adam, descend, import_torch, train_softmax
from superproto.baselines.deep.training import BatchProcess
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array

CLASSIFIERS = ("softmax", "nearest-mean")
# The softmax's inverse ridge, and its largest number of iterations.
INVERSE_RIDGE = 0.01
SOFTMAX_ITERATIONS = 60
# Decay rates of Adam for a generator and its critics, as in the papers.
ADVERSARIAL_BETAS = (0.5, 0.999)
# Steps that train the softmax which judges generated rows.
JUDGE_STEPS = 300


class GeneratingProcess(BatchProcess):
    """A training run whose networks generate features from descriptions."""

    @abstractmethod
    def generate(self, descriptions: Any) -> Any:
        """(n, r) features, one for each row of descriptions."""

    def real(self) -> tuple[Array, Array]:
        """What the classifier learns the seen classes from, and its labels: the labeled rows, unless overridden."""
        return self.data.rows, self.data.labels

    def learned(self) -> dict[str, Any]:
        """Weights (C, r) and offsets (C,) of a linear classifier of real seen and generated unseen features."""
        rows, labels = self.real()
        unseen = np.flatnonzero(self.data.unseen)
        if len(unseen):
            made = np.repeat(unseen, self.model.n_synthetic)
            with import_torch().no_grad():
                rows = np.concatenate([rows, self.generate(self.semantics[made]).numpy()])
            labels = np.concatenate([labels, made])
        chosen = self._needed(labels)
        weights, offsets = fit_classifier(self.model.classifier, rows[chosen], labels[chosen], len(self.semantics))
        return {"weights": weights, "offsets": offsets}

    def _needed(self, labels: Array) -> Array:
        """Rows of the candidates: a softmax among unseen classes learns from these alone, as the papers do."""
        if self.model.classifier == "nearest-mean" or not (self.data.candidates & self.data.unseen).any():
            return np.ones(len(labels), dtype=bool)
        return self.data.candidates[labels]


class AdversarialProcess(GeneratingProcess):
    """A generator and its critics: ``n_critic`` steps of the critics, then one of the generator."""

    @abstractmethod
    def critics_loss(self) -> Any:
        """What the critics minimize on a new batch."""

    @abstractmethod
    def generator_loss(self) -> Any:
        """What the generator minimizes on a new batch."""

    def optimize(self, generators: Sequence[Any], critics: Sequence[Any]) -> None:
        """Make the optimizers of both sides."""
        self.networks = (*generators, *critics)
        rate = self.model.learning_rate
        self.step_generator = adam(generators, rate, betas=ADVERSARIAL_BETAS)
        self.step_critics = adam(critics, rate, betas=ADVERSARIAL_BETAS)

    def train_judge(self) -> None:
        """A softmax of the real seen rows, which then judges the generated ones; ``number``: classes as its columns."""
        self.number = import_torch().from_numpy(np.cumsum(self.data.seen) - 1)
        n_steps = min(JUDGE_STEPS, self.model.max_iter)
        self.judge = train_softmax(self.rows, self.number[self.labels], int(self.data.seen.sum()), n_steps)

    def step(self) -> Any:
        for _ in range(self.model.n_critic):
            loss = self.critics_loss()
            descend(self.step_critics, loss)
        made = self.generator_loss()
        descend(self.step_generator, made)
        return loss.detach() + made.detach()


@dataclass(eq=False, repr=False)
class GenerativeBaseline(DeepBaseline):
    """Base of the methods that classify by generated features: the scores are linear in the reduced sample.

    Parameters
    ----------
    classifier : {"softmax", "nearest-mean"}, default="softmax"
        What learns from the generated features.
    n_synthetic : int, default=200
        Generated samples of an unseen class. Larger: a steadier classifier, slower.
    batch_size : int, default=64
        Samples of a step.
    """

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
