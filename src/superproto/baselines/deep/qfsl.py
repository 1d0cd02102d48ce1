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
    """Quasi-fully supervised learning: unlabeled samples are pushed towards the unseen classes as a group.

    It minimizes ``CE(softmax over all classes of cos(f(x), a_c) / T) + λ E_pool −log Σ_{u unseen} p_u``. f is a network
    from features to descriptions. The second term assumes that unlabeled samples belong to unseen classes. In the
    generalized setting it pushes samples of seen classes away too; lower ``bias_weight`` there.

    Parameters
    ----------
    bias_weight : float, default=0.1
        λ. Larger: unlabeled samples move away from seen classes. 0: the method is inductive.
    temperature : float, default=0.1
        T. Larger: classes are separated less sharply.
    learning_rate : float, default=0.0003
        Step of Adam. Larger: learns faster, until training diverges.
    weight_decay : float, default=0.0001
        Ridge on all weights. Larger: a smoother network.
    max_iter : int, default=360
        Largest number of steps. Larger: slower; early stopping chooses among more.
    n_hidden, batch_size, n_components, max_seconds, early_stopping, verbose
        Common to the deep methods; see :class:`~superproto.baselines.deep.base.DeepBaseline`.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` draws weights and
        batches.

    Attributes
    ----------
    learned_ : dict
        Layers of f, and (C, k) the unit descriptions.
    n_iter_ : int
        Steps of the last training run.
    validation_scores_ : array of shape (n, 2)
        Step, and accuracy on held-out seen classes.

    Notes
    -----
    The paper fine-tunes the image network, and its scores are f(x)·a_c. Features are given here, and cosines bound the
    scores. λ of the paper is about 1. Held-out seen classes of CUB gain from 0.3, those of FLO lose by 0.2; hence the
    smaller default. Without unlabeled samples the method is inductive. Published (ResNet-101, proposed split): SUN
    58.3, CUB 72.1.

    References
    ----------
    Song, Shen, Yang, Liu and Song, "Transductive unbiased embedding for zero-shot learning", CVPR 2018.
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
