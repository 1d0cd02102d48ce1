"""SHARE: within-class whitening as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from superproto.errors import UserError
from superproto.estimator.validation import check_problem
from superproto.samples.chunks import Array, ArrayRows
from superproto.samples.whitening import apply_metric, learn_metric


class WithinClassWhitening(TransformerMixin, BaseEstimator):
    """Whiten unit rows by the within-class covariance of the labeled samples.

    In the result, the samples of a class vary about equally in all directions.

    Parameters
    ----------
    shrinkage : float or None, default=None
        Added to every eigenvalue of the covariance, in units of their mean. Larger: closer to centering only.
        Smaller: closer to full whitening, which amplifies directions that contain only noise. None: d / (N - m), for
        N labeled samples of m classes with d features.

    Attributes
    ----------
    metric_ : Metric
        The affine map.

    Examples
    --------
    >>> import numpy as np
    >>> from superproto import WithinClassWhitening
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 4)) + 5, rng.integers(3, size=60)
    >>> np.linalg.norm(WithinClassWhitening().fit_transform(X, y), axis=1).round(6).max()
    np.float64(1.0)
    """

    def __init__(self, shrinkage: float | None = None) -> None:
        self.shrinkage = shrinkage

    def fit(self, X: Any, y: Any = None) -> WithinClassWhitening:
        """Learn the metric from the rows of X with y != -1. With ``y=None`` all rows count as one class."""
        X = validate_data(self, X, dtype=[np.float64, np.float32, np.float16])
        if self.shrinkage is not None and not self.shrinkage >= 0:
            raise UserError(f"shrinkage is {self.shrinkage}, but it must be at least 0.")
        problem = check_problem(np.zeros(len(X), dtype=int) if y is None else y, candidates="all")
        self.metric_ = learn_metric(ArrayRows(X), problem.labels, problem.n_classes, self.shrinkage)
        return self

    def transform(self, X: Any) -> Array:
        """Return the whitened rows, scaled to length 1."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32, np.float16], reset=False)
        rows = ArrayRows(X)
        return np.concatenate([part for (part,) in rows.visit(lambda chunk: (apply_metric(self.metric_, chunk),))])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
