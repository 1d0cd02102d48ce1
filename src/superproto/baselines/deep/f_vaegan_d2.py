"""FIT with torch: f-VAEGAN-D2, an autoencoder and a GAN with one generator, and a second critic for unlabeled rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from superproto.baselines.deep.networks import (
    critic_loss,
    draw,
    import_torch,
    mean_and_log_variance,
    perceptron,
    side_by_side,
)
from superproto.baselines.deep.se_zsl import autoencoder_loss
from superproto.baselines.deep.synthesis import AdversarialProcess, GenerativeBaseline, fit_classifier
from superproto.baselines.deep.training import TrainingData
from superproto.samples.chunks import Array

# The share of each candidate class in the pool is estimated every so many steps, from so many generated rows a class.
STEPS_BETWEEN_ESTIMATES = 100
ROWS_OF_AN_ESTIMATE = 30


def vaegan_loss(bound: Any, score: Any, pool_score: Any, weights: tuple[float, float]) -> Any:
    """The autoencoder's loss − w_1 E D_1(x̃, a) − w_2 E D_2(x̃_u), weights = (w_1, w_2); no pool: pool_score is None."""
    loss = bound - weights[0] * score.mean()
    return loss if pool_score is None else loss - weights[1] * pool_score.mean()


def smoothed_shares(labels: Array, classes: Array) -> Array:
    """(len(classes),) the mean of the shares of each class among the labels and of equal shares.

    Half of the weight stays on equal shares, so that a class that no label names is still drawn.
    """
    counts = np.array([(labels == c).sum() for c in classes], dtype=float)
    return 0.5 / len(classes) + 0.5 * counts / max(counts.sum(), 1.0)


class _Run(AdversarialProcess):
    def __init__(self, model: FVAEGAND2, data: TrainingData) -> None:
        super().__init__(model, data)
        torch = import_torch()
        k, r, latent = data.semantics.shape[1], data.rows.shape[1], model.n_latent
        self.count = 0
        self.pool, self.drawn = torch.from_numpy(data.pool), np.flatnonzero(data.candidates)
        self.shares = torch.full((len(self.drawn),), 1 / len(self.drawn))
        self.encoder = perceptron((r + k, model.n_hidden, 2 * latent))
        self.generator = perceptron((latent + k, model.n_hidden, r), nonnegative=model.n_components is None)
        self.critic, self.pool_critic = perceptron((r + k, model.n_hidden, 1)), perceptron((r, model.n_hidden, 1))
        self.optimize([self.encoder, self.generator], [self.critic, self.pool_critic])

    @property
    def has_pool(self) -> bool:
        return len(self.pool) > 0 and self.model.pool_weight > 0

    def generate(self, descriptions: Any) -> Any:
        noise = import_torch().randn(len(descriptions), self.model.n_latent)
        return self.generator(side_by_side(noise, descriptions))

    def step(self) -> Any:
        self.count += 1
        if self.has_pool and self.count % STEPS_BETWEEN_ESTIMATES == 0:
            self.shares = self._estimated_shares()
        return super().step()

    def critics_loss(self) -> Any:
        weight = self.model.penalty_weight
        real, descriptions, _ = self.batch()
        loss = critic_loss(self.critic, real, self.generate(descriptions).detach(), descriptions, weight)
        if self.has_pool:
            unlabeled, fake = self._pool_batch(), self.generate(self._pool_descriptions()).detach()
            loss = loss + critic_loss(self.pool_critic, unlabeled, fake, unlabeled[:, :0], weight)
        return loss

    def generator_loss(self) -> Any:
        rows, descriptions, _ = self.batch()
        mean, log_variance = mean_and_log_variance(self.encoder, side_by_side(rows, descriptions))
        rebuilt = self.generator(side_by_side(draw(mean, log_variance), descriptions))
        bound = autoencoder_loss(rows, rebuilt, mean, log_variance) * self.model.reconstruction_weight
        score = self.critic(side_by_side(self.generate(descriptions), descriptions))
        pool_score = self.pool_critic(self.generate(self._pool_descriptions())) if self.has_pool else None
        return vaegan_loss(bound, score, pool_score, (self.model.critic_weight, self.model.pool_weight))

    def _pool_batch(self) -> Any:
        return self.pool[import_torch().randint(len(self.pool), (self.batch_size,))]

    def _pool_descriptions(self) -> Any:
        """Descriptions of candidates, drawn by their estimated shares in the pool."""
        index = import_torch().multinomial(self.shares, self.batch_size, replacement=True)
        return self.semantics[self.drawn][index]

    def _estimated_shares(self) -> Any:
        """Shares of the candidates among the pool's rows, each given to the nearest mean of generated rows."""
        torch = import_torch()
        labels = np.repeat(self.drawn, ROWS_OF_AN_ESTIMATE)
        with torch.no_grad():
            rows = self.generate(self.semantics[labels]).numpy()
        weights, offsets = fit_classifier("nearest-mean", rows, labels, len(self.semantics))
        found = (self.data.pool @ weights.T.astype(np.float32) + offsets.astype(np.float32)).argmax(axis=1)
        return torch.from_numpy(smoothed_shares(found, self.drawn).astype(np.float32))


