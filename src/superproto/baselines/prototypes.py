"""FIT: nearest prototype by cosine, with prototypes predicted from descriptions; the start of most other methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from superproto.baselines._shared.class_vectors import first_vectors
from superproto.baselines._shared.predicted_prototypes import KERNELS, RIDGE
from superproto.baselines.base import LinearBaseline
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array


@dataclass(eq=False, repr=False)
class Prototypes(LinearBaseline):
    """Nearest prototype by cosine: class means for seen classes, kernel ridge from descriptions for unseen ones.

    The prototypes of unseen classes are ``P_u = K_us (K_ss + ridge m⁻¹ tr(K_ss) I)⁻¹ P_s``. K is the kernel of the unit
    descriptions, m the number of seen classes, and P_s holds the class means. A sample receives the class
    ``argmax_j cos(x, p_j)``. Without any label, text embeddings in the space of the features are the prototypes.

    Parameters
    ----------
    ridge : float, default=0.1
        Ridge, relative to the mean diagonal of the kernel. Larger: unseen prototypes mix more seen classes, more
        evenly.
    kernel : {"linear", "rbf"}, default="linear"
        Kernel of the descriptions. "rbf" uses the nearest seen descriptions only.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. Nothing is random.

    Attributes
    ----------
    classifiers_ : array of shape (C, d)
        The prototypes, at length 1.

    Notes
    -----
    The method is folklore. The width of the RBF kernel is the median squared distance of the seen descriptions. Class
    means keep their length in the regression.

    References
    ----------
    Verma and Rai, "A simple exponential family framework for zero-shot learning", ECML 2017: the same regression of
    class means, together with variances.
    """

    method_key = "prototypes"

    ridge: float = RIDGE
    kernel: str = "linear"

    _nonnegative: ClassVar[tuple[str, ...]] = ("ridge",)
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"kernel": KERNELS}

    def _takes_texts(self) -> bool:
        return True

    def _learn(self, X: Array, problem: Problem) -> None:
        self._store_linear(first_vectors(X, problem, self.metric_, self.ridge, self.kernel))
