"""FIT: DAP, a calibrated classifier for each attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit
from sklearn.utils import check_random_state

from superproto.baselines._shared.losses import with_constant, without_constant
from superproto.baselines._shared.predicted_prototypes import LEAST_RIDGE, labeled_class_sums
from superproto.baselines.base import LinearBaseline
from superproto.estimator.kernel_ridge import solve_ridge
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array


@dataclass(eq=False, repr=False)
class DAP(LinearBaseline):
    """Direct attribute prediction: a probabilistic classifier for each attribute, independent given the sample.

    The score of class c is ``Σ_m log p(a_m = a_m^c | x) − log p(a_m = a_m^c)`` with binary attributes. It is linear in
    the log odds of the attributes. Each attribute has a ridge classifier that is calibrated on held-out classes.

    Parameters
    ----------
    ridge : float, default=0.1
        In units of the mean eigenvalue of the Gram matrix. Larger: smoother attribute classifiers.
    n_folds : int, default=5
        Folds of classes for the calibration. Larger: more classes to learn from in each fold, slower.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` draws the folds.

    Attributes
    ----------
    classifiers_, offsets_ : arrays of shape (C, d) and (C,)
        Scores are ``x · w_c + b_c``.

    Notes
    -----
    The paper trains an SVM for each attribute and calibrates it by Platt's sigmoid on held-out samples. Here classes
    are held out, so an attribute that does not transfer to other classes has a slope near 0. Continuous descriptions
    are cut at their mean over the seen classes. The prior of an attribute is its share among the seen classes. An
    attribute that all seen classes share is left out. Published (ResNet-101, proposed split; quoted from memory of Xian
    et al. 2019): CUB 40.0, AWA1 44.1, SUN 39.9, aPY 33.8.

    References
    ----------
    Lampert, Nickisch and Harmeling, "Learning to detect unseen object classes by between-class attribute transfer",
    CVPR 2009.
    """

    method_key = "dap"

    ridge: float = 0.1
    n_folds: int = 5

    _positive: ClassVar[tuple[str, ...]] = ("n_folds",)
    _nonnegative: ClassVar[tuple[str, ...]] = ("ridge",)

    def _learn(self, X: Array, problem: Problem) -> None:
        known, seen = ~problem.asked, problem.seen
        A, labels = problem.semantics, problem.labels[known]
        has = A[seen].mean(axis=0) < A
        share = has[seen].mean(axis=0)
        useful = (share > 0) & (share < 1)
        signs = np.where(has[:, useful], 1.0, -1.0)
        mean = X[known].mean(axis=0, dtype=np.float64)
        rows = with_constant(X[known], mean)
        slopes, offsets = self._calibrate(rows, labels, signs, seen)
        weights = attribute_ridge(rows, labels, signs, self.ridge) * slopes[:, None]
        weights[:, -1] += offsets - logit(share[useful])
        self._store_linear(*without_constant(has[:, useful] @ weights, mean))

    def _calibrate(self, X: Array, labels: Array, signs: Array, seen: Array) -> tuple[Array, Array]:
        """Platt's slope and offset of each attribute, from predictions for classes that were held out."""
        classes = check_random_state(self.random_state).permutation(np.flatnonzero(seen))
        n_folds = min(int(self.n_folds), len(classes))
        outputs = np.zeros((len(X), signs.shape[1]), dtype=X.dtype)
        learned = np.zeros(outputs.shape, dtype=bool)
        for fold in range(n_folds if n_folds > 1 else 0):
            held = np.isin(labels, classes[fold::n_folds])
            rest = signs[np.setdiff1d(classes, classes[fold::n_folds])]
            weights = attribute_ridge(X[~held], labels[~held], signs, self.ridge)
            outputs[held] = X[held] @ weights.T.astype(X.dtype)
            learned[held] = rest.min(axis=0) != rest.max(axis=0)
        return platt(outputs, signs[labels] > 0, learned)


def attribute_ridge(X: Array, labels: Array, signs: Array, ridge: float) -> Array:
    """(attributes, d) (XᵀX + ridge tr(XᵀX)/d I)⁻¹ Xᵀ S, S the attributes of each sample as ±1, from class sums."""
    gram = np.asarray(X.T @ X, dtype=np.float64)
    sums, _ = labeled_class_sums(X, labels, len(signs))
    return solve_ridge(gram, sums.T @ signs, ridge + LEAST_RIDGE).T


def platt(outputs: Array, targets: Array, usable: Array, max_iter: int = 25) -> tuple[Array, Array]:
    """The a ≥ 0 and b of min −Σ log-likelihood of sigmoid(a f + b) + a²/2 over usable rows, all columns at once.

    Damped Newton. A column whose usable rows are all of one kind gets sigmoid(2 f), the slope of (1 + f) / 2 at 0.
    """
    counts = np.stack([(usable & targets).sum(axis=0), (usable & ~targets).sum(axis=0)])
    a, b = np.zeros(outputs.shape[1]), logit((counts[0] + 1) / (counts.sum(axis=0) + 2))
    for _ in range(max_iter):
        p = expit(outputs * a + b)
        error, curve = usable * (p - targets), usable * (p * (1 - p) + 1e-12)
        g_a, g_b = (error * outputs).sum(axis=0) + a, error.sum(axis=0)
        h_aa, h_ab, h_bb = (curve * outputs**2).sum(axis=0) + 1, (curve * outputs).sum(axis=0), curve.sum(axis=0)
        determinant = np.maximum(h_aa * h_bb - h_ab**2, 1e-12)
        step_a, step_b = (h_bb * g_a - h_ab * g_b) / determinant, (h_aa * g_b - h_ab * g_a) / determinant
        a, b = a - np.clip(step_a, -2, 2), b - np.clip(step_b, -2, 2)
        if max(np.abs(step_a).max(initial=0), np.abs(step_b).max(initial=0)) < 1e-6:
            break
    both = counts.min(axis=0) > 0
    return np.where(both, np.maximum(a, 0), 2.0), np.where(both, b, 0.0)
