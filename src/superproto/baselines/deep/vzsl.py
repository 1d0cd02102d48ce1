"""FIT with torch: VZSL, an autoencoder whose latent prior is a Gaussian for each class, told by its description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from superproto.baselines.deep.base import DeepBaseline
from superproto.baselines.deep.networks import (
    adam,
    apply_layers,
    descend,
    draw,
    import_torch,
    layers_of,
    mean_and_log_variance,
    perceptron,
)
from superproto.baselines.deep.training import BatchProcess, TrainingData
from superproto.samples.chunks import Array

# Log-variances are kept within this, in training and in answers.
LARGEST_LOG_VARIANCE = 8.0


def kl_to_priors(mean: Any, log_variance: Any, prior_mean: Any, prior_log_variance: Any) -> Any:
    """(n, C) KL(N(μ_i, σ_i²) ‖ N(μ_c, σ_c²)) = ½ Σ (log σ_c² − log σ_i² + (σ_i² + (μ_i − μ_c)²) / σ_c² − 1).

    Tensors or NumPy arrays: the squares are multiplied out, so that three matrix products do.
    """
    exp = np.exp if isinstance(mean, np.ndarray) else import_torch().exp
    precision = exp(-prior_log_variance)
    spread = (exp(log_variance) + mean**2) @ precision.T - 2 * mean @ (precision * prior_mean).T
    of_class = (precision * prior_mean**2 + prior_log_variance).sum(1)
    return 0.5 * (spread + of_class - (log_variance + 1).sum(1)[:, None])


def margin_loss(divergences: Any, labels: Any) -> Any:
    """E KL_y + log Σ_c exp(−KL_c): the divergence from the right prior is to be the smallest, by a soft margin."""
    return import_torch().nn.functional.cross_entropy(-divergences, labels)


def sharpened(probabilities: Any) -> Any:
    """t_ic ∝ p_ic² / Σ_j p_jc: certain rows become more certain, and no class takes all."""
    targets = probabilities**2 / probabilities.sum(dim=0).clamp(min=1e-12)
    return targets / targets.sum(dim=1, keepdim=True).clamp(min=1e-12)


class _Run(BatchProcess):
    def __init__(self, model: VZSL, data: TrainingData) -> None:
        super().__init__(model, data)
        torch = import_torch()
        self.count, self.pool = 0, torch.from_numpy(data.pool)
        self.number = torch.from_numpy(np.cumsum(data.seen) - 1)
        self.seen, self.candidates = torch.from_numpy(data.seen), torch.from_numpy(data.candidates)
        k, r, latent = data.semantics.shape[1], data.rows.shape[1], model.n_latent
        self.encoder = perceptron((r, model.n_hidden, 2 * latent))
        self.decoder = perceptron((latent, model.n_hidden, r), nonnegative=model.n_components is None)
        self.prior = perceptron((k, 2 * latent))
        self.networks = (self.encoder, self.decoder, self.prior)
        self.optimizer = adam(self.networks, model.learning_rate, weight_decay=model.weight_decay)

    def step(self) -> Any:
        self.count += 1
        rows, _, labels = self.batch()
        columns = self.number[labels]
        mean, log_variance = mean_and_log_variance(self.encoder, rows)
        divergences = kl_to_priors(mean, log_variance, *self._priors(self.seen))
        own = divergences.gather(1, columns[:, None]).mean()
        loss = self.model.bound_weight * (self._rebuilding(rows, mean, log_variance) + own)
        loss = loss + margin_loss(divergences, columns)
        if len(self.pool) and self.model.pool_weight and self.count > self.model.warm_up:
            loss = loss + self.model.pool_weight * self._pool_loss()
        descend(self.optimizer, loss)
        return loss

    def _priors(self, chosen: Any) -> tuple[Any, Any]:
        return mean_and_log_variance(self.prior, self.semantics[chosen])

    def _rebuilding(self, rows: Any, mean: Any, log_variance: Any) -> Any:
        return 0.5 * ((rows - self.decoder(draw(mean, log_variance))) ** 2).sum(dim=1).mean()

    def _pool_loss(self) -> Any:
        """Unlabeled rows: soft labels by the divergences, pulled to their sharpened form; the bound weighs by them."""
        torch = import_torch()
        index = torch.randint(len(self.pool), (min(2 * self.model.batch_size, len(self.pool)),))
        rows = self.pool[index]
        mean, log_variance = mean_and_log_variance(self.encoder, rows)
        divergences = kl_to_priors(mean, log_variance, *self._priors(self.candidates))
        log_p = torch.nn.functional.log_softmax(-divergences, dim=1)
        targets = sharpened(log_p.exp()).detach()
        bound = self._rebuilding(rows, mean, log_variance) + (targets * divergences).sum(dim=1).mean()
        return self.model.bound_weight * bound - (targets * log_p).sum(dim=1).mean()

    def learned(self) -> dict[str, Any]:
        prior = apply_layers(layers_of(self.prior), self.semantics.numpy())
        mean, log_variance = np.split(prior, 2, axis=1)
        log_variance = log_variance.clip(-LARGEST_LOG_VARIANCE, LARGEST_LOG_VARIANCE)
        return {"layers": layers_of(self.encoder), "prior_mean": mean, "prior_log_variance": log_variance}


@dataclass(eq=False, repr=False)
class VZSL(DeepBaseline):
    """Variational zero-shot learning: a sample receives the class of the nearest latent Gaussian prior.

    It minimizes ``w (E ½‖x − D(z)‖² + KL_y) + E KL_y + log Σ_c exp(−KL_c)``. KL_c is the divergence of the encoding
    q(z|x) from the prior ``N(μ(a_c), diag σ²(a_c))``, whose mean and log variance are linear in the description.
    Unlabeled samples have soft labels ``q(y|x) ∝ exp(−KL_y)`` among the candidates. Training pulls these towards
    ``q² / Σ q`` and weights the first term by them.

    Parameters
    ----------
    bound_weight : float, default=0.01
        w. Larger: reconstruction counts more beside the margin between classes.
    pool_weight : float, default=1.0
        Weight of the unlabeled samples. Larger: more training on own predictions. 0: the method is inductive.
    warm_up : int, default=200
        Steps before unlabeled samples count. Larger: better first predictions, fewer steps with them.
    weight_decay : float, default=0.0001
        Ridge on all weights. Larger: smoother networks.
    n_latent : int, default=100
        Dimension of z. Larger: more flexible and slower.
    max_iter : int, default=800
        Largest number of steps. Larger: slower; early stopping chooses among more.
    learning_rate, n_hidden, batch_size, n_components, max_seconds, early_stopping, verbose
        Common to the deep methods; see :class:`~superproto.baselines.deep.base.DeepBaseline`.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` draws weights,
        batches and noise.

    Attributes
    ----------
    learned_ : dict
        Layers of the encoder, and (C, n_latent) means and log variances of the priors.
    n_iter_ : int
        Steps of the last training run.
    validation_scores_ : array of shape (n, 2)
        Step, and accuracy on held-out seen classes.

    Notes
    -----
    Without unlabeled samples the method is inductive. The paper leaves the weights open. The margin here includes the
    right class, so that the loss is bounded. Published (VGG, standard split): AWA1 94.8, CUB 66.5.

    References
    ----------
    Wang, Pu, Verma, Fan, Zhang, Chen, Rai and Carin, "Zero-shot learning via class-conditioned deep generative models",
    AAAI 2018.
    """

    method_key = "vzsl"

    bound_weight: float = 0.01
    pool_weight: float = 1.0
    warm_up: int = 200
    weight_decay: float = 1e-4
    n_latent: int = 100
    max_iter: int = 800

    _positive: ClassVar[tuple[str, ...]] = (*DeepBaseline._positive, "n_latent")
    _nonnegative: ClassVar[tuple[str, ...]] = ("bound_weight", "pool_weight", "warm_up", "weight_decay")

    def _begin(self, data: TrainingData) -> _Run:
        return _Run(self, data)

    def _score_features(self, learned: dict[str, Any], features: Array) -> Array:
        mean, log_variance = np.split(apply_layers(learned["layers"], features), 2, axis=1)
        log_variance = log_variance.clip(-LARGEST_LOG_VARIANCE, LARGEST_LOG_VARIANCE)
        return -kl_to_priors(mean, log_variance, learned["prior_mean"], learned["prior_log_variance"])
