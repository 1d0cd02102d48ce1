"""FIT: DeViSE, a bilinear score in which every margin violation counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from superproto.baselines._shared.ranking import Ranking, Weighting
from superproto.samples.chunks import Array


def every_violation(margins: Array) -> Array:
    """DeViSE: each class within the margin counts once, G_ic = 1[M_ic > 0]."""
    return (margins > 0).astype(margins.dtype)


@dataclass(eq=False, repr=False)
class DeViSE(Ranking):
    """Deep visual-semantic embedding: a bilinear score, every class within the margin counts once.

    It solves ``min_W Σ_i Σ_c [margin + x_iᵀ W (a_c − a_{y_i})]₊`` by stochastic gradient descent. The score of class c
    is ``xᵀ W a_c``.

    Parameters
    ----------
    margin : float, default=1.0
        By how much the true class must win. Larger: fits the seen classes less. Only margin / learning_rate matters.
    learning_rate : float, default=0.05
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
    The paper fine-tunes a network with this loss; features are given here. They are prepared as in ``ale``. Published
    (ResNet-101, proposed split; quoted from memory of Xian et al. 2019): CUB 52.0, AWA1 54.2, SUN 56.5, aPY 39.8.

    References
    ----------
    Frome, Corrado, Shlens et al., "DeViSE: a deep visual-semantic embedding model", NIPS 2013.
    """

    method_key = "devise"

    learning_rate: float = 0.05

    _weighting: ClassVar[Weighting] = staticmethod(every_violation)
