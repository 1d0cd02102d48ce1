"""FIT: ALE, a bilinear score whose margin violations are weighted by the rank of the true class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from superproto.baselines._shared.ranking import Ranking, Weighting
from superproto.samples.chunks import Array


def rank_weighted(margins: Array) -> Array:
    """ALE: G_ic = 1[M_ic > 0] β_r / r with r the number of violations and β_r = 1 + 1/2 + … + 1/r."""
    violated = margins > 0
    ranks = violated.sum(axis=1)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, margins.shape[1] + 1))])
    return (violated * (harmonic[ranks] / np.maximum(ranks, 1))[:, None]).astype(margins.dtype)


@dataclass(eq=False, repr=False)
class ALE(Ranking):
    """Attribute label embedding: a bilinear score, violations weighted by the rank of the true class.

    It solves ``min_W Σ_i β_r / r Σ_c [margin + x_iᵀ W (a_c − a_{y_i})]₊`` by stochastic gradient descent. r is the
    number of classes that violate the margin for sample i, and ``β_r = 1 + 1/2 + … + 1/r``. The score of class c is
    ``xᵀ W a_c``.

    Parameters
    ----------
    margin : float, default=1.0
        By how much the true class must win. Larger: fits the seen classes less. Only margin / learning_rate matters.
    learning_rate : float, default=0.3
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
    The paper estimates r by drawing classes until one violates the margin. Here all classes are scored, and r is exact.
    The paper leaves the preparation open. Here features are centered on the labeled samples and scaled to unit mean
    square length. Descriptions have length 1, are centered, rotated into the span of the seen ones, and evened out. W
    starts at 0. The iterates of the second half of the epochs are averaged.

    Published (ResNet-101, proposed split; quoted from memory of Xian et al. 2019): CUB 54.9, AWA1 59.9, SUN 58.1, aPY
    39.7.

    References
    ----------
    Akata, Perronnin, Harchaoui and Schmid, "Label-embedding for image classification", TPAMI 2016.
    """

    method_key = "ale"

    learning_rate: float = 0.3

    _weighting: ClassVar[Weighting] = staticmethod(rank_weighted)
