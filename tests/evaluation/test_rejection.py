"""Rejection of unknown classes: the threshold, how it is learned, and what it rejects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import SHALLOW, described_task
from superproto import Task, UserError, load_model
from superproto.baselines.registry import METHODS
from superproto.estimator.label_table import label_rows
from superproto.evaluation.rejection import best_threshold, learn_rejection
from superproto.evaluation.training import fit_task
from superproto.metrics import area_under_curve


@pytest.fixture(scope="module")
def task() -> Task:
    return described_task()


@pytest.fixture(scope="module")
def model(task: Task) -> Any:
    return fit_task(task, "hpl")


def test_samples_of_unknown_classes_are_rejected_and_those_of_known_ones_are_not(task: Task) -> None:
    known = task.restricted(np.setdiff1d(np.arange(16), [14, 15]))
    model = fit_task(known, "hpl")
    unknown = next(label_rows(model, task.X[np.isin(task.truth, [14, 15])], reject=True)).label
    kept = next(label_rows(model, known.X[known.asked], reject=True)).label
    assert np.mean([label is None for label in unknown]) > 0.8
    assert np.mean([label is None for label in kept]) < 0.2


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("inductive", [False, True])
def test_the_threshold_is_learned_in_every_setting(setting: str, inductive: bool) -> None:
    model = fit_task(described_task(setting), "prototypes", inductive=inductive)
    learned = model.rejection_
    assert np.isfinite(learned["threshold"])
    assert learned["kept"] + learned["rejected"] >= 1  # rejecting nothing is always possible
    assert 0 <= learned["kept"] <= 1 >= learned["rejected"] >= 0
    assert learned["known_samples"] > 0 < learned["unknown_samples"]


@pytest.mark.parametrize("method", SHALLOW)
def test_every_method_learns_when_to_reject(method: str, task: Task) -> None:
    if method in ("hpl-published", "hpl1"):
        pytest.skip("the same code as hpl, slower")
    learned = fit_task(task, method).rejection_
    assert 0 <= learned["auroc"] <= 1
    assert np.isfinite(learned["threshold"])


def test_the_threshold_travels_in_the_model_s_file(model: Any, task: Task, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.rejection_ == model.rejection_
    before, after = (next(label_rows(m, task.X, reject=True)).label.tolist() for m in (model, again))
    assert before == after


def test_the_truth_of_the_unlabeled_samples_changes_no_threshold(task: Task) -> None:
    truth = task.truth.copy()
    truth[task.asked] = truth[task.asked][::-1]
    thresholds = [fit_task(t, "prototypes").rejection_ for t in (task, replace(task, truth=truth))]
    assert thresholds[0] == thresholds[1]


def test_a_model_without_a_threshold_says_how_to_get_one(task: Task) -> None:
    model = fit_task(task, "prototypes", rejection=False)
    with pytest.raises(UserError, match=r"has no rejection threshold. Fit it with `superproto fit`"):
        next(label_rows(model, task.X, reject=True))


def test_too_few_classes_to_learn_from_are_a_warning() -> None:
    few = described_task(n_seen=3)
    with pytest.warns(UserWarning, match="This model cannot reject rows"):
        model = fit_task(few, "prototypes")
    assert not hasattr(model, "rejection_")
    learn_rejection(METHODS["prototypes"](), described_task(n_seen=4, n_unseen=1))


def test_area_and_threshold_are_those_of_the_definition() -> None:
    of_known, of_unknown = np.array([3.0, 2.0, 1.0, 0.0]), np.array([0.5, -1.0, 0.0])
    pairs = [(m > s) + 0.5 * (m == s) for m in of_known for s in of_unknown]
    is_known = np.arange(len(of_known) + len(of_unknown)) < len(of_known)
    assert area_under_curve(np.concatenate([of_known, of_unknown]), is_known) == pytest.approx(np.mean(pairs))
    threshold, kept, rejected = best_threshold(of_known, of_unknown)
    assert 0.5 < threshold < 1
    assert (kept, rejected) == (0.75, 1.0)
