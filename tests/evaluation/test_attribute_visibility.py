"""Which attributes can be seen in the features: measured on held-out seen classes."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from builders import described_task
from superproto import Task, UserError
from superproto.evaluation.attribute_visibility import inspect_attributes, visibility
from superproto.reporting.attribute_report import write_report


@pytest.fixture(scope="module")
def task() -> Task:
    return described_task()


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def with_noise_attributes(task: Task, n: int) -> Task:
    noise = np.random.default_rng(5).standard_normal((len(task.semantics), n)).astype(np.float32)
    return replace(task, semantics=np.hstack([task.semantics, noise]))


@pytest.fixture(scope="module")
def half_visual() -> Task:
    return with_noise_attributes(described_task(n_seen=40, n_attributes=5, separation=2.0, samples_per_class=8), 5)


def test_attributes_that_are_noise_are_found(half_visual: Task) -> None:
    report = inspect_attributes(half_visual, [f"v{j}" for j in range(5)] + [f"n{j}" for j in range(5)])
    assert {entry.name[0] for entry in report.attributes[:5]} == {"v"}
    assert np.mean([entry.auc for entry in report.attributes[5:]]) < 0.65 < report.attributes[4].auc
    assert max(report.drops, key=lambda drop: drop.gain).left_out == 5


def test_visibility_is_asked_of_classes_that_were_not_trained_on(half_visual: Task) -> None:
    fold = half_visual.folds(3)[0]
    scrambled = replace(fold, semantics=fold.semantics.copy())
    rows = np.array(scrambled.semantics)
    rows[fold.unseen_classes] = np.random.default_rng(0).permutation(rows[fold.unseen_classes])
    before, after = visibility(fold)[0][:5], visibility(replace(fold, semantics=rows))[0][:5]
    assert before.mean() > 0.8
    assert abs(after.mean() - 0.5) < 0.2


def test_the_truth_of_the_test_classes_is_not_looked_at(half_visual: Task) -> None:
    truth = half_visual.truth.copy()
    truth[half_visual.asked] = truth[half_visual.asked][::-1]
    assert inspect_attributes(half_visual) == inspect_attributes(replace(half_visual, truth=truth))


def test_the_report_is_a_table_and_a_page(half_visual: Task, tmp_path: Path) -> None:
    report = inspect_attributes(half_visual, ["<b>", *"abcdefghi"])
    write_report(tmp_path / "a.csv", report)
    rows = read(tmp_path / "a.csv")
    assert [row["name"] for row in rows] == [entry.name for entry in report.attributes]
    write_report(tmp_path / "a.html", report)
    page = (tmp_path / "a.html").read_text()
    assert report.suggestion() in page
    assert "<b></" not in page
    assert report.as_dict()["drops"][0]["left_out"] == 1


def test_constant_attributes_say_nothing(task: Task) -> None:
    flat = replace(task, semantics=np.hstack([task.semantics, np.ones((16, 1), np.float32)]))
    found = {entry.column: entry for entry in inspect_attributes(flat).attributes}
    assert (found[8].auc, found[8].correlation) == (0.5, 0.0)


def test_one_fold_is_refused(task: Task) -> None:
    with pytest.raises(UserError, match="folds=1 shows no spread"):
        inspect_attributes(task, folds=1)
