"""FIT: TSTD, a dictionary between prototypes and descriptions, learned again with confident samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from superproto.baselines._shared.predicted_prototypes import class_means, unit_semantics
from superproto.baselines._shared.projections import invariant_map, spectrum
from superproto.baselines.base import LinearBaseline
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


@dataclass(eq=False, repr=False)
class TSTD(LinearBaseline):
    """Self-training dictionary: prototypes and descriptions map to each other, and confident samples join the fit.

    The dictionary minimizes ``(1 − β) Σ_c ‖p_c − a_c D‖² + β Σ_c ‖p_c Dᵀ − a_c‖²`` over class prototypes p, a Sylvester
    equation. An unseen class starts at ``a D``. In round r of R, the mean of the ``r/R`` most confident samples of a
    class joins the fit of D.  The class ends half way between that mean and ``a D``.

    Parameters
    ----------
    reverse_weight : float, default=0.2
        β, in [0, 1]. Larger: the map from features to descriptions counts more.
    n_rounds : int, default=10
        R. Larger: unlabeled samples join more gradually.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. Nothing is random.

    Attributes
    ----------
    classifiers_ : array of shape (C, d)
        The prototypes, at length 1.
    dictionary_ : array of shape (k, d)
        D.

    Notes
    -----
    The paper leaves open how confident a sample is, the weight of the two directions, and the last mean. Here the lead
    in cosine is the confidence. Published (VGG, as quoted by the HPL paper): AwA 90.3, CUB 58.2.

    References
    ----------
    Yu, Ji, Li, Guo, Zhang, Ling and Wu, "Transductive zero-shot learning with a self-training dictionary approach",
    IEEE Transactions on Cybernetics 2018.
    """

    method_key = "tstd"

    reverse_weight: float = 0.2
    n_rounds: int = 10

    _positive: ClassVar[tuple[str, ...]] = ("n_rounds",)
    _nonnegative: ClassVar[tuple[str, ...]] = ("reverse_weight",)

    def _learn(self, X: Array, problem: Problem) -> None:
        A, seen, allowed = unit_semantics(problem.semantics), problem.seen, problem.allowed
        prototypes = unit_rows(class_means(X, problem.labels, problem.n_classes))
        used = seen.copy()
        prototypes = self._predict(A, prototypes, used)
        pool = X[problem.asked]
        for round_ in range(1, self.n_rounds + 1 if len(pool) and not seen.all() else 1):
            scores = np.asarray(pool @ prototypes[allowed].T.astype(pool.dtype))
            means, found = confident_means(pool, scores, round_ / self.n_rounds)
            moving = np.flatnonzero(allowed)[found]
            moving = moving[~seen[moving]]
            own = np.zeros_like(prototypes)
            own[allowed] = unit_rows(means)
            used = seen.copy()
            used[moving] = True
            regressed = self._predict(A, np.where(used[:, None] & ~seen[:, None], own, prototypes), used)
            prototypes = regressed.copy()
            prototypes[moving] = unit_rows(own[moving] + regressed[moving])
        self._store_linear(prototypes)

    def _predict(self, A: Array, prototypes: Array, used: Array) -> Array:
        """Fit D to the classes in use; (C, d) unit rows a D, seen classes keeping their means."""
        P, S = prototypes[used], A[used]
        self.dictionary_ = invariant_map(spectrum(S), spectrum(P), S.T @ P, self.reverse_weight)
        seen = np.asarray(self.seen_classes_)[:, None]
        return np.where(seen, prototypes, unit_rows(A @ self.dictionary_))


def confident_means(rows: Array, scores: Array, share: float) -> tuple[Array, Array]:
    """(n, d) mean of the ``share`` of a class's own rows with the largest lead, and (n,) whether it has any row."""
    choice = scores.argmax(axis=1)
    ordered = np.sort(scores, axis=1)
    lead = ordered[:, -1] - ordered[:, -2] if scores.shape[1] > 1 else ordered[:, -1]
    counts = np.bincount(choice, minlength=scores.shape[1])
    order = np.lexsort((-lead, choice))
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    sure = order[rank < np.ceil(share * counts[choice[order]])]
    labels = np.full(len(rows), -1)
    labels[sure] = choice[sure]
    return class_means(rows, labels, scores.shape[1]), counts > 0
