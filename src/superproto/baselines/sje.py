"""FIT: SJE, a bilinear score in which the largest margin violation counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from superproto.baselines._shared.ranking import Ranking, Weighting
from superproto.samples.chunks import Array


def worst_violation(margins: Array) -> Array:
    """SJE: the largest violation alone, G_ic = 1[c = argmax M_i, M_ic > 0]."""
    weights = np.zeros_like(margins)
    rows, worst = np.arange(len(margins)), margins.argmax(axis=1)
    weights[rows, worst] = margins[rows, worst] > 0
    return weights


@dataclass(eq=False, repr=False)
class SJE(Ranking):
    """Structured joint embedding: a bilinear score, the worst violation of each sample counts.

    It solves ``min_W Σ_i max_c [margin 1(c ≠ y_i) + x_iᵀ W (a_c − a_{y_i})]₊`` by stochastic gradient descent. This is
    a structured SVM with 0/1 loss. The score of class c is ``xᵀ W a_c``.

    Parameters
    ----------
    margin : float, default=1.0
        By how much the true class must win. Larger: fits the seen classes less. Only margin / learning_rate matters.
    learning_rate : float, default=1.0
        Step of SGD. Larger: fits the seen classes more closely.
    n_epochs : int, default=10
        Passes over the labeled samples. Larger: less regularized.
    batch_size : int, default=64
        Samples of a step. Larger: fewer steps, with less noise.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` draws the batches.

    Attributes
    ----------
    classifiers_, offsets_ : arrays of shape (C, d) and (C,)
        Scores are ``x · w_c + b_c``.

    Notes
    -----
    With the identity for descriptions it is the multiclass SVM of Crammer and Singer. The paper leaves the norms of
    features open; features are prepared as in ``ale``. Published (ResNet-101, proposed split; quoted from memory of
    Xian et al. 2019): CUB 53.9, AWA1 65.6, SUN 53.7, aPY 32.9.

    References
    ----------
    Akata, Reed, Walter, Lee and Schiele, "Evaluation of output embeddings for fine-grained image classification", CVPR
    2015.
    """

    method_key = "sje"

    _weighting: ClassVar[Weighting] = staticmethod(worst_violation)
