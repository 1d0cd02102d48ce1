"""FIT with torch: perceptrons, a critic's gradient penalty, Gaussian encoders, and the same layers in NumPy.

Torch is imported when a function is called. Weights leave training as NumPy arrays, so that a fitted model answers, and
a model file opens, without torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.samples.chunks import Array

LEAK = 0.2


def import_torch() -> Any:
    """The torch package, or one line that says how to get it."""
    try:
        import torch
    except ImportError:
        raise UserError("The deep methods need torch to learn. Install it: pip install 'superproto[torch]'.") from None
    return torch


def perceptron(sizes: Sequence[int], nonnegative: bool = False) -> Any:
    """Linear layers with LeakyReLU(0.2) between them; a last ReLU where the output must not be negative."""
    nn = import_torch().nn
    layers: list[Any] = []
    for n_in, n_out in pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), nn.LeakyReLU(LEAK)]
    return nn.Sequential(*layers[:-1], *([nn.ReLU()] if nonnegative else []))


def adam(networks: Sequence[Any], learning_rate: float, **settings: Any) -> Any:
    """An Adam optimizer of all weights of these networks."""
    weights = [values for network in networks for values in network.parameters()]
    return import_torch().optim.Adam(weights, lr=learning_rate, **settings)


def descend(optimizer: Any, loss: Any) -> None:
    """One step of the optimizer down the gradient of the loss."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def layers_of(network: Any) -> list[Array]:
    """W_1, b_1, W_2, b_2, … of a perceptron as arrays, W (n_out, n_in)."""
    return [values.detach().numpy().copy() for values in network.parameters()]


def apply_layers(layers: Sequence[Array], rows: Array) -> Array:
    """The answer of a perceptron with a linear output, computed by NumPy in the precision of the rows."""
    for position in range(0, len(layers), 2):
        weights, offsets = (part.astype(rows.dtype, copy=False) for part in layers[position : position + 2])
        rows = (rows if position == 0 else np.maximum(rows, LEAK * rows)) @ weights.T + offsets
    return rows


def side_by_side(*parts: Any) -> Any:
    """Rows of several tensors joined."""
    return import_torch().cat(parts, dim=1)


def gradient_penalty(critic: Any, real: Any, fake: Any, condition: Any) -> Any:
    """E (‖∇_x̂ D(x̂, a)‖ − 1)² at x̂ = ε x + (1 − ε) x̃, one ε ~ U(0, 1) for each row."""
    torch = import_torch()
    share = torch.rand(len(real), 1)
    between = (share * real + (1 - share) * fake).detach().requires_grad_(True)
    score = critic(side_by_side(between, condition)).sum()
    (gradient,) = torch.autograd.grad(score, between, create_graph=True)
    return ((gradient.norm(dim=1) - 1) ** 2).mean()


def critic_loss(critic: Any, real: Any, fake: Any, condition: Any, penalty_weight: float) -> Any:
    """E D(x̃, a) − E D(x, a) + λ E (‖∇D(x̂, a)‖ − 1)²: what the critic of a Wasserstein GAN minimizes."""
    score_real = critic(side_by_side(real, condition)).mean()
    score_fake = critic(side_by_side(fake, condition)).mean()
    return score_fake - score_real + penalty_weight * gradient_penalty(critic, real, fake, condition)


def mean_and_log_variance(network: Any, rows: Any) -> tuple[Any, Any]:
    """The two halves of an encoder's output; log-variances are kept within ±8."""
    mean, log_variance = network(rows).chunk(2, dim=1)
    return mean, log_variance.clamp(-8, 8)


def draw(mean: Any, log_variance: Any) -> Any:
    """z = μ + σ ε, ε ~ N(0, I): a sample that passes gradients on."""
    return mean + (log_variance / 2).exp() * import_torch().randn_like(mean)


def kl_to_standard(mean: Any, log_variance: Any) -> Any:
    """KL(N(μ, σ²) ‖ N(0, I)) = ½ Σ (μ² + σ² − log σ² − 1) of each row."""
    return 0.5 * (mean**2 + log_variance.exp() - log_variance - 1).sum(dim=1)


def train_softmax(rows: Any, targets: Any, n_classes: int, n_steps: int) -> Any:
    """A linear softmax classifier of real rows, as a fixed network that judges generated ones."""
    torch = import_torch()
    classifier = torch.nn.Linear(rows.shape[1], n_classes)
    optimizer = adam([classifier], 0.01)
    for _ in range(n_steps):
        batch = torch.randint(len(rows), (min(256, len(rows)),))
        descend(optimizer, torch.nn.functional.cross_entropy(classifier(rows[batch]), targets[batch]))
    return classifier.requires_grad_(False)