@dataclass(eq=False, repr=False)
class FVAEGAND2(GenerativeBaseline):
    """Transductive f-VAEGAN-D2: features are generated, and a second critic compares them with the unlabeled samples.

    One network is the decoder of a conditional autoencoder and the generator of a Wasserstein GAN. It minimizes
    ``w_0 (E ½‖x − G(z, a)‖² + KL(q(z|x, a) ‖ N(0, I))) − w_1 E D_1(x̃, a) − w_2 E D_2(x̃_u)``. The critic D_1 compares
    samples with their descriptions. D_2 compares unlabeled samples with features x̃_u generated for the candidate
    classes. A classifier then learns from real samples of seen classes and generated ones of unseen classes.

    Parameters
    ----------
    reconstruction_weight : float, default=1.0
        w_0. Larger: the autoencoder counts more.
    critic_weight : float, default=1.0
        w_1. Larger: the critic of labeled samples counts more.
    pool_weight : float, default=1.0
        w_2. Larger: generated features are closer to the unlabeled samples. 0: the method is inductive.
    penalty_weight : float, default=10.0
        Weight of the gradient penalty of both critics. Larger: smoother critics.
    n_hidden : int, default=256
        Units of the hidden layers. Larger: more flexible and slower.
    n_latent : int, default=64
        Dimension of z. Larger: more variation within a class.
    n_critic : int, default=2
        Steps of the critics for one of the generator. Larger: better critics, slower.
    classifier : {"softmax", "nearest-mean"}, default="nearest-mean"
        What learns from the generated features.
    max_iter : int, default=1500
        Largest number of steps. Larger: slower; early stopping chooses among more.
    learning_rate, batch_size, n_components, max_seconds, early_stopping, verbose
        Common to the deep methods; see :class:`~superproto.baselines.deep.base.DeepBaseline`.
    n_synthetic
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
    Classes of x̃_u are drawn by their shares among the unlabeled samples. These start equal and are estimated while
    training: unlabeled samples go to the nearest mean of generated features. Published figures draw unseen classes
    evenly. In the generalized setting the candidates are all classes. Without unlabeled samples the method is
    inductive. The paper has 4,096 hidden units, 2,048 features and a softmax; the defaults here are for two CPU cores.
    Published (ResNet-101, proposed split, transductive): CUB 71.1.

    References
    ----------
    Xian, Sharma, Schiele and Akata, "f-VAEGAN-D2: a feature generating framework for any-shot learning", CVPR 2019.
    """

    method_key = "f-vaegan-d2"

    reconstruction_weight: float = 1.0
    critic_weight: float = 1.0
    pool_weight: float = 1.0
    penalty_weight: float = 10.0
    n_hidden: int = 256
    n_latent: int = 64
    n_critic: int = 2
    classifier: str = "nearest-mean"
    max_iter: int = 1500

    _positive: ClassVar[tuple[str, ...]] = (*GenerativeBaseline._positive, "n_critic", "n_latent")
    _nonnegative: ClassVar[tuple[str, ...]] = (
        "reconstruction_weight",
        "critic_weight",
        "pool_weight",
        "penalty_weight",
    )

    def _begin(self, data: TrainingData) -> _Run:
        return _Run(self, data)
