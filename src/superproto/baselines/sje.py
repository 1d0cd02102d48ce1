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
        As in every method; ``random_state`` draws the batches.
    """

    method_key = "sje"

    _weighting: ClassVar[Weighting] = staticmethod(worst_violation)
