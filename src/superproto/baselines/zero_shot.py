"""FIT: the zero-shot rule of image and text embeddings: the class of the most similar text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from superproto.baselines._shared.class_vectors import class_vectors, shares_space
from superproto.baselines.base import LinearBaseline
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array


@dataclass(eq=False, repr=False)
class ZeroShot(LinearBaseline):
    """Zero-shot classification by texts: each sample receives the class of the most similar text embedding.

    The class is ``argmax_j cos(x, t_j)``, with probabilities ``softmax_j(logit_scale · cos(x, t_j))``. Nothing is
    learned from samples. Where descriptions do not lie in the space of the features, class means and kernel ridge
    predictions replace the texts.

    Parameters
    ----------
    logit_scale : float, default=100.0
        Inverse temperature of the probabilities; 100 is that of CLIP. Larger: more confident.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. Nothing is random.

    Attributes
    ----------
    classifiers_ : array of shape (C, d)
        The texts or predicted prototypes, at length 1.

    References
    ----------
    Radford, Kim, Hallacy et al., "Learning transferable visual models from natural language supervision", ICML 2021.
    """

    method_key = "zero-shot"
    compares_raw_features: ClassVar[bool] = True

    logit_scale: float = 100.0

    _positive: ClassVar[tuple[str, ...]] = ("logit_scale",)

    def _takes_texts(self) -> bool:
        return True

    def _learn(self, X: Array, problem: Problem) -> None:
        self._store_linear(class_vectors(X, problem, self.metric_))

    def _fit_sharpness(self, X: Array, problem: Problem) -> float:
        shared = shares_space(X, problem, self.metric_)
        return float(self.logit_scale) if shared else super()._fit_sharpness(X, problem)
