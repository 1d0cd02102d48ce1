"""The parts that the deep methods share: penalty, divergences, sampling, and layers that NumPy computes alike."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from superproto import UserError
from superproto.baselines.deep.networks import (
    apply_layers,
    critic_loss,
    draw,
    gradient_penalty,
    import_torch,
    kl_to_standard,
    layers_of,
    mean_and_log_variance,
    perceptron,
    train_softmax,
)

pytestmark = pytest.mark.extra


def test_without_torch_one_line_names_the_cure(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UserError, match=r"pip install 'superproto\[torch\]'"):
        import_torch()


def test_numpy_computes_what_the_network_does(torch: Any, rng):
    network = perceptron((5, 7, 6, 3))
    rows = rng.normal(size=(4, 5)).astype(np.float32)
    expected = network(torch.from_numpy(rows)).detach().numpy()
    np.testing.assert_allclose(apply_layers(layers_of(network), rows), expected, atol=1e-6)


def test_a_nonnegative_output_is_a_last_relu(torch: Any):
    network = perceptron((3, 4, 2), nonnegative=True)
    assert (network(torch.randn(50, 3)) >= 0).all()


def test_the_penalty_of_a_linear_critic_is_the_distance_of_its_slope_from_one(torch: Any):
    weights = torch.tensor([[3.0], [4.0], [9.0]])  # the last column belongs to the condition: not differentiated
    found = gradient_penalty(lambda rows: rows @ weights, torch.randn(6, 2), torch.randn(6, 2), torch.randn(6, 1))
    assert float(found) == pytest.approx((5 - 1) ** 2)


def test_the_penalty_is_autograd_s_derivative_between_real_and_generated_rows(torch: Any):
    real, fake, condition = torch.randn(8, 3), torch.randn(8, 3), torch.randn(8, 2)
    critic = perceptron((5, 6, 1))
    torch.manual_seed(5)
    found = gradient_penalty(critic, real, fake, condition)
    torch.manual_seed(5)
    share = torch.rand(8, 1)
    norms = []
    for i in range(8):
        row = (share[i] * real[i] + (1 - share[i]) * fake[i]).requires_grad_(True)
        gradient = torch.autograd.functional.jacobian(lambda r, i=i: critic(torch.cat([r, condition[i]])).sum(), row)
        norms.append(gradient.norm())
    assert float(found.detach()) == pytest.approx(float(((torch.stack(norms) - 1) ** 2).mean()), rel=1e-5)
    found.backward()
    assert all(values.grad is not None for values in list(critic.parameters())[::2])


def test_the_critic_s_loss_by_hand(torch: Any):
    critic = torch.nn.Linear(2, 1, bias=False)
    critic.weight.data = torch.tensor([[2.0, 0.0]])
    real, fake, condition = torch.tensor([[1.0], [3.0]]), torch.tensor([[0.0], [1.0]]), torch.zeros(2, 1)
    # E D(fake) = 1, E D(real) = 4, the slope is 2 everywhere.
    assert float(critic_loss(critic, real, fake, condition, 10.0).detach()) == pytest.approx(1 - 4 + 10 * (2 - 1) ** 2)


def test_the_divergence_from_a_standard_normal_by_hand(torch: Any):
    mean, log_variance = torch.tensor([[0.0, 0.0], [1.0, 2.0]]), torch.tensor([[0.0, 0.0], [0.0, np.log(4.0)]])
    expected = [0.0, 0.5 * (1 + 4 + 4 - np.log(4.0) - 1)]
    np.testing.assert_allclose(kl_to_standard(mean, log_variance).numpy(), expected, rtol=1e-6)


def test_a_sample_without_variance_is_the_mean(torch: Any):
    mean = torch.randn(4, 3)
    np.testing.assert_allclose(draw(mean, torch.full((4, 3), -60.0)).numpy(), mean.numpy(), atol=1e-6)


def test_log_variances_stay_in_bounds(torch: Any):
    mean, log_variance = mean_and_log_variance(lambda rows: 100 * rows, torch.tensor([[1.0, -1.0, 1.0, -1.0]]))
    assert mean.tolist() == [[100.0, -100.0]]
    assert log_variance.tolist() == [[8.0, -8.0]]


def test_the_judge_learns_separable_classes_and_then_stays_fixed(torch: Any):
    labels = torch.arange(60) % 3
    rows = 5 * torch.eye(3)[labels] + torch.randn(60, 3)
    judge = train_softmax(rows, labels, 3, 300)
    assert (judge(rows).argmax(dim=1) == labels).float().mean() > 0.95
    assert not any(values.requires_grad for values in judge.parameters())
