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
    """Feature-generating Wasserstein GAN (f-CLSWGAN): a classifier learns from features generated for unseen classes.

    The critic maximizes ``E D(x, a) − E D(x̃, a) − λ E (‖∇D(x̂, a)‖ − 1)²`` with generated features x̃ = G(z, a). The
    generator minimizes ``−E D(x̃, a) + β CE(x̃)``, where a softmax of the real seen samples gives the cross entropy. A
    classifier then learns from real samples of seen classes and ``n_synthetic`` generated ones of each unseen class.

    Parameters
    ----------
    n_hidden : int, default=256
        Units of the hidden layer of generator and critic. Larger: more flexible and slower.
    n_critic : int, default=2
        Steps of the critic for one of the generator. Larger: a better critic, slower.
    penalty_weight : float, default=10.0
        λ, weight of the gradient penalty. Larger: a smoother critic.
    classification_weight : float, default=1.0
        β. Larger: generated features are more typical of their class.
    max_iter : int, default=1800
        Largest number of steps. Larger: slower; early stopping chooses among more.
    learning_rate, batch_size, n_components, max_seconds, early_stopping, verbose
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
    The paper has 4,096 hidden units, 2,048 features, five critic steps, a learning rate of 1e-4 and β = 0.01. The
    defaults here are for two CPU cores: principal components, fewer units, two critic steps and a larger rate. With β =
    1 fewer steps are enough. Published (ResNet-101, proposed split): AWA1 69.9, SUN 62.1, CUB 61.5.

    References
    ----------
    Xian, Lorenz, Schiele and Akata, "Feature generating networks for zero-shot learning", CVPR 2018.
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
