"""FIT with torch: GANZrl, adversarial generation of features from descriptions with noise on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from superproto.baselines.deep.f_clswgan import judged_loss
from superproto.baselines.deep.networks import critic_loss, import_torch, perceptron, side_by_side
from superproto.baselines.deep.se_zsl import regression_loss
from superproto.baselines.deep.synthesis import AdversarialProcess, GenerativeBaseline
from superproto.baselines.deep.training import TrainingData


def augmented_loss(score: Any, logits: Any, targets: Any, descriptions: Any, found: Any, weights: Any) -> Any:
    """−E D(x̃, a) + w_1 E −log p(y|x̃) + w_2 E‖a − R(x̃)‖², weights = (w_1, w_2)."""
    return judged_loss(score, logits, targets, weights[0]) + weights[1] * regression_loss(descriptions, found)


class _Run(AdversarialProcess):
    def __init__(self, model: GANZrl, data: TrainingData) -> None:
        super().__init__(model, data)
        k, r = data.semantics.shape[1], data.rows.shape[1]
        self.generator = perceptron((k, model.n_hidden, r), nonnegative=model.n_components is None)
        self.critic = perceptron((r + k, model.n_hidden, 1))
        self.regressor = perceptron((r, model.n_hidden, k))
        self.optimize([self.generator], [self.critic, self.regressor])
        # Noise is as long as `noise` times a typical description.
        self.deviation = model.noise * float(np.sqrt((data.semantics**2).mean()))
        self.train_judge()

    def generate(self, descriptions: Any) -> Any:
        noise = self.deviation * import_torch().randn_like(descriptions)
        return self.generator(descriptions + noise)

    def critics_loss(self) -> Any:
        real, descriptions, _ = self.batch()
        fake = self.generate(descriptions).detach()
        loss = critic_loss(self.critic, real, fake, descriptions, self.model.penalty_weight)
        return loss + regression_loss(descriptions, self.regressor(real))

    def generator_loss(self) -> Any:
        _, descriptions, labels = self.batch()
        fake = self.generate(descriptions)
        score = self.critic(side_by_side(fake, descriptions))
        weights = (self.model.classification_weight, self.model.regression_weight)
        return augmented_loss(score, self.judge(fake), self.number[labels], descriptions, self.regressor(fake), weights)


@dataclass(eq=False, repr=False)
class GANZrl(GenerativeBaseline):
    """Adversarial learning with semantic augmentation (GANZrl): noisy descriptions generate features of a class.

    Features are generated as x̃ = G(a + ε) with ε ~ N(0, σ²), so each description gives several views of its class. The
    critic maximizes ``E D(x, a) − E D(x̃, a) − λ E (‖∇D(x̂, a)‖ − 1)²``. The generator minimizes
    ``−E D(x̃, a) + w_1 CE(x̃) + w_2 E‖a − R(x̃)‖²``. The softmax of the cross entropy and the regressor R learn from
    real samples.

    Parameters
    ----------
    noise : float, default=2.0
        σ, as a multiple of a typical entry of the descriptions. Larger: wider classes.
    n_hidden : int, default=256
        Units of the hidden layers. Larger: more flexible and slower.
    n_critic : int, default=2
        Steps of the critic for one of the generator. Larger: a better critic, slower.
    penalty_weight : float, default=10.0
        λ, weight of the gradient penalty. Larger: a smoother critic.
    classification_weight : float, default=1.0
        w_1. Larger: generated features are more typical of their class.
    regression_weight : float, default=0.1
        w_2. Larger: generated features show their description more clearly.
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
    The paper leaves widths, weights and the noise open. A Wasserstein critic replaces its discriminator, and the
    nearest mean of the generated features the nearest of them. Published (GoogLeNet, standard split): CUB 62.6.

    References
    ----------
    Tong, Klinkigt, Chen, Cui, Kong, Murakami and Kobayashi, "Adversarial zero-shot learning with semantic
    augmentation", AAAI 2018.
    """

    method_key = "ganzrl"

    noise: float = 2.0
    n_hidden: int = 256
    n_critic: int = 2
    penalty_weight: float = 10.0
    classification_weight: float = 1.0
    regression_weight: float = 0.1
    classifier: str = "nearest-mean"
    max_iter: int = 1500

    _positive: ClassVar[tuple[str, ...]] = (*GenerativeBaseline._positive, "n_critic")
    _nonnegative: ClassVar[tuple[str, ...]] = ("noise", "penalty_weight", "classification_weight", "regression_weight")

    def _begin(self, data: TrainingData) -> _Run:
        return _Run(self, data)
