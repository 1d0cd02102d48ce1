"""The loss of each deep method against values computed by hand on tiny tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from superproto.baselines.deep.dcn import calibrated_loss
from superproto.baselines.deep.f_clswgan import generator_loss
from superproto.baselines.deep.ganzrl import augmented_loss
from superproto.baselines.deep.preser import relation_loss
from superproto.baselines.deep.qfsl import bias_loss
from superproto.baselines.deep.se_zsl import autoencoder_loss, regression_loss
from superproto.baselines.deep.vzsl import kl_to_priors, margin_loss, sharpened

pytestmark = pytest.mark.extra


def test_f_clswgan_s_generator_wants_a_high_score_and_the_right_class(torch: Any):
    score, logits = torch.tensor([[1.0], [3.0]]), torch.tensor([[0.0, 0.0], [0.0, 0.0]])
    targets = torch.tensor([0, 1])
    assert float(generator_loss(score, logits, targets, 0.5)) == pytest.approx(-2 + 0.5 * np.log(2))
    assert float(generator_loss(score, logits, targets, 0.0)) == pytest.approx(-2)


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
