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
        As in every method; ``random_state`` draws the batches.
    """

    method_key = "devise"

    learning_rate: float = 0.05

    _weighting: ClassVar[Weighting] = staticmethod(every_violation)
