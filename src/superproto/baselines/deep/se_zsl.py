"""FIT with torch: SE-ZSL, a conditional variational autoencoder with a regressor that reads descriptions back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from superproto.baselines.deep.networks import (
    adam,
    descend,
    draw,
    import_torch,
    kl_to_standard,
    mean_and_log_variance,
    perceptron,
    side_by_side,
)
from superproto.baselines.deep.synthesis import GeneratingProcess, GenerativeBaseline
from superproto.baselines.deep.training import TrainingData


def autoencoder_loss(rows: Any, rebuilt: Any, mean: Any, log_variance: Any, kl_weight: float = 1.0) -> Any:
    """E ½‖x − x̂‖² + w KL(q(z|x) ‖ N(0, I)): the negative lower bound of log p(x|a), up to a constant, for w = 1."""
    return (0.5 * ((rows - rebuilt) ** 2).sum(dim=1) + kl_weight * kl_to_standard(mean, log_variance)).mean()


def regression_loss(descriptions: Any, found: Any) -> Any:
    """E ‖a − R(x)‖²."""
    return ((descriptions - found) ** 2).sum(dim=1).mean()


class _Run(GeneratingProcess):
    def __init__(self, model: SEZSL, data: TrainingData) -> None:
        super().__init__(model, data)
        k, r, latent = data.semantics.shape[1], data.rows.shape[1], model.n_latent
        self.encoder = perceptron((r, model.n_hidden, 2 * latent))
        self.decoder = perceptron((latent + k, model.n_hidden, r), nonnegative=model.n_components is None)
        self.regressor = perceptron((r, model.n_hidden, k))
        self.networks = (self.encoder, self.decoder, self.regressor)
        self.step_regressor = adam([self.regressor], model.learning_rate)
        self.step_vae = adam([self.encoder, self.decoder], model.learning_rate)

    def generate(self, descriptions: Any) -> Any:
        noise = import_torch().randn(len(descriptions), self.model.n_latent)
        return self.decoder(side_by_side(noise, descriptions))

    def step(self) -> Any:
        rows, descriptions, _ = self.batch()
        made = self.generate(descriptions).detach()
        read = regression_loss(descriptions, self.regressor(rows))
        read = read + self.model.feedback_weight * regression_loss(descriptions, self.regressor(made))
        descend(self.step_regressor, read)
        loss = self._vae_loss(rows, descriptions)
        descend(self.step_vae, loss)
        return loss.detach() + read.detach()

    def _vae_loss(self, rows: Any, descriptions: Any) -> Any:
        """The autoencoder's loss, and the two terms by which regressor and encoder judge generated rows."""
        mean, log_variance = mean_and_log_variance(self.encoder, rows)
        rebuilt = self.decoder(side_by_side(draw(mean, log_variance), descriptions))
        loss = autoencoder_loss(rows, rebuilt, mean, log_variance)
        made = self.generate(descriptions)
        cycle = regression_loss(descriptions, self.regressor(made))
        marginal = kl_to_standard(*mean_and_log_variance(self.encoder, made)).mean()
        return loss + self.model.cycle_weight * cycle + self.model.marginal_weight * marginal


@dataclass(eq=False, repr=False)
class SEZSL(GenerativeBaseline):
    """Synthesized examples (SE-ZSL): an autoencoder generates features, a regressor checks their description.

    The autoencoder minimizes ``½‖x − G(z, a)‖² + KL(q(z|x) ‖ N(0, I)) + λ_c ‖a − R(x̂)‖² + λ_E KL(q(z|x̂) ‖ N(0, I))``
    for generated x̂ = G(z, a). The regressor R minimizes ``‖a − R(x)‖² + λ_R ‖a − R(x̂)‖²``. A classifier then learns
    from real samples of seen classes and generated ones of unseen classes.

    Parameters
    ----------
    cycle_weight : float, default=0.1
        λ_c. Larger: generated features show their description more clearly.
    marginal_weight : float, default=0.1
        λ_E. Larger: the encodings of generated features are closer to N(0, I).
    feedback_weight : float, default=0.1
        λ_R. Larger: the regressor learns more from generated features.
    n_latent : int, default=64
        Dimension of z. Larger: more variation within a class.
    max_iter : int, default=1500
        Largest number of steps. Larger: slower; early stopping chooses among more.
    learning_rate, n_hidden, batch_size, n_components, max_seconds, early_stopping, verbose
        Common to the deep methods; see :class:`~superproto.baselines.deep.base.DeepBaseline`.
    classifier, n_synthetic
        Common to the generative methods; see :class:`~superproto.baselines.deep.synthesis.GenerativeBaseline`.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` draws weights,
        batches and noise.

    Attributes
    ----------
    learned_ : dict
        Weights (C, r) and offsets (C,) of the classifier.
    n_iter_ : int
        Steps of the last training run.
    validation_scores_ : array of shape (n, 2)
        Step, and accuracy on held-out seen classes.

    Notes
    -----
    The paper trains a linear SVM on the generated features; here a softmax or the nearest mean does. Descriptions of
    generated features are drawn from seen classes. Published (ResNet-101, proposed split): AWA1 69.5, SUN 63.4, CUB
    59.6.

    References
    ----------
    Verma, Arora, Mishra and Rai, "Generalized zero-shot learning via synthesized examples", CVPR 2018.
    """

    method_key = "se-zsl"

    cycle_weight: float = 0.1
    marginal_weight: float = 0.1
    feedback_weight: float = 0.1
    n_latent: int = 64
    max_iter: int = 1500

    _positive: ClassVar[tuple[str, ...]] = (*GenerativeBaseline._positive, "n_latent")
    _nonnegative: ClassVar[tuple[str, ...]] = ("cycle_weight", "marginal_weight", "feedback_weight")

    def _begin(self, data: TrainingData) -> _Run:
        return _Run(self, data)
