"""Several prototypes for a class: when the samples ask for them, and what stays as it was."""

from __future__ import annotations

import numpy as np
import pytest

from superproto import HPL
from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.hpl.objective.sphere import normalized
from superproto.hpl.several_prototypes import centers_of, gain_of_split, split_in_two
from superproto.metrics import per_class_accuracy


def cloud(rng, centers, n, noise=1.0):
    """n unit rows around each center."""
    rows = np.concatenate([c + noise * rng.normal(size=(n, len(c))) for c in centers])
    return normalized(rows, rows)


@pytest.mark.parametrize("d", [8, 64, 512])
@pytest.mark.parametrize("n", [30, 300, 3000])
def test_a_round_class_keeps_one_prototype(d, n):
    rng = np.random.default_rng(0)
    assert len(centers_of(cloud(rng, [rng.normal(size=d)], n), None)) == 1


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_a_class_of_several_kinds_gets_as_many(parts):
    rng = np.random.default_rng(1)
    kinds = 3 * rng.normal(size=(parts, 32))
    centers = centers_of(cloud(rng, kinds, 60), None)
    assert len(centers) == parts
    nearest = (normalized(centers, centers) @ normalized(kinds, kinds).T).argmax(axis=0)
    assert len(set(nearest.tolist())) == parts


def test_the_gain_is_what_the_two_likelihoods_say():
    """Against scipy's normal densities with the width estimated by maximum likelihood."""
    from scipy.stats import norm

    rng = np.random.default_rng(2)
    rows = cloud(rng, 2 * rng.normal(size=(2, 6)), 50)
    inside = split_in_two(rows)
    n, d = rows.shape

    def likelihood(means, shares):
        width = np.sqrt(((rows - means) ** 2).mean())
        return norm.logpdf(rows, means, width).sum() + np.log(shares).sum()

    one = likelihood(rows.mean(axis=0), np.ones(n))
    share = np.where(inside, inside.mean(), 1 - inside.mean())
    means = np.where(inside[:, None], rows[inside].mean(axis=0), rows[~inside].mean(axis=0))
    two = likelihood(means, share)
    np.testing.assert_allclose(gain_of_split(rows, inside), two - one - (d + 1) * np.log(n))


@pytest.fixture(scope="module")
def two_kinds():
    """Unseen classes made of two kinds each, like male and female birds, one on either side of the description."""
    task = make_task(n_seen=20, n_unseen=5, n_features=48, samples_per_class=80, separation=1.2, random_state=2)
    rng = np.random.default_rng(0)
    X, unseen = task.X.copy(), np.flatnonzero(task.y == -1)
    apart = rng.normal(size=(25, 48))
    side = rng.choice([-1, 1], size=len(unseen))
    X[unseen] += side[:, None] * apart[task.truth[unseen]]
    return X, task, unseen


class TestEstimator:
    def test_divided_classes_are_found_better(self, two_kinds):
        X, task, unseen = two_kinds
        one = HPL(n_prototypes=1).fit(X, task.y, semantics=task.semantics)
        auto = HPL().fit(X, task.y, semantics=task.semantics)
        assert len(auto.prototype_classes_) > 25
        accuracies = [per_class_accuracy(task.truth[unseen], m.transduction_[unseen]) for m in (one, auto)]
        assert accuracies[1] >= accuracies[0]

    @pytest.mark.parametrize("candidates", ["unseen", "all"])
    def test_answers_agree_and_the_objective_never_rises(self, two_kinds, candidates):
        X, task, unseen = two_kinds
        model = HPL(n_prototypes=3, tol=0.0, candidates=candidates).fit(X, task.y, semantics=task.semantics)
        np.testing.assert_array_equal(model.predict(X[unseen]), model.transduction_[unseen])
        np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)
        assert np.all(np.diff(model.objective_) <= 1e-10 * np.abs(model.objective_[:-1]))
        assert model.visual_prototypes_.shape == (25, 48)
        np.testing.assert_allclose(model.class_prior_.sum(), 1)

    def test_classes_of_one_kind_are_left_as_they_are(self):
        task = make_task(random_state=0)
        one, auto = (HPL(n_prototypes=k).fit(task.X, task.y, semantics=task.semantics) for k in (1, "auto"))
        np.testing.assert_array_equal(one.scoring_prototypes_, auto.scoring_prototypes_)
        np.testing.assert_array_equal(one.objective_, auto.objective_)

    def test_a_model_file_keeps_them(self, two_kinds, tmp_path):
        from superproto import load_model

        X, task, unseen = two_kinds
        model = HPL(n_prototypes=2).fit(X, task.y, semantics=task.semantics)
        model.save(tmp_path / "m.safetensors")
        again = load_model(tmp_path / "m.safetensors")
        np.testing.assert_array_equal(again.predict(X[unseen]), model.predict(X[unseen]))

    @pytest.mark.parametrize("wrong", [0, "two", 1.5, True])
    def test_no_such_number(self, wrong):
        task = make_task(random_state=0)
        with pytest.raises(UserError, match="n_prototypes is"):
            HPL(n_prototypes=wrong).fit(task.X, task.y, semantics=task.semantics)
