"""FIT with torch: f-CLSWGAN, a conditional Wasserstein GAN that generates features of unseen classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from superproto.baselines.deep.networks import critic_loss, import_torch, perceptron, side_by_side
from superproto.baselines.deep.synthesis import AdversarialProcess, GenerativeBaseline
from superproto.baselines.deep.training import TrainingData

# Noise has as many numbers as a description, at most so many.
MOST_NOISE = 128


def judged_loss(score: Any, logits: Any, targets: Any, classification_weight: float) -> Any:
    """−E D(x̃, a) + β E −log p(y | x̃)."""
    entropy = import_torch().nn.functional.cross_entropy(logits, targets)
    return -score.mean() + classification_weight * entropy


class _Run(AdversarialProcess):
    def __init__(self, model: FCLSWGAN, data: TrainingData) -> None:
        super().__init__(model, data)
        k, r = data.semantics.shape[1], data.rows.shape[1]
        self.n_noise = min(k, MOST_NOISE)
        self.generator = perceptron((k + self.n_noise, model.n_hidden, r), nonnegative=model.n_components is None)
        self.critic = perceptron((r + k, model.n_hidden, 1))
        self.optimize([self.generator], [self.critic])
        self.train_judge()

    def generate(self, descriptions: Any) -> Any:
        noise = import_torch().randn(len(descriptions), self.n_noise)
        return self.generator(side_by_side(descriptions, noise))

    def critics_loss(self) -> Any:
        real, descriptions, _ = self.batch()
        fake = self.generate(descriptions).detach()
        return critic_loss(self.critic, real, fake, descriptions, self.model.penalty_weight)

    def generator_loss(self) -> Any:
        _, descriptions, labels = self.batch()
        fake = self.generate(descriptions)
        score = self.critic(side_by_side(fake, descriptions))
        return judged_loss(score, self.judge(fake), self.number[labels], self.model.classification_weight)


@dataclass(eq=False, repr=False)
class FCLSWGAN(GenerativeBaseline):
    """Feature-generating Wasserstein GAN: features of unseen classes are generated from descriptions and classified.

    The critic maximizes ``E D(x, a) − E D(x̃, a) − λ E (‖∇D(x̂, a)‖ − 1)²``, x̃ = G(z, a). The generator minimizes
    ``−E D(x̃, a) + β CE(x̃)`` with the softmax of the real seen rows. A classifier then learns from the real rows of
    seen classes and ``n_synthetic`` generated ones of each unseen class.

    The paper has 4,096 hidden units, features of 2,048 numbers, five critic steps, a learning rate of 1e-4, β = 0.01
    and a softmax that learns from the generated features. The defaults here are for two CPU cores: principal
    components, fewer hidden units, two critic steps, a larger rate, and β = 1, with which fewer steps are enough.

    Reference: Xian, Lorenz, Schiele and Akata, "Feature generating networks for zero-shot learning", CVPR 2018.
    Published (ResNet-101, proposed split): AWA1 69.9, SUN 62.1, CUB 61.5.

    Parameters
    ----------
    learning_rate : float, default=0.001
        Step of Adam. Grows: learns faster, until training diverges.
    n_hidden : int, default=256
        Units of the hidden layer of generator and critic.
    n_critic : int, default=2
        Steps of the critic for one of the generator.
    penalty_weight : float, default=10.0
        λ, weight of the gradient penalty.
    classification_weight : float, default=1.0
        β. Grows: generated features are more typical of their class.
    classifier : {"softmax", "nearest-mean"}, default="softmax"
        What learns from the generated features.
    n_synthetic : int, default=200
        Generated rows of an unseen class.
    batch_size : int, default=64
        Rows of a step.
    n_components : int or None, default=256
        Principal components that replace the features; None: all features, each scaled to [0, 1].
    max_iter : int, default=1800
        Largest number of steps.
    max_seconds : float or None, default=None
        Largest time. Where it ends a training run, another machine may give other answers.
    early_stopping : bool, default=True
        Choose the number of steps on held-out seen classes; without, it is ``max_iter``.
    verbose : bool, default=False
        Report progress on standard error.
    candidates, whiten, random_state, seen_bias
        As everywhere in the zoo; ``random_state`` draws weights, batches and noise.

    Attributes
    ----------
    learned_ : dict
        Weights (C, r) and offsets (C,) of the classifier.
    n_iter_ : int
        Steps of the last training run.
    validation_scores_ : array of shape (n, 2)
        Step, and accuracy on held-out seen classes.
    """

    method_key = "f-clswgan"

    n_hidden: int = 256
    n_critic: int = 2
    penalty_weight: float = 10.0
    classification_weight: float = 1.0
    max_iter: int = 1800

    _positive: ClassVar[tuple[str, ...]] = (*GenerativeBaseline._positive, "n_critic")
    _nonnegative: ClassVar[tuple[str, ...]] = ("penalty_weight", "classification_weight")

    def _begin(self, data: TrainingData) -> _Run:
        return _Run(self, data)
