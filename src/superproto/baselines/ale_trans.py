"""FIT: ALE made transductive by spreading its predictions over a graph of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from superproto.baselines._shared.graphs import CommonSpacePropagation
from superproto.baselines.ale import ALE
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array


@dataclass(eq=False, repr=False)
class ALETrans(CommonSpacePropagation):
    """Attribute label embedding, transductive: its predictions spread over a graph of its scores.

    ALE learns the bilinear score ``x W a_c`` on the labeled samples. An unlabeled sample is embedded by its scores for
    all classes. Its best class spreads over the neighbor graph of these, ``F = (1 − α)(I − αS)⁻¹ Y``.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbors in the graph. Larger: labels travel farther, also across class borders.
    alpha : float, default=0.9
        α, in [0, 1). Larger: neighbors count more, a sample's own prediction less.
    learning_rate : float, default=0.3
        Step of ALE's SGD. Larger: fits the seen classes more closely.
    n_epochs : int, default=10
        Passes of ALE over the labeled samples. Larger: less regularized.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` draws the batches of
        ALE.

    Attributes
    ----------
    classifiers_, offsets_ : arrays of shape (C, d) and (C,)
        Those of ALE.
    pool_rows_, pool_probabilities_ : arrays of shape (N_pool, d) and (N_pool, C)
        The unlabeled samples and their answers.

    Notes
    -----
    The paper follows the propagation of DSRL and says no more; graph, neighbors and α are those of ``dsrl``. Published
    (proposed split): CUB 54.3, SUN 56.1, AWA1 65.3, aPY 45.5.

    References
    ----------
    Xian, Lampert, Schiele and Akata, "Zero-shot learning: a comprehensive evaluation of the good, the bad and the
    ugly", TPAMI 2019.
    """

    method_key = "ale-trans"

    learning_rate: float = 0.3
    n_epochs: int = 10

    _positive: ClassVar[tuple[str, ...]] = ("n_neighbors", "learning_rate", "n_epochs")

    def _learn_embedding(self, X: Array, problem: Problem) -> Array:
        ale = ALE(learning_rate=self.learning_rate, n_epochs=self.n_epochs, random_state=self.random_state)
        ale._learn(X, problem)
        self.classifiers_, self.offsets_ = ale.classifiers_, ale.offsets_
        return np.eye(problem.n_classes)

    def _embed(self, X: Array) -> Array:
        return np.asarray(X @ self.classifiers_.T.astype(X.dtype) + self.offsets_.astype(X.dtype))

    def _compare(self, embedded: Array) -> Array:
        return embedded
