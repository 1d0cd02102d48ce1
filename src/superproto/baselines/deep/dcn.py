"""FIT with torch: DCN, two networks into a common space whose cosines are calibrated on unseen classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from superproto.baselines.deep.base import DeepBaseline, cosine_scores
from superproto.baselines.deep.networks import adam, apply_layers, descend, import_torch, layers_of, perceptron
from superproto.baselines.deep.training import BatchProcess, TrainingData
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


def calibrated_loss(logits: Any, labels: Any, seen: Any, entropy_weight: float) -> Any:
    """CE over the seen classes + λ H(p over the unseen classes), of (n, C) logits; p is a softmax within each group.

    A row of a seen class is to resemble one unseen class clearly, not all of them a little.
    """
    functional = import_torch().nn.functional
    numbers = seen.long().cumsum(0) - 1
    loss = functional.cross_entropy(logits[:, seen], numbers[labels])
    if entropy_weight == 0 or bool(seen.all()):
        return loss
    log_p = functional.log_softmax(logits[:, ~seen], dim=1)
    return loss - entropy_weight * (log_p.exp() * log_p).sum(dim=1).mean()


class _Run(BatchProcess):
    def __init__(self, model: DCN, data: TrainingData) -> None:
        super().__init__(model, data)
        self.seen = import_torch().from_numpy(data.seen)
        self.visual = perceptron((data.rows.shape[1], model.n_hidden, model.n_embedded))
        self.semantic = perceptron((data.semantics.shape[1], model.n_hidden, model.n_embedded))
        self.networks = (self.visual, self.semantic)
        self.optimizer = adam(self.networks, model.learning_rate, weight_decay=model.weight_decay)

    def step(self) -> Any:
        rows, _, labels = self.batch()
        normalize = import_torch().nn.functional.normalize
        cosines = normalize(self.visual(rows)) @ normalize(self.semantic(self.semantics)).T
        logits = cosines / self.model.temperature
        loss = calibrated_loss(logits, labels, self.seen, self.model.entropy_weight)
        descend(self.optimizer, loss)
        return loss

    def learned(self) -> dict[str, Any]:
        classes = apply_layers(layers_of(self.semantic), self.semantics.numpy())
        return {"layers": layers_of(self.visual), "classes": unit_rows(classes)}


@dataclass(eq=False, repr=False)
class DCN(DeepBaseline):
    """Deep calibration network: features and descriptions in a common space, calibrated on unseen classes.

    It minimizes ``CE(softmax over seen classes of cos(f(x), g(a_c)) / T) + λ H(softmax over unseen classes)``. f and g
    are networks with one hidden layer. The entropy H makes a seen sample resemble one unseen class clearly.

    Parameters
    ----------
    temperature : float, default=0.2
        T. Larger: classes are separated less sharply.
    entropy_weight : float, default=0.1
        λ. Larger: seen samples choose more clearly among unseen classes.
    learning_rate : float, default=0.0002
        Step of Adam. Larger: learns faster, until training diverges.
    weight_decay : float, default=0.0001
        Ridge on all weights. Larger: smoother networks.
    n_embedded : int, default=512
        Dimension of the common space. Larger: more flexible and slower.
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
        Layers of f, and (C, n_embedded) the unit vectors g(a_c).
    n_iter_ : int
        Steps of the last training run.
    validation_scores_ : array of shape (n, 2)
        Step, and accuracy on held-out seen classes.

    Notes
    -----
    The paper fine-tunes the image network and uses SGD. Features are given here, and Adam trains. Published
    (ResNet-101, proposed split): aPY 43.6, AWA1 65.2, SUN 61.8, CUB 56.2.

    References
    ----------
    Liu, Long, Wang and Jordan, "Generalized zero-shot learning with deep calibration network", NeurIPS 2018.
    """

    method_key = "dcn"

    temperature: float = 0.2
    entropy_weight: float = 0.1
    learning_rate: float = 2e-4
    weight_decay: float = 1e-4
    n_embedded: int = 512
    max_iter: int = 360

    _positive: ClassVar[tuple[str, ...]] = (*DeepBaseline._positive, "temperature", "n_embedded")
    _nonnegative: ClassVar[tuple[str, ...]] = ("entropy_weight", "weight_decay")

    def _begin(self, data: TrainingData) -> _Run:
        return _Run(self, data)

    def _score_features(self, learned: dict[str, Any], features: Array) -> Array:
        return cosine_scores(apply_layers(learned["layers"], features), learned["classes"]) / self.temperature
