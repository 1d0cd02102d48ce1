"""FIT: label spreading from the most confident unlabeled samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from superproto.baselines._shared.graphs import (
    GraphPropagation,
    confident_seeds,
    cosine_graph,
    normalized_graph,
    spread_labels,
)
from superproto.samples.chunks import Array


@dataclass(eq=False, repr=False)
class SeededSpreading(GraphPropagation):
    """Label spreading: labels of the most confident unlabeled samples spread over a neighbor graph.

    The answer is ``F = (1 − α)(I − αS)⁻¹ Y`` with ``S = D^(-1/2) W D^(-1/2)``. W is the symmetric k-nearest-neighbor
    graph of the unlabeled samples, weighted by cosine. Y marks the seeds: the ``n_seeds`` samples of each class whose
    cosine with its class vector leads the second class by most.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbors in the graph. Larger: labels travel farther, also across class borders.
    alpha : float, default=0.9
        α, in [0, 1). Larger: neighbors count more, the labels of the seeds less.
    ridge : float, default=0.1
        Ridge of the class vectors. Larger: unseen prototypes mix more seen classes, more evenly.
    kernel : {"linear", "rbf"}, default="linear"
        Kernel of the descriptions. "rbf" uses the nearest seen descriptions only.
    n_seeds : int, default=16
        Seeds of each class. Larger: class vectors label more samples, with more errors.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. Nothing is random.

    Attributes
    ----------
    class_vectors_ : array of shape (C, d)
        Predicted prototypes, or texts in the space of the features.
    pool_rows_, pool_probabilities_ : arrays of shape (N_pool, d) and (N_pool, C)
        The unlabeled samples and their answers.

    Notes
    -----
    The paper starts from given labels. Unseen classes have none, so the seeds are a choice of this package. A new
    sample receives the mean answer of its nearest unlabeled samples.

    References
    ----------
    Zhou, Bousquet, Lal, Weston and Schölkopf, "Learning with local and global consistency", NIPS 2004.
    """

    method_key = "label-spreading"

    n_seeds: int = 16

    _positive: ClassVar[tuple[str, ...]] = ("n_neighbors", "n_seeds")

    def _propagate(self, pool: Array, vectors: Array) -> Array:
        seeds = confident_seeds(pool @ vectors.T.astype(pool.dtype), self.n_seeds)
        graph = cosine_graph(pool, self.n_neighbors)
        return spread_labels(normalized_graph(graph.maximum(graph.T)), seeds, self.alpha)
