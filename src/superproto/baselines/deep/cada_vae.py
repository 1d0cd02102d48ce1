"""FIT with torch: CADA-VAE, two autoencoders, of features and of descriptions, with one latent space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from superproto.baselines.deep.networks import (
    adam,
    apply_layers,
    descend,
    draw,
    import_torch,
    kl_to_standard,
    layers_of,
    mean_and_log_variance,
    perceptron,
)
from superproto.baselines.deep.synthesis import GeneratingProcess, GenerativeBaseline
from superproto.baselines.deep.training import TrainingData
from superproto.samples.chunks import Array

# The weights of the terms grow linearly between these shares of the training steps, as in the paper's 100 epochs.
KL_WARM_UP = (0.0, 0.93)
CROSS_WARM_UP = (0.21, 0.75)
ALIGNMENT_WARM_UP = (0.06, 0.22)
# Latent vectors of a seen class for each of an unseen class, when the classifier learns: 200 for 400 in the paper.
SEEN_SHARE = 0.5


def absolute_error(rows: Any, rebuilt: Any) -> Any:
    """E ‖x − x̂‖₁."""
    return (rows - rebuilt).abs().sum(dim=1).mean()


def alignment_loss(mean: Any, log_variance: Any, other_mean: Any, other_log_variance: Any) -> Any:
    """E (‖μ_1 − μ_2‖² + ‖σ_1 − σ_2‖²)^½: the 2-Wasserstein distance of two Gaussians with diagonal covariances."""
    deviations = (log_variance / 2).exp() - (other_log_variance / 2).exp()
    # The root has no gradient at 0.
    return (((mean - other_mean) ** 2 + deviations**2).sum(dim=1) + 1e-12).sqrt().mean()


def warmed_up(share: float, span: tuple[float, float]) -> float:
    """0 before the span, 1 after it, and a straight line between."""
    return min(max((share - span[0]) / (span[1] - span[0]), 0.0), 1.0)


def _repeated(index: Any, size: int) -> Any:
    """`size` entries of a random order of the index, which is repeated where it is too short."""
    torch = import_torch()
    return torch.cat([index[torch.randperm(len(index))] for _ in range(-(-size // len(index)))])[:size]


class _Run(GeneratingProcess):
    def __init__(self, model: CADAVAE, data: TrainingData) -> None:
        super().__init__(model, data)
        k, r, hidden, latent = data.semantics.shape[1], data.rows.shape[1], model.n_hidden, model.n_latent
        self.count = 0
        self.encoder, self.describer = perceptron((r, hidden, 2 * latent)), perceptron((k, hidden, 2 * latent))
        self.decoder = perceptron((latent, hidden, r), nonnegative=model.n_components is None)
        self.reader = perceptron((latent, hidden, k))
        self.networks = (self.encoder, self.describer, self.decoder, self.reader)
        self.optimizer = adam(self.networks, model.learning_rate, amsgrad=True)

    def generate(self, descriptions: Any) -> Any:
        """Latent vectors of descriptions: the classifier learns in the latent space."""
        return draw(*mean_and_log_variance(self.describer, descriptions))

    def real(self) -> tuple[Array, Array]:
        """Latent vectors of labeled rows, as many for each seen class: rows of a small class are drawn repeatedly."""
        torch = import_torch()
        size = max(1, round(SEEN_SHARE * self.model.n_synthetic))
        index = torch.cat([_repeated(torch.nonzero(self.labels == c)[:, 0], size) for c in self.labels.unique()])
        with torch.no_grad():
            latent = draw(*mean_and_log_variance(self.encoder, self.rows[index]))
        return latent.numpy(), self.labels[index].numpy()

    def step(self) -> Any:
        self.count += 1
        loss = self._loss(self.count / self.model.max_iter)
        descend(self.optimizer, loss)
        return loss

    def _loss(self, share: float) -> Any:
        rows, descriptions, _ = self.batch()
        of_rows = mean_and_log_variance(self.encoder, rows)
        of_descriptions = mean_and_log_variance(self.describer, descriptions)
        z, w = draw(*of_rows), draw(*of_descriptions)
        own = absolute_error(rows, self.decoder(z)) + absolute_error(descriptions, self.reader(w))
        cross = absolute_error(rows, self.decoder(w)) + absolute_error(descriptions, self.reader(z))
        divergence = (kl_to_standard(*of_rows) + kl_to_standard(*of_descriptions)).mean()
        model = self.model
        return (
            own
            + model.kl_weight * warmed_up(share, KL_WARM_UP) * divergence
            + model.cross_weight * warmed_up(share, CROSS_WARM_UP) * cross
            + model.alignment_weight * warmed_up(share, ALIGNMENT_WARM_UP) * alignment_loss(*of_rows, *of_descriptions)
        )

    def learned(self) -> dict[str, Any]:
        return {**super().learned(), "layers": layers_of(self.encoder)}


@dataclass(eq=False, repr=False)
class CADAVAE(GenerativeBaseline):
    """Cross- and distribution-aligned autoencoders (CADA-VAE): features and descriptions in one latent space.

    It minimizes ``E‖x − D_x(z_x)‖₁ + E‖a − D_a(z_a)‖₁ + β KL + γ (E‖x − D_x(z_a)‖₁ + E‖a − D_a(z_x)‖₁) + δ W``. z_x and
    z_a are drawn from the encodings of a sample and of its description. KL is the divergence of both from N(0, I), and
    W their Wasserstein distance. A softmax then learns from latent vectors: those of descriptions for unseen classes,
    those of samples for seen ones.

    Parameters
    ----------
    kl_weight : float, default=0.25
        β. Larger: encodings are wider and overlap more.
    cross_weight : float, default=2.37
        γ. Larger: samples and descriptions predict each other better.
    alignment_weight : float, default=8.13
        δ. Larger: a sample and its description have more similar encodings.
    learning_rate : float, default=0.0005
        Step of Adam. Larger: learns faster, until training diverges.
    n_latent : int, default=64
        Dimension of the latent space. Larger: more flexible and slower.
    max_iter : int, default=2400
        Largest number of steps. Larger: slower; early stopping chooses among more.
    n_hidden, batch_size, n_components, max_seconds, early_stopping, verbose
        Common to the deep methods; see :class:`~superproto.baselines.deep.base.DeepBaseline`.
    classifier, n_synthetic
        Common to the generative methods; see :class:`~superproto.baselines.deep.synthesis.GenerativeBaseline`.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` draws weights,
        batches and noise.

    Attributes
    ----------
    learned_ : dict
        Layers of the encoder, weights (C, n_latent) and offsets (C,) of the classifier.
    n_iter_ : int
        Steps of the last training run.
    validation_scores_ : array of shape (n, 2)
        Step, and accuracy on held-out seen classes.

    Notes
    -----
    The weights grow as in the paper: β from 0 to 93 % of the steps, γ from 21 to 75 %, δ from 6 to 22 %. A seen class
    has half as many latent vectors as an unseen one. A sample is classified by the mean of its encoding. The paper
    trains 100 epochs at a rate of 1.5e-4 with 1,450 to 1,660 hidden units; here the rate is larger and the networks are
    smaller. Published H (ResNet-101, proposed split): AWA1 64.1, SUN 40.6, CUB 52.4.

    References
    ----------
    Schönfeld, Ebrahimi, Sinha, Darrell and Akata, "Generalized zero- and few-shot learning via aligned variational
    autoencoders", CVPR 2019.
    """

    method_key = "cada-vae"

    kl_weight: float = 0.25
    cross_weight: float = 2.37
    alignment_weight: float = 8.13
    learning_rate: float = 5e-4
    n_latent: int = 64
    max_iter: int = 2400

    _positive: ClassVar[tuple[str, ...]] = (*GenerativeBaseline._positive, "n_latent")
    _nonnegative: ClassVar[tuple[str, ...]] = ("kl_weight", "cross_weight", "alignment_weight")

    def _begin(self, data: TrainingData) -> _Run:
        return _Run(self, data)

    def _score_features(self, learned: dict[str, Any], features: Array) -> Array:
        mean = np.split(apply_layers(learned["layers"], features), 2, axis=1)[0]
        return super()._score_features(learned, mean)
