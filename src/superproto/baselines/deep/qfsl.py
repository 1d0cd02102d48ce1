"""FIT with torch: QFSL, a score learned on seen classes while unlabeled rows are pushed towards unseen ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from superproto.baselines.deep.base import DeepBaseline, cosine_scores
from superproto.baselines.deep.networks import adam, apply_layers, descend, import_torch, layers_of, perceptron
from superproto.baselines.deep.training import BatchProcess, TrainingData
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


def bias_loss(logits: Any, unseen: Any) -> Any:
    """E −log Σ_{u unseen} p_u, p the softmax of (n, C) logits over all classes."""
    return -(logits[:, unseen].logsumexp(dim=1) - logits.logsumexp(dim=1)).mean()


class _Run(BatchProcess):
    def __init__(self, model: QFSL, data: TrainingData) -> None:
        super().__init__(model, data)
        torch = import_torch()
        self.pool, self.unseen = torch.from_numpy(data.pool), torch.from_numpy(data.unseen)
        self.classes = torch.from_numpy(unit_rows(data.semantics))
        self.visual = perceptron((data.rows.shape[1], model.n_hidden, data.semantics.shape[1]))
        self.networks = (self.visual,)
        self.optimizer = adam(self.networks, model.learning_rate, weight_decay=model.weight_decay)

    def step(self) -> Any:
        torch = import_torch()
        rows, _, labels = self.batch()
        loss = torch.nn.functional.cross_entropy(self._logits(rows), labels)
        if len(self.pool) and self.model.bias_weight and bool(self.unseen.any()):
            index = torch.randint(len(self.pool), (min(self.model.batch_size, len(self.pool)),))
            loss = loss + self.model.bias_weight * bias_loss(self._logits(self.pool[index]), self.unseen)
        descend(self.optimizer, loss)
        return loss

    def _logits(self, rows: Any) -> Any:
        normalize = import_torch().nn.functional.normalize
        return normalize(self.visual(rows)) @ self.classes.T / self.model.temperature

    def learned(self) -> dict[str, Any]:
        return {"layers": layers_of(self.visual), "classes": self.classes.numpy().copy()}


@dataclass(eq=False, repr=False)
class QFSL(DeepBaseline):
    """Quasi-fully supervised learning: unlabeled rows are told that they belong to unseen classes, not to which.

    ``min CE(softmax over all classes of cos(f(x), a_c) / T) + λ E_pool −log Σ_{u unseen} p_u``, f a network from
    features to descriptions.

    The paper fine-tunes the image network and has scores f(x)·a_c; features are given here, and cosines keep the scores
    in bounds. The paper's λ is about 1. Held-out seen classes of CUB gain from 0.3, and those of FLO lose by 0.2:
    hence the smaller default.

    The pool's term assumes that unlabeled rows belong to unseen classes. Where the pool holds seen classes too
    (generalized zero-shot), it pushes their rows away as well: lower ``bias_weight`` there. Without unlabeled rows the
    method is inductive.

    Reference: Song, Shen, Yang, Liu and Song, "Transductive unbiased embedding for zero-shot learning", CVPR 2018.
    Published (ResNet-101, proposed split): SUN 58.3, CUB 72.1.

    Parameters
    ----------
    bias_weight : float, default=0.1
        λ. Grows: unlabeled rows move away from seen classes.
    temperature : float, default=0.1
        T. Grows: classes are told apart less sharply.
    learning_rate : float, default=0.0003
        Step of Adam.
    weight_decay : float, default=0.0001
        Ridge on all weights.
    n_hidden : int, default=512
        Units of the hidden layer.
    batch_size, n_components, max_iter, max_seconds, early_stopping, verbose
        As in :class:`superproto.baselines.deep.f_clswgan.FCLSWGAN`.
    candidates, whiten, random_state, seen_bias
        As everywhere in the zoo; ``random_state`` draws weights and batches.

    Attributes
    ----------
    learned_ : dict
        Layers of f, and (C, k) the unit descriptions.
    n_iter_, validation_scores_
        Steps of the last training run; step and accuracy on held-out seen classes.
    """

    method_key = "qfsl"

    bias_weight: float = 0.1
    temperature: float = 0.1
    learning_rate: float = 3e-4
    weight_decay: float = 1e-4
    max_iter: int = 360

    _positive: ClassVar[tuple[str, ...]] = (*DeepBaseline._positive, "temperature")
    _nonnegative: ClassVar[tuple[str, ...]] = ("bias_weight", "weight_decay")

    def _begin(self, data: TrainingData) -> _Run:
        return _Run(self, data)

    def _score_features(self, learned: dict[str, Any], features: Array) -> Array:
        return cosine_scores(apply_layers(learned["layers"], features), learned["classes"]) / self.temperature
