"""FIT with torch: PreseR, descriptions mapped to features so that relations between classes are preserved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from superproto.baselines.deep.base import DeepBaseline, cosine_scores
from superproto.baselines.deep.networks import adam, apply_layers, descend, import_torch, layers_of, perceptron
from superproto.baselines.deep.training import BatchProcess, TrainingData
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


def relation_loss(cosines: Any, relations: Any, same: Any, threshold: float) -> Any:
    """Mean over pairs (i, j) of what the cosine c_ij of embedding i with row j lacks, given the classes' cosine δ_ij.

    Same class: 1 − c. Similar classes (δ ≥ τ): [δ − c]₊. Dissimilar classes (δ < τ): [c − δ]₊.
    """
    torch = import_torch()
    similar = torch.where(relations >= threshold, (relations - cosines).relu(), (cosines - relations).relu())
    return torch.where(same, 1 - cosines, similar).mean()


class _Run(BatchProcess):
    def __init__(self, model: PreseR, data: TrainingData) -> None:
        super().__init__(model, data)
        unit = import_torch().nn.functional.normalize(self.semantics)
        self.relations = unit @ unit.T
        k, r = data.semantics.shape[1], data.rows.shape[1]
        self.encoder = perceptron((k, model.n_hidden, r))
        self.decoder = perceptron((r, model.n_hidden, k))
        self.networks = (self.encoder, self.decoder)
        self.optimizer = adam(self.networks, model.learning_rate, weight_decay=model.weight_decay)

    def step(self) -> Any:
        rows, descriptions, labels = self.batch()
        embedded = self.encoder(descriptions)
        loss = ((embedded - rows) ** 2).mean()
        normalize = import_torch().nn.functional.normalize
        relations = self.relations[labels][:, labels]
        cosines = normalize(embedded) @ normalize(rows).T
        same = labels[:, None] == labels
        loss = loss + self.model.relation_weight * relation_loss(cosines, relations, same, self.model.threshold)
        rebuilt = self.decoder(embedded)
        loss = loss + self.model.reconstruction_weight * ((rebuilt - descriptions) ** 2).sum(dim=1).mean()
        descend(self.optimizer, loss)
        return loss

    def learned(self) -> dict[str, Any]:
        return {"classes": unit_rows(apply_layers(layers_of(self.encoder), self.semantics.numpy()))}


@dataclass(eq=False, repr=False)
class PreseR(DeepBaseline):
    """Preserving semantic relations: descriptions are mapped to features, and classes keep their similarities there.

    It minimizes ``E‖x − f(a)‖² / r + λ_1 relations + λ_2 E‖a − g(f(a))‖²`` with networks f and g. Relations compare the
    cosine of f(a_i) and a sample of class j with the cosine δ_ij of the descriptions. It should be 1 for the same
    class, at least δ_ij for similar classes (δ_ij ≥ τ), at most δ_ij for others. A sample receives the class of the
    most similar f(a).

    Parameters
    ----------
    relation_weight : float, default=1.0
        λ_1. Larger: relations between classes count more than the place of each class.
    reconstruction_weight : float, default=0.1
        λ_2. Larger: f(a) keeps more of the description.
    threshold : float, default=0.0
        τ, the cosine from which two classes are similar. Larger: fewer similar classes.
    weight_decay : float, default=0.0001
        Ridge on all weights. Larger: smoother networks.
    n_hidden : int, default=1024
        Units of the hidden layers. Larger: more flexible and slower.
    max_iter : int, default=600
        Largest number of steps. Larger: slower; early stopping chooses among more.
    learning_rate, batch_size, n_components, max_seconds, early_stopping, verbose
        Common to the deep methods; see :class:`~superproto.baselines.deep.base.DeepBaseline`.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` draws weights and
        batches.

    Attributes
    ----------
    learned_ : dict
        (C, r) the unit vectors f(a_c).
    n_iter_ : int
        Steps of the last training run.
    validation_scores_ : array of shape (n, 2)
        Step, and accuracy on held-out seen classes.

    Notes
    -----
    The paper draws pairs of each kind; here all pairs of a batch count. Descriptions are centered before δ is taken.
    Published (ResNet-101, proposed split): aPY 38.4, SUN 61.4, CUB 56.0.

    References
    ----------
    Annadani and Biswas, "Preserving semantic relations for zero-shot learning", CVPR 2018.
    """

    method_key = "preser"

    relation_weight: float = 1.0
    reconstruction_weight: float = 0.1
    threshold: float = 0.0
    weight_decay: float = 1e-4
    n_hidden: int = 1024
    max_iter: int = 600

    _nonnegative: ClassVar[tuple[str, ...]] = ("relation_weight", "reconstruction_weight", "weight_decay")

    def _begin(self, data: TrainingData) -> _Run:
        return _Run(self, data)

    def _score_features(self, learned: dict[str, Any], features: Array) -> Array:
        return cosine_scores(features, learned["classes"])
