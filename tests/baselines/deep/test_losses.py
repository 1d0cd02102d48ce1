"""The loss of each deep method against values computed by hand on tiny tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from superproto.baselines.deep.cada_vae import CADAVAE, absolute_error, alignment_loss, warmed_up
from superproto.baselines.deep.dcn import calibrated_loss
from superproto.baselines.deep.f_clswgan import judged_loss
from superproto.baselines.deep.f_vaegan_d2 import FVAEGAND2, smoothed_shares, vaegan_loss
from superproto.baselines.deep.ganzrl import augmented_loss
from superproto.baselines.deep.preser import relation_loss
from superproto.baselines.deep.qfsl import bias_loss
from superproto.baselines.deep.se_zsl import autoencoder_loss, regression_loss
from superproto.baselines.deep.training import TrainingData
from superproto.baselines.deep.vzsl import kl_to_priors, margin_loss, sharpened

pytestmark = pytest.mark.extra


def test_f_clswgan_s_generator_wants_a_high_score_and_the_right_class(torch: Any):
    score, logits = torch.tensor([[1.0], [3.0]]), torch.tensor([[0.0, 0.0], [0.0, 0.0]])
    targets = torch.tensor([0, 1])
    assert float(judged_loss(score, logits, targets, 0.5)) == pytest.approx(-2 + 0.5 * np.log(2))
    assert float(judged_loss(score, logits, targets, 0.0)) == pytest.approx(-2)


def test_dcn_adds_the_entropy_over_unseen_classes(torch: Any):
    seen = torch.tensor([True, False, True, False])
    logits = torch.log(torch.tensor([[3.0, 1.0, 1.0, 3.0]]))
    cross_entropy, entropy = -np.log(1 / 4), -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    found = calibrated_loss(logits, torch.tensor([2]), seen, 0.1)
    assert float(found) == pytest.approx(cross_entropy + 0.1 * entropy, rel=1e-5)
    assert float(calibrated_loss(logits, torch.tensor([2]), seen, 0.0)) == pytest.approx(cross_entropy, rel=1e-5)


def test_dcn_without_unseen_classes_is_cross_entropy(torch: Any):
    logits = torch.randn(5, 3)
    labels = torch.tensor([0, 1, 2, 0, 1])
    found = calibrated_loss(logits, labels, torch.ones(3, dtype=torch.bool), 9.0)
    assert float(found) == pytest.approx(float(torch.nn.functional.cross_entropy(logits, labels)))


def test_se_zsl_s_bound_by_hand(torch: Any):
    rows, rebuilt = torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 0.0]])
    mean, log_variance = torch.tensor([[2.0]]), torch.tensor([[0.0]])
    assert float(autoencoder_loss(rows, rebuilt, mean, log_variance)) == pytest.approx(2.5 + 2.0)
    assert float(autoencoder_loss(rows, rows, mean * 0, log_variance)) == 0


def test_se_zsl_s_regression_is_a_squared_distance(torch: Any):
    assert float(regression_loss(torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.tensor([[0.0, 2.0], [0.0, 1.0]]))) == 3


def test_preser_asks_each_kind_of_pair_for_what_it_lacks(torch: Any):
    cosines = torch.tensor([[0.4, 0.1, 0.3, 0.9, -0.5]])
    relations = torch.tensor([[1.0, 0.6, 0.1, 0.6, 0.1]])
    same = torch.tensor([[True, False, False, False, False]])
    # Same: 1 − .4. Similar (at least .5) but only .1: .5. Dissimilar but .3: .2. The last two lack nothing.
    expected = (0.6 + 0.5 + 0.2) / 5
    assert float(relation_loss(cosines, relations, same, 0.5)) == pytest.approx(expected)


def test_vzsl_s_divergences_are_those_of_torch_and_numpy_gives_the_same(torch: Any):
    mean, log_variance = torch.randn(4, 3), torch.randn(4, 3)
    prior_mean, prior_log_variance = torch.randn(2, 3), torch.randn(2, 3)
    normal = torch.distributions.Normal
    expected = torch.distributions.kl_divergence(
        normal(mean[:, None], (log_variance / 2).exp()[:, None]), normal(prior_mean, (prior_log_variance / 2).exp())
    ).sum(dim=2)
    parts = (mean, log_variance, prior_mean, prior_log_variance)
    np.testing.assert_allclose(kl_to_priors(*parts).numpy(), expected.numpy(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(kl_to_priors(*(part.numpy() for part in parts)), expected, rtol=1e-4, atol=1e-4)


def test_vzsl_s_margin_vanishes_where_wrong_priors_are_far(torch: Any):
    labels = torch.tensor([0])
    assert float(margin_loss(torch.tensor([[1.0, 60.0]]), labels)) == pytest.approx(0, abs=1e-6)
    assert float(margin_loss(torch.tensor([[1.0, 1.0]]), labels)) == pytest.approx(np.log(2))


def test_vzsl_sharpens_soft_labels_by_hand(torch: Any):
    soft = torch.tensor([[0.8, 0.2], [0.4, 0.6]])
    first = np.array([0.64 / 1.2, 0.04 / 0.8])
    np.testing.assert_allclose(sharpened(soft)[0].numpy(), first / first.sum(), rtol=1e-5)
    np.testing.assert_allclose(sharpened(torch.eye(2)).numpy(), np.eye(2))


def test_qfsl_counts_the_probability_on_unseen_classes(torch: Any):
    logits = torch.log(torch.tensor([[1.0, 2.0, 1.0], [1.0, 1.0, 2.0]]))
    unseen = torch.tensor([False, True, True])
    assert float(bias_loss(logits, unseen)) == pytest.approx(-np.log(0.75))
    assert float(bias_loss(logits, torch.tensor([True, True, True]))) == pytest.approx(0, abs=1e-6)


def test_ganzrl_s_three_terms_by_hand(torch: Any):
    score, logits, targets = torch.tensor([[2.0]]), torch.tensor([[0.0, 0.0]]), torch.tensor([1])
    descriptions, found = torch.tensor([[1.0, 1.0]]), torch.tensor([[0.0, 3.0]])
    expected = -2 + 0.5 * np.log(2) + 0.1 * 5
    assert float(augmented_loss(score, logits, targets, descriptions, found, (0.5, 0.1))) == pytest.approx(expected)


def test_cada_vae_s_alignment_is_the_wasserstein_distance_of_two_gaussians(torch: Any):
    mean, other = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 0.0]])
    # Deviations 1 and 5 in the first direction: (3² + 4²)^½ = 5.
    wide = torch.log(torch.tensor([[25.0, 1.0]]))
    assert float(alignment_loss(mean, wide, other, torch.zeros(1, 2))) == pytest.approx(5.0)
    same = torch.zeros(1, 2, requires_grad=True)
    loss = alignment_loss(same, torch.zeros(1, 2), other, torch.zeros(1, 2))
    loss.backward()
    assert float(loss.detach()) == pytest.approx(0, abs=1e-5)
    assert torch.isfinite(same.grad).all()


def test_cada_vae_s_error_is_a_sum_of_absolute_values(torch: Any):
    assert float(absolute_error(torch.tensor([[1.0, -2.0], [0.0, 0.0]]), torch.zeros(2, 2))) == 1.5


def test_cada_vae_s_weights_grow_linearly_within_their_span():
    assert [warmed_up(share, (0.2, 0.6)) for share in (0.0, 0.2, 0.6, 1.0)] == [0, 0, 1, 1]
    assert warmed_up(0.3, (0.2, 0.6)) == pytest.approx(0.25)


def test_cada_vae_s_whole_loss_by_hand(torch: Any):
    """Networks that answer 0: encodings are N(0, I), nothing is rebuilt, and only absolute errors are left."""
    rows, descriptions = np.full((4, 3), 2.0, np.float32), np.eye(2, 5, dtype=np.float32)
    data = TrainingData(
        rows, np.zeros(4, int), rows[:0], descriptions, np.array([True, False]), np.array([False, True])
    )
    run = CADAVAE(n_hidden=4, n_latent=2, cross_weight=3.0)._begin(data)
    for network in run.networks:
        for values in network.parameters():
            values.data.zero_()
    assert float(run._loss(0.0).detach()) == pytest.approx(6 + 1)
    assert float(run._loss(1.0).detach()) == pytest.approx((1 + 3) * (6 + 1), rel=1e-4)


def test_cada_vae_s_classifier_gets_as_many_latent_vectors_of_each_seen_class(torch: Any):
    """Half as many as of an unseen class, whether a class has many rows or a single one."""
    rows, labels = torch.randn(30, 3).numpy(), np.array([0] * 29 + [1])
    seen = np.array([True, True, False])
    data = TrainingData(rows, labels, rows[:0], np.eye(3, dtype=np.float32), seen, ~seen)
    latent, drawn = CADAVAE(n_hidden=4, n_latent=2, n_synthetic=20)._begin(data).real()
    assert latent.shape == (20, 2)
    assert np.bincount(drawn).tolist() == [10, 10]


def test_f_vaegan_d2_s_generator_hears_the_second_critic_only_where_there_is_a_pool(torch: Any):
    bound, score, pool = torch.tensor(2.0), torch.tensor([[1.0], [3.0]]), torch.tensor([[10.0]])
    assert float(vaegan_loss(bound, score, None, (0.5, 7.0))) == pytest.approx(2 - 0.5 * 2)
    assert float(vaegan_loss(bound, score, pool, (0.5, 0.1))) == pytest.approx(2 - 0.5 * 2 - 0.1 * 10)


def test_f_vaegan_d2_s_shares_lie_between_the_labels_and_equal_ones():
    shares = smoothed_shares(np.array([4, 4, 4, 7]), np.array([4, 7, 9]))
    np.testing.assert_allclose(shares, 0.5 / 3 + 0.5 * np.array([0.75, 0.25, 0]))
    np.testing.assert_allclose(smoothed_shares(np.array([], int), np.array([1, 2])).sum(), 0.5)


def test_f_vaegan_d2_estimates_the_shares_of_an_uneven_pool(torch: Any):
    """A generator that repeats its description finds three rows of one class for each row of the other."""
    semantics = 5 * np.eye(3, dtype=np.float32)
    pool = semantics[[1, 1, 1, 2]]
    seen = np.array([True, False, False])
    data = TrainingData(semantics[:1], np.zeros(1, int), pool, semantics, seen, ~seen)
    run = FVAEGAND2(n_hidden=4, n_latent=2)._begin(data)
    run.generate = lambda descriptions: descriptions
    np.testing.assert_allclose(run._estimated_shares().numpy(), [0.625, 0.375])


def test_f_vaegan_d2_without_a_pool_trains_one_critic(torch: Any):
    rows = torch.randn(6, 3).numpy()
    seen = np.array([True, False])
    run = FVAEGAND2(n_hidden=4, n_latent=2)._begin(
        TrainingData(rows, np.zeros(6, int), rows[:0], np.eye(2, dtype=np.float32), seen, ~seen)
    )
    before = [values.detach().clone() for values in run.pool_critic.parameters()]
    run.step()
    assert all(torch.equal(a, b) for a, b in zip(before, run.pool_critic.parameters()))
