"""ASSEMBLE: a fit may go on from an earlier model: sooner done, and never another problem's answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from superproto import HPL, Task, UserError, load_model
from superproto.datasets import make_task
from superproto.evaluation.rejection import learn_rejection
from superproto.evaluation.training import fit_task, named_labels
from superproto.samples.chunks import ArrayRows
from superproto.samples.whitening import Metric, learn_metric


@pytest.fixture(scope="module")
def task() -> Task:
    return make_task(n_seen=20, n_unseen=8, samples_per_class=25, separation=1.2, domain_shift=2.0, attribute_noise=0.3)


@pytest.fixture(scope="module")
def cold(task: Task) -> HPL:
    return HPL().fit(task.X, task.y, semantics=task.semantics)


def without_some_of_the_pool(task: Task) -> np.ndarray:
    pool = np.flatnonzero(task.asked)
    gone = np.random.default_rng(0).permutation(pool)[: len(pool) // 4]
    return np.setdiff1d(np.arange(len(task.X)), gone)


def test_rows_that_came_later_are_labeled_in_fewer_iterations(task: Task, cold: HPL) -> None:
    rows = without_some_of_the_pool(task)
    earlier = HPL().fit(task.X[rows], task.y[rows], semantics=task.semantics)
    warm = HPL().fit(task.X, task.y, semantics=task.semantics, init=earlier)
    assert warm.n_iter_ < cold.n_iter_
    assert np.mean(warm.transduction_ == cold.transduction_) > 0.98
    assert (np.diff(warm.objective_) <= 1e-10 * abs(warm.objective_[0])).all()


def test_a_model_that_goes_on_from_itself_is_done_at_once(task: Task, cold: HPL) -> None:
    again = HPL(init=cold).fit(task.X, task.y, semantics=task.semantics)
    assert again.n_iter_ <= cold.n_iter_ / 2
    assert np.array_equal(again.transduction_, cold.transduction_)
    assert again.objective_[-1] <= cold.objective_[-1] + 1e-9 * abs(cold.objective_[-1])


def test_the_parameter_and_the_argument_do_the_same(task: Task, cold: HPL) -> None:
    first = HPL(init=cold, max_iter=3).fit(task.X, task.y, semantics=task.semantics)
    second = HPL(max_iter=3).fit(task.X, task.y, semantics=task.semantics, init=cold)
    assert np.array_equal(first.visual_prototypes_, second.visual_prototypes_)


def test_classes_are_matched_by_name_and_new_ones_start_from_their_descriptions(task: Task) -> None:
    fewer = task.restricted(np.r_[3:20, 20:26])
    earlier = HPL().fit(fewer.X, named_labels(fewer), fewer.semantics, fewer.class_names)
    warm = HPL().fit(task.X, named_labels(task), task.semantics, task.class_names, init=earlier)
    right = warm.transduction_[task.asked] == task.class_names[task.truth[task.asked]]
    assert right.mean() > 0.9
    assert set(warm.transduction_[task.asked]) == set(task.class_names[20:])


@pytest.mark.parametrize("variant", ["hpl-published", "hpl1", "hpl"])
def test_every_variant_can_go_on_from_every_other(variant: str, task: Task, cold: HPL) -> None:
    from superproto.baselines.registry import make_model

    model = make_model(variant, {"max_iter": 3})
    model.fit(task.X, task.y, semantics=task.semantics, init=cold)
    assert (np.diff(model.objective_) <= 1e-10 * abs(model.objective_[0])).all()


def test_a_model_from_a_file_can_be_gone_on_from(task: Task, cold: HPL, tmp_path: Path) -> None:
    cold.save(tmp_path / "m")
    models = [HPL(max_iter=3).fit(task.X, task.y, task.semantics, init=m) for m in (cold, load_model(tmp_path / "m"))]
    assert np.array_equal(models[0].visual_prototypes_, models[1].visual_prototypes_)
    models[0].set_params(init=cold).save(tmp_path / "m2")
    assert load_model(tmp_path / "m2").init == "means"


@pytest.mark.parametrize("n", [200, 30])
def test_undoing_a_metric_gives_the_rows_back(n: int) -> None:
    rng = np.random.default_rng(0)
    metric = learn_metric(ArrayRows(rng.normal(size=(n, 40))), rng.integers(4, size=n), 4)
    rows = rng.normal(size=(5, 40))
    assert np.allclose(metric.undo(metric.forward(rows)), rows)
    assert np.allclose(metric.undo(rows) @ rows.T, rows @ metric.undo_transposed(rows).T)
    assert Metric().undo(rows) is rows


def test_models_that_cannot_be_gone_on_from_are_named(task: Task, cold: HPL) -> None:
    with pytest.raises(UserError, match="init must be a fitted HPL model, got HPL"):
        HPL(init=HPL()).fit(task.X, task.y, semantics=task.semantics)
    with pytest.raises(UserError, match=r"init was fitted with 32 features, but X has 31"):
        HPL(init=cold).fit(task.X[:, 1:], task.y, semantics=task.semantics)
    with pytest.raises(UserError, match="init is a model of other classes"):
        HPL(init=cold).fit(task.X, named_labels(task), task.semantics, task.class_names)
    with pytest.raises(UserError, match="init is 'cold', but it is one of means"):
        HPL().fit(task.X, task.y, task.semantics, init="cold")


def test_the_threshold_for_strangers_is_learned_from_a_fresh_start(task: Task, cold: HPL) -> None:
    warm = HPL(init=cold, max_iter=5)
    assert learn_rejection(warm, task) == learn_rejection(HPL(max_iter=5), task)
    assert fit_task(task, "hpl", {"max_iter": 5}).rejection_["auroc"] > 0.5
