"""Labels spread over a graph of the pool in the space of the descriptions: DSRL and transductive ALE."""

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
    """Attribute label embedding made transductive: its predictions are spread over the pool's graph of scores.

    ALE learns the bilinear score ``x W a_c`` on the labeled rows. A pool row is embedded by its scores for all
    classes, which is ``x W`` seen through the descriptions; its best class is spread over the neighbor graph of
    these, ``F = (1 − α) (I − αS)⁻¹ Y``.

    Xian et al. say that they follow DSRL's propagation and no more; graph, k and α are as in ``dsrl`` here.
    Reference: Xian, Lampert, Schiele, Akata, *Zero-Shot Learning: A Comprehensive Evaluation of the Good, the Bad and
    the Ugly* (TPAMI 2019): CUB 54.3, SUN 56.1, AWA1 65.3, aPY 45.5 (PS).

    Parameters
    ----------
    learning_rate, n_epochs
        Of ALE: grow, and the seen classes are fitted more closely.
    n_neighbors : int, default=10
        Grows: labels travel farther, across class borders too.
    alpha : float, default=0.9
        In [0, 1). Grows: neighbors count for more, a row's own prediction for less.
    candidates, whiten, seen_bias
        As in every method.
    random_state : int, default=None
        Of ALE's stochastic gradient.

    Attributes
    ----------
    classifiers_, offsets_ : arrays of shape (C, d) and (C,)
        ALE's.
    pool_rows_, pool_probabilities_ : arrays of shape (N_pool, d) and (N_pool, C)
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
