"""Bilinear scores learned by ranking the true class above the others: ALE, DeViSE and SJE.

All three minimize Σ_i Σ_c G_ic [Δ_ic + x_iᵀ W (a_c − a_{y_i})]₊ by mini-batch SGD and differ in how violations are
weighted; a weighting is a function of the (batch, classes) matrix of margins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from superproto.baselines.base import LinearBaseline
from superproto.baselines.start import unit_semantics
from superproto.inputs import Problem
from superproto.rows import Array

Weighting = Callable[[Array], Array]


def every_violation(margins: Array) -> Array:
    """DeViSE: each class within the margin counts once, G_ic = 1[M_ic > 0]."""
    return (margins > 0).astype(margins.dtype)


def worst_violation(margins: Array) -> Array:
    """SJE: the largest violation alone, G_ic = 1[c = argmax M_i, M_ic > 0]."""
    weights = np.zeros_like(margins)
    rows, worst = np.arange(len(margins)), margins.argmax(axis=1)
    weights[rows, worst] = margins[rows, worst] > 0
    return weights


def rank_weighted(margins: Array) -> Array:
    """ALE: G_ic = 1[M_ic > 0] β_r / r with r the number of violations and β_r = 1 + 1/2 + … + 1/r."""
    violated = margins > 0
    ranks = violated.sum(axis=1)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, margins.shape[1] + 1))])
    return (violated * (harmonic[ranks] / np.maximum(ranks, 1))[:, None]).astype(margins.dtype)


def ranking_gradient(
    X: Array, labels: Array, A: Array, W: Array, margin: float, weighting: Weighting
) -> tuple[Array, float]:
    """Gradient and value of 1/b Σ_ic G_ic [margin + x_iᵀ W (a_c − a_{y_i})]₊, G held fixed; none for the own class."""
    rows = np.arange(len(X))
    scores = (X @ W) @ A.T
    margins = margin + scores - scores[rows, labels][:, None]
    margins[rows, labels] = 0
    weights = weighting(margins)
    loss = float((weights * margins).sum()) / len(X)
    weights[rows, labels] = -weights.sum(axis=1)
    return X.T @ (weights @ A) / len(X), loss


class _Coordinates(NamedTuple):
    """Features and descriptions as SGD likes them: centered, of unit mean square length, descriptions evened out."""

    feature_mean: Array
    feature_scale: float
    semantic_mean: Array
    semantic_map: Array


def _learn_coordinates(X: Array, A_seen: Array) -> _Coordinates:
    """Map of descriptions: V (s² + mean(s²))^(-½) in the span V of the seen ones, s their singular values."""
    mean = A_seen.mean(axis=0)
    _, singular, basis = linalg.svd(A_seen - mean, full_matrices=False, check_finite=False)
    rank = max(int((singular > 1e-10 * max(singular[0], 1e-300)).sum()), 1)
    power = singular[:rank] ** 2 / len(A_seen)
    gains = 1 / np.sqrt(power + power.mean() + 1e-300)
    even = basis[:rank].T * gains / (np.sqrt(float((power * gains**2).sum())) or 1.0)
    length = float(np.sqrt(X.var(axis=0, dtype=np.float64).sum())) or 1.0
    return _Coordinates(X.mean(axis=0, dtype=np.float64), length, mean, even)


class _Ranking(LinearBaseline):
    """Mini-batch SGD with averaged iterates on a ranking loss."""

    margin: float
    learning_rate: float
    n_epochs: int
    batch_size: int
    _positive: ClassVar[tuple[str, ...]] = ("margin", "learning_rate", "n_epochs", "batch_size")
    _weighting: ClassVar[Weighting]

    def _learn(self, X: Array, problem: Problem) -> None:
        known, seen, A = ~problem.asked, problem.seen, unit_semantics(problem.semantics)
        to = _learn_coordinates(X[known], A[seen])
        features = ((X[known] - to.feature_mean) / to.feature_scale).astype(X.dtype)
        descriptions = (A - to.semantic_mean) @ to.semantic_map
        columns = (np.cumsum(seen) - 1)[problem.labels[known]]
        W = self._descend(features, columns, descriptions[seen].astype(X.dtype))
        classifiers = descriptions @ W.T / to.feature_scale
        self._store_linear(classifiers, -classifiers @ to.feature_mean)

    def _descend(self, X: Array, labels: Array, A: Array) -> Array:
        """(d, k) the average of W over the second half of the epochs, started at W = 0."""
        rng = check_random_state(self.random_state)
        weighting = type(self)._weighting
        W = np.zeros((X.shape[1], A.shape[1]), dtype=X.dtype)
        average, averaged = np.zeros_like(W), 0
        for epoch in range(self.n_epochs):
            order = rng.permutation(len(X))
            for start in range(0, len(X), self.batch_size):
                batch = order[start : start + self.batch_size]
                gradient, _ = ranking_gradient(X[batch], labels[batch], A, W, self.margin, weighting)
                W -= X.dtype.type(self.learning_rate) * gradient
            if 2 * epoch + 1 >= self.n_epochs:
                average += W
                averaged += 1
        return average / averaged


class ALE(_Ranking):
    """Attribute label embedding: a bilinear score, violations weighted by the rank of the true class.

    ``min_W Σ_i β_r / r Σ_c [margin + x_iᵀ W (a_c − a_{y_i})]₊`` with r the number of classes that violate the margin
    for sample i and ``β_r = 1 + 1/2 + … + 1/r``.

    The source estimates r by drawing classes until one violates; with a few hundred classes all are scored at once and
    r is exact. Left open there: preparation and step size. Decided here, for the three rankers alike: features are
    centered on the labeled rows and scaled to unit mean square length; descriptions have length 1 before they are
    centered (a shift of all classes changes no ranking), rotated into the span of the seen ones (gradients never leave
    it) and evened out; W starts at 0 and the iterates of the second half of the epochs are averaged.

    Reference: Akata, Perronnin, Harchaoui and Schmid, "Label-embedding for image classification", TPAMI 2016. Published
    (ResNet-101, proposed split; recalled from Xian et al. 2019, not re-read): CUB 54.9, AWA1 59.9, SUN 58.1, aPY 39.7.

    Parameters
    ----------
    margin : float, default=1.0
        By how much the true class must win. Only margin / learning_rate matters: grows: fits the seen classes less.
    learning_rate : float, default=0.3
        Step of SGD. Grows: fits the seen classes closer.
    n_epochs : int, default=10
        Passes over the labeled rows. Few passes regularize.
    batch_size : int, default=64
        Rows of a step.
    candidates, whiten, random_state, seen_bias
        As everywhere in the zoo; ``random_state`` draws the batches.
    """

    _weighting: ClassVar[Weighting] = staticmethod(rank_weighted)

    def __init__(
        self,
        margin: float = 1.0,
        learning_rate: float = 0.3,
        n_epochs: int = 10,
        batch_size: int = 64,
        *,
        candidates: Any = "unseen",
        whiten: bool | float = False,
        random_state: Any = None,
        seen_bias: float = 0.0,
    ) -> None:
        self.margin = margin
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.candidates = candidates
        self.whiten = whiten
        self.random_state = random_state
        self.seen_bias = seen_bias


class DeViSE(_Ranking):
    """Deep visual-semantic embedding's ranking loss on fixed features: every class within the margin counts once.

    ``min_W Σ_i Σ_c [margin + x_iᵀ W (a_c − a_{y_i})]₊``. The source fine-tunes a network with it; features are given
    here. Preparation as in :class:`ALE`.

    Reference: Frome, Corrado, Shlens et al., "DeViSE: a deep visual-semantic embedding model", NIPS 2013. Published
    (ResNet-101, proposed split; recalled from Xian et al. 2019, not re-read): CUB 52.0, AWA1 54.2, SUN 56.5, aPY 39.8.

    Parameters
    ----------
    margin : float, default=1.0
        By how much the true class must win. Only margin / learning_rate matters: grows: fits the seen classes less.
    learning_rate : float, default=0.05
        Step of SGD. Grows: fits the seen classes closer.
    n_epochs : int, default=10
        Passes over the labeled rows. Few passes regularize.
    batch_size : int, default=64
        Rows of a step.
    candidates, whiten, random_state, seen_bias
        As everywhere in the zoo; ``random_state`` draws the batches.
    """

    _weighting: ClassVar[Weighting] = staticmethod(every_violation)

    def __init__(
        self,
        margin: float = 1.0,
        learning_rate: float = 0.05,
        n_epochs: int = 10,
        batch_size: int = 64,
        *,
        candidates: Any = "unseen",
        whiten: bool | float = False,
        random_state: Any = None,
        seen_bias: float = 0.0,
    ) -> None:
        self.margin = margin
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.candidates = candidates
        self.whiten = whiten
        self.random_state = random_state
        self.seen_bias = seen_bias


class SJE(_Ranking):
    """Structured joint embedding: the worst violation of each sample counts.

    ``min_W Σ_i max_c [margin 1(c ≠ y_i) + x_iᵀ W (a_c − a_{y_i})]₊``, a structured SVM with 0/1 loss; with the identity
    for descriptions, the multiclass SVM of Crammer and Singer. The source leaves the norms of features open;
    preparation as in :class:`ALE`.

    Reference: Akata, Reed, Walter, Lee and Schiele, "Evaluation of output embeddings for fine-grained image
    classification", CVPR 2015. Published (ResNet-101, proposed split; recalled from Xian et al. 2019, not re-read): CUB
    53.9, AWA1 65.6, SUN 53.7, aPY 32.9.

    Parameters
    ----------
    margin : float, default=1.0
        By how much the true class must win. Only margin / learning_rate matters: grows: fits the seen classes less.
    learning_rate : float, default=1.0
        Step of SGD. Grows: fits the seen classes closer.
    n_epochs : int, default=10
        Passes over the labeled rows. Few passes regularize.
    batch_size : int, default=64
        Rows of a step.
    candidates, whiten, random_state, seen_bias
        As everywhere in the zoo; ``random_state`` draws the batches.
    """

    _weighting: ClassVar[Weighting] = staticmethod(worst_violation)

    def __init__(
        self,
        margin: float = 1.0,
        learning_rate: float = 1.0,
        n_epochs: int = 10,
        batch_size: int = 64,
        *,
        candidates: Any = "unseen",
        whiten: bool | float = False,
        random_state: Any = None,
        seen_bias: float = 0.0,
    ) -> None:
        self.margin = margin
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.candidates = candidates
        self.whiten = whiten
        self.random_state = random_state
        self.seen_bias = seen_bias
